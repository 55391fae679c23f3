"""Commands: what correlation has to do. Each carries its own time, and the record it is about.

Outside -> correlation: PublishMessage, CorrelateMessage, StartBuffered, ExpireMessages. Process -> correlation:
OpenSubscription, CloseSubscription, AcknowledgeCorrelation, RejectCorrelation, EndInstance.
"""

from dataclasses import dataclass

from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.keys import InstanceId, SubscriptionKey


class CorrelationCommand:
    __slots__ = ("at",)
    at: int


Command = CorrelationCommand


@dataclass(slots=True)
class PublishMessage(CorrelationCommand):
    message: Message
    at: int


@dataclass(slots=True)
class CorrelateMessage(CorrelationCommand):
    """Synchronous: answered with the instance that took it, or refused; never kept."""

    message: Message
    at: int


@dataclass(slots=True)
class OpenSubscription(CorrelationCommand):
    subscription: Subscription
    at: int


@dataclass(slots=True)
class CloseSubscription(CorrelationCommand):
    subscription_key: SubscriptionKey
    at: int


@dataclass(slots=True)
class AcknowledgeCorrelation(CorrelationCommand):
    """The instance has taken the message."""

    subscription_key: SubscriptionKey
    message_key: int
    at: int


@dataclass(slots=True)
class RejectCorrelation(CorrelationCommand):
    """The instance could not take the message; it goes back. The subscription is gone with it."""

    subscription: Subscription
    message: Message
    at: int
    why: str


@dataclass(slots=True)
class EndInstance(CorrelationCommand):
    """An instance of the process ended. `instance_id` None: whichever holds the lock."""

    process_id: str
    instance_id: InstanceId
    at: int


@dataclass(slots=True)
class StartBuffered(CorrelationCommand):
    """The business id of a stored message is free again: it may start the process now."""

    message: Message
    process_id: str
    at: int


@dataclass(slots=True)
class ExpireMessages(CorrelationCommand):
    """End what is due, the earliest deadline first, at most `limit` of them."""

    at: int
    limit: int = 2**63 - 1
