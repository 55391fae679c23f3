"""Coupling: what the events of the correlation half ask of the process half.

The halves share one queue and know each other's commands only. What a message starts comes before what it reaches,
as in Zeebe, whatever the order in which both were decided.
"""

from conjoin.kernel.correlation import KeySpace
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.process import commands as c

Order = c.Command | c.ForKey


def starts_first(orders: list[Order]) -> list[Order]:
    """What follows from one command of correlation, in the order in which it is to be done."""
    return sorted(orders, key=lambda order: type(order) is not c.StartInstance)


def order_of(space: KeySpace, event: e.Event) -> Order | None:
    """What an event asks for; most ask for nothing."""
    if isinstance(event, e.MessageCorrelated):
        return c.DeliverMessage(space.tenant_id, space.key, event.subscription, event.message, event.at)
    if isinstance(event, e.InstanceStarted):
        return _start(space, event)
    if isinstance(event, e.MessageReleased):
        return _offer_again(space, event)
    if isinstance(event, e.SubscriptionRefused):
        return c.RefuseSubscription(event.subscription, event.holder, event.at)
    return None


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
