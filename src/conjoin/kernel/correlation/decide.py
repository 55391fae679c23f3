"""decide: a command in, events out; nothing is changed.

Deciding without applying is the dry run. Every rule is a function of its own in the modules beside this one; here
is only the table that finds it. A well-typed command never raises.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation.events import Event
from conjoin.kernel.correlation.expiry import expire
from conjoin.kernel.correlation.publishing import offer, publish
from conjoin.kernel.correlation.starting import end_instance, start_buffered
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.correlation.waiting import acknowledge, close_subscription, open_subscription, reject

DECIDE: dict[type, Callable[[KeySpace, Any, Catalog], list[Event]]] = {
    c.PublishMessage: lambda space, it, catalog: publish(space, it.message, it.at, catalog),
    c.CorrelateMessage: lambda space, it, catalog: offer(space, it.message, it.at, catalog),
    c.OpenSubscription: lambda space, it, catalog: open_subscription(space, it.subscription, it.at, catalog),
    c.CloseSubscription: lambda space, it, catalog: close_subscription(space, it.subscription_key, it.at),
    c.AcknowledgeCorrelation: acknowledge,
    c.RejectCorrelation: lambda space, it, catalog: reject(space, it.subscription, it.message, it.at, it.why),
    c.EndInstance: lambda space, it, catalog: end_instance(space, it.process_id, it.instance_id, it.at, catalog),
    c.StartBuffered: lambda space, it, catalog: start_buffered(space, it.message, it.process_id, it.at, catalog),
    c.ExpireMessages: lambda space, it, catalog: expire(space, it.at, it.limit, catalog),
}


def decide(space: KeySpace, command: c.Command, catalog: Catalog) -> list[Event]:
    return DECIDE[type(command)](space, command, catalog)
