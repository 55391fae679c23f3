"""Coupling: what the events of the correlation half ask of the process half.

The halves share one queue and know each other's commands only. What a message starts comes before what it reaches,
as in Zeebe, whatever the order in which both were decided.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.correlation import KeySpace
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.process import commands as c

Order = c.Command | c.ForKey


def starts_first(orders: list[Order]) -> list[Order]:
    """What follows from one command of correlation, in the order in which it is to be done."""
    return sorted(orders, key=lambda order: type(order) is not c.StartInstance)


def _start(space: KeySpace, event: e.InstanceStarted) -> Order:
    message, start = event.message, event.start
    return c.StartInstance(
        start.definition_key,
        start.element_id or "",
        "message",
        message.payload or {},
        event.at,
        event.instance_id,
        message.business_id,
        lock_key=space.key if event.locks else None,
    )


def _offer_again(space: KeySpace, event: e.MessageReleased) -> Order:
    message, at = event.message, event.at
    order = correlation.CorrelateMessage(message, at) if message.sync else correlation.PublishMessage(message, at)
    return c.ForKey(space.tenant_id, space.key, order)


ORDER_OF: dict[type, Callable[[KeySpace, Any], Order]] = {
    e.InstanceStarted: _start,
    e.MessageCorrelated: lambda space, event: c.DeliverMessage(
        space.tenant_id, space.key, event.subscription, event.message, event.at
    ),
    e.MessageReleased: _offer_again,
    e.SubscriptionRefused: lambda space, event: c.RefuseSubscription(event.subscription, event.holder, event.at),
}
"""The kinds of events that ask for something, and what."""
