"""Commands as JSON lists: for the outbox, for the log, and for a Spark task. The first item is the command's name.

A message or subscription inside a command is written whole; its receiver finds its own record by the key.
"""

from dataclasses import fields
from operator import attrgetter
from typing import Any

from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.coupling import Order
from conjoin.kernel.policies import Policy
from conjoin.kernel.process import commands as c
from conjoin.runtime.client_api.messages import NewMessage

Request = Order | NewMessage
"""What a shard carries out: a command, or a message that becomes one there, where it gets its key and its time."""

_message_values = attrgetter("key", "name", "published_at", "deadline", "message_id", "business_id", "payload")
_subscription_values = attrgetter(
    *("key", "rank", "name", "process_id", "instance_id", "element_id", "opened_at", "interrupting"),
    *("business_id", "payload"),
)
_ANY_POLICY = Policy()

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        NewMessage,
        *(c.CreateInstance, c.StartInstance, c.CancelInstance, c.SetVariables, c.ActivateJobs, c.CompleteJob),
        *(c.FailJob, c.ThrowError, c.UpdateRetries, c.UpdateTimeout, c.AssignTask),
        *(c.ReturnJobs, c.ResolveIncident, c.FireTimers),
        *(c.BroadcastSignal, c.ScheduleStarts, c.DeliverMessage, c.RefuseSubscription),
        *(correlation.OpenSubscription, correlation.CloseSubscription, correlation.AcknowledgeCorrelation),
        *(correlation.RejectCorrelation, correlation.EndInstance, correlation.StartBuffered),
        correlation.ExpireMessages,
    )
}
_FIELDS = {name: tuple(field.name for field in fields(kind)) for name, kind in _KINDS.items()}
_VALUES = {kind: attrgetter(*_FIELDS[name]) for name, kind in _KINDS.items()}
_CARRYING = frozenset(
    {"DeliverMessage", "RefuseSubscription", "OpenSubscription", "RejectCorrelation", "StartBuffered"}
)
"""Those with records inside."""


def stamped(order: Order, now: int) -> Order:
    """The time of a command is that of the shard that carries it out."""
    if isinstance(order, c.ForKey):
        order.command.at = now
    else:
        order.at = now
    return order


def with_own_records(command: correlation.RejectCorrelation, own: Subscription | None) -> correlation.RejectCorrelation:
    """What came from another shard names the subscription and the message; the records are the ones here."""
    if own is None or own is command.subscription:
        return command
    message = own.busy_with
    if message is None or message.key != command.message.key:
        message = command.message
    return correlation.RejectCorrelation(own, message, command.at, command.why)


def written_order(order: Request | correlation.Command) -> list[Any]:
    if isinstance(order, c.ForKey):
        return ["ForKey", order.tenant_id, order.key, written_order(order.command)]
    name = type(order).__name__
    values = _VALUES[type(order)](order)
    if len(_FIELDS[name]) == 1:
        return [name, values]
    return [name, *(map(_written_value, values) if name in _CARRYING else values)]


def _written_value(value: object) -> Any:
    if isinstance(value, Message):
        return _message_values(value)
    return _subscription_values(value) if isinstance(value, Subscription) else value


def read_order(written: list[Any]) -> Any:
    """A `Request`, of the kind of its name."""
    name, *values = written
    if name == "ForKey":
        tenant_id, key, inner = values
        return c.ForKey(tenant_id, key, read_order(inner))
    if name in _CARRYING:
        values = [_read_value(field, value) for field, value in zip(_FIELDS[name], values, strict=True)]
    return _KINDS[name](*values)


def _read_value(field: str, value: Any) -> Any:
    if field == "message":
        key, name, published_at, deadline, message_id, business_id, payload = value
        return Message(key, name, published_at, deadline, _ANY_POLICY, message_id, business_id, payload)
    return Subscription(*value) if field in ("subscription", "holder") else value
