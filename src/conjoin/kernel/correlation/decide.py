"""decide: a command in, events out; nothing is changed.

Deciding without applying is the dry run. Every rule is a function of its own in the modules beside this one; here
is only what finds it. A well-typed command never raises.
"""

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import commands as c
from conjoin.kernel.correlation.events import Event
from conjoin.kernel.correlation.expiry import expire
from conjoin.kernel.correlation.publishing import offer, publish
from conjoin.kernel.correlation.starting import end_instance, start_buffered
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.correlation.waiting import acknowledge, close_subscription, open_subscription, reject


def decide(space: KeySpace, command: c.Command, catalog: Catalog) -> list[Event]:
    """The most frequent ones are asked for first: there is no faster way to native code."""
    at = command.at
    if isinstance(command, c.PublishMessage):
        return publish(space, command.message, at, catalog)
    if isinstance(command, c.AcknowledgeCorrelation):
        return acknowledge(space, command, catalog)
    if isinstance(command, c.OpenSubscription):
        return open_subscription(space, command.subscription, at, catalog)
    if isinstance(command, c.CloseSubscription):
        return close_subscription(space, command.subscription_key, at)
    if isinstance(command, c.CorrelateMessage):
        return offer(space, command.message, at, catalog)
    if isinstance(command, c.EndInstance):
        return end_instance(space, command.process_id, command.instance_id, at, catalog)
    if isinstance(command, c.ExpireMessages):
        return expire(space, at, command.limit, catalog)
    if isinstance(command, c.RejectCorrelation):
        return reject(space, command.subscription, command.message, at, command.why)
    assert isinstance(command, c.StartBuffered)
    return start_buffered(space, command.message, command.process_id, at, catalog)
