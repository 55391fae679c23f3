"""Commands: what correlation is asked to do. Each carries its own time, and the record it is about.

Outside -> correlation: PublishMessage, CorrelateMessage, StartBuffered, ExpireMessages. Process -> correlation:
OpenSubscription, CloseSubscription, AcknowledgeCorrelation, RejectCorrelation, EndInstance.
"""

from dataclasses import dataclass
from typing import Any

from conjoin.kernel.correlation.messages import Message, Subscription


@dataclass(slots=True)
class PublishMessage:
    message: Message
    at: int


@dataclass(slots=True)
class CorrelateMessage:
    """Synchronous: answered with the instance that took it, or refused; never kept."""

    message: Message
    at: int


@dataclass(slots=True)
class OpenSubscription:
    subscription: Subscription
    at: int


@dataclass(slots=True)
class CloseSubscription:
    subscription_key: Any
    at: int


@dataclass(slots=True)
class AcknowledgeCorrelation:
    """The instance has taken the message."""

    subscription_key: Any
    message_key: Any
    at: int


@dataclass(slots=True)
class RejectCorrelation:
    """The instance could not take the message; it goes back. The subscription is gone with it."""

    subscription: Subscription
    message: Message
    at: int
    why: str


@dataclass(slots=True)
class EndInstance:
    """An instance of the process ended. `instance_id` None: whichever holds the lock."""

    process_id: str
    instance_id: Any
    at: int


@dataclass(slots=True)
class StartBuffered:
    """The business id of a stored message is free again: it may start the process now."""

    message: Message
    process_id: str
    at: int


@dataclass(slots=True)
class ExpireMessages:
    """End what is due, the earliest deadline first, at most `limit` of them."""

    at: int
    limit: int = 2**63 - 1


Command = (
    PublishMessage
    | CorrelateMessage
    | OpenSubscription
    | CloseSubscription
    | AcknowledgeCorrelation
    | RejectCorrelation
    | EndInstance
    | StartBuffered
    | ExpireMessages
)
