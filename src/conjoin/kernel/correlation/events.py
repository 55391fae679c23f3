"""Events: what was decided. Only `apply` changes anything by them.

Events point at the records of the state (a message, a subscription) instead of copying them; whoever stores events
writes the records' keys. A refusal is an event like any other: stored and explained, never raised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.keys import InstanceId


class CorrelationEvent:
    __slots__ = ("at",)
    at: int


Event = CorrelationEvent


@dataclass(slots=True, eq=False)
class MessagePublished(CorrelationEvent):
    message: Message
    at: int


@dataclass(slots=True, eq=False)
class MessageCorrelated(CorrelationEvent):
    """A waiting instance gets the message. Its subscription is busy until the answer."""

    message: Message
    subscription: Subscription
    at: int
    reason: str
    before: "CorrelationGivenBack | None" = None

    @property
    def waiter(self) -> Subscription | None:
        return self.subscription

    @property
    def process_id(self) -> str:
        return self.subscription.process_id

    @property
    def instance_id(self) -> InstanceId:
        return self.subscription.instance_id


@dataclass(slots=True, eq=False)
class InstanceStarted(CorrelationEvent):
    """The message starts an instance, which takes the lock of its process and key if `locks`."""

    message: Message
    start: StartSubscription
    instance_id: InstanceId
    at: int
    reason: str
    locks: bool
    freed_by: InstanceId = None

    @property
    def process_id(self) -> str:
        return self.start.process_id

    @property
    def waiter(self) -> None:
        """A started instance did not wait."""
        return None


@dataclass(slots=True, eq=False)
class MessageRefused(CorrelationEvent):
    message: Message
    at: int
    reason: str
    parameters: dict[str, Any]


@dataclass(slots=True, eq=False)
class MessageDiscarded(CorrelationEvent):
    message: Message
    at: int
    reason: str
    near_misses: Sequence[dict[str, Any]]


@dataclass(slots=True, eq=False)
class MessageExpired(CorrelationEvent):
    """It left the buffer. `reason` says why nobody took it; empty when somebody did."""

    message: Message
    at: int
    reason: str
    near_misses: Sequence[dict[str, Any]] = ()


@dataclass(slots=True, eq=False)
class MessageHeld(CorrelationEvent):
    """It cannot be kept and everybody who could take it is busy: decided once they have answered."""

    message: Message
    at: int


@dataclass(slots=True, eq=False)
class MessageReleased(CorrelationEvent):
    """A held message whose turn has come: it is to be offered again, as a command of its own."""

    message: Message
    at: int


@dataclass(slots=True, eq=False)
class MessageAnswered(CorrelationEvent):
    """The answer to a synchronous correlation: the instance, or None when nobody took it."""

    message: Message
    instance_id: InstanceId
    at: int


@dataclass(slots=True, eq=False)
class SubscriptionOpened(CorrelationEvent):
    subscription: Subscription
    at: int


@dataclass(slots=True, eq=False)
class SubscriptionClosed(CorrelationEvent):
    """`answered`: by the message that was on its way to it; otherwise that one is still under way."""

    subscription: Subscription
    at: int
    answered: bool = False


@dataclass(slots=True, eq=False)
class SubscriptionRefused(CorrelationEvent):
    """`why` is `already_open` (the same one again) or `duplicate` (another one holds the name and key)."""

    subscription: Subscription
    at: int
    why: str
    holder: Subscription


@dataclass(slots=True, eq=False)
class CorrelationAcknowledged(CorrelationEvent):
    subscription: Subscription
    message: Message
    at: int


@dataclass(slots=True, eq=False)
class CorrelationGivenBack(CorrelationEvent):
    subscription: Subscription
    message: Message
    at: int
    why: str


@dataclass(slots=True, eq=False)
class LockFreed(CorrelationEvent):
    process_id: str
    instance_id: InstanceId
    at: int


@dataclass(slots=True, eq=False)
class OrderRefused(CorrelationEvent):
    """The command names something that is gone or has moved on. Harmless (R7)."""

    code: str
    what: str
    at: int


Target = MessageCorrelated | InstanceStarted
"""Who has a message."""
MessageEnd = MessageRefused | MessageDiscarded | MessageExpired
