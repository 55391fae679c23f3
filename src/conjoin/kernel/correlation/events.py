"""Events: what was decided, and what each changes: `apply` is the only writer of the correlation half.

Events point at the records of the state (a message, a subscription) instead of copying them; whoever stores events
writes the records' keys. A refusal is an event like any other: stored and explained, never raised. Applying the events
of a log to an empty state, in order, gives the state that the log was written from; none of them decides anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation.marks import add_mark, instance_mark, mark_taken, remove_mark, start_mark_of
from conjoin.kernel.correlation.messages import Message, Subscription, is_kept
from conjoin.kernel.correlation.state import KeySpace, Lock
from conjoin.kernel.keys import InstanceId
from conjoin.kernel.policies import ALL, OFF, ONCE_PER_INSTANCE, WHILE_BUFFERED


class CorrelationEvent:
    __slots__ = ("at",)
    at: int

    def apply(self, space: KeySpace) -> None:
        """A refusal changes nothing."""


Event = CorrelationEvent


@dataclass(slots=True, eq=False)
class MessagePublished(CorrelationEvent):
    message: Message
    at: int

    def apply(self, space: KeySpace) -> None:
        message = self.message
        policy = message.policy
        kept = is_kept(message)
        remembered = message.message_id and policy.dedup != OFF and (kept or policy.dedup != WHILE_BUFFERED)
        if not kept and not remembered:
            return
        topic = space.topics.get(message.name) or space.new_topic(message.name)
        if kept:
            topic.store(message)
            space.watch_deadline(message)
        if remembered:
            topic.ids = topic.ids or {}
            topic.ids[message.message_id] = message


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

    def apply(self, space: KeySpace) -> None:
        message, subscription = self.message, self.subscription
        subscription.busy_with = message
        _take(space, message, self, mark_taken(message, subscription))


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

    def apply(self, space: KeySpace) -> None:
        message = self.message
        if self.locks:
            space.locks[self.process_id] = Lock(self.process_id, self.instance_id, self.at, message)
        cardinality = message.policy.cardinality
        mark = start_mark_of(cardinality, self.start)
        add_mark(message, mark)
        if cardinality == ONCE_PER_INSTANCE:
            # The mark a catch of this instance would have: it never gets the message that started it (D14).
            mark = instance_mark(self.process_id, self.instance_id)
            add_mark(message, mark)
        elif cardinality == ALL:
            mark = instance_mark(self.process_id, self.instance_id)
        _take(space, message, self, mark)


@dataclass(slots=True, eq=False)
class MessageRefused(CorrelationEvent):
    message: Message
    at: int
    reason: str
    parameters: dict[str, Any]

    def apply(self, space: KeySpace) -> None:
        self.message.ended = self


@dataclass(slots=True, eq=False)
class MessageDiscarded(CorrelationEvent):
    message: Message
    at: int
    reason: str
    near_misses: Sequence[dict[str, Any]]

    def apply(self, space: KeySpace) -> None:
        self.message.ended = self


@dataclass(slots=True, eq=False)
class MessageExpired(CorrelationEvent):
    """It left the buffer. `reason` says why nobody took it; empty when somebody did."""

    message: Message
    at: int
    reason: str
    near_misses: Sequence[dict[str, Any]] = ()

    def apply(self, space: KeySpace) -> None:
        message = self.message
        message.ended = self
        if not message.stored:
            return
        topic = space.topics[message.name]
        topic.unstore(message)
        space.forget_ended()
        if topic.ids and message.policy.dedup == WHILE_BUFFERED and topic.ids.get(message.message_id) is message:
            del topic.ids[message.message_id]
        if self.reason and not message.targets:
            topic.missed = topic.missed or []
            topic.missed.append(message)


@dataclass(slots=True, eq=False)
class MessageHeld(CorrelationEvent):
    """It cannot be kept and everybody who could take it is busy: decided once they have answered."""

    message: Message
    at: int

    def apply(self, space: KeySpace) -> None:
        topic = space.topics[self.message.name]
        topic.held = topic.held or []
        topic.held.append(self.message)


@dataclass(slots=True, eq=False)
class MessageReleased(CorrelationEvent):
    """A held message whose turn has come: it is to be offered again, as a command of its own."""

    message: Message
    at: int

    def apply(self, space: KeySpace) -> None:
        held = space.topics[self.message.name].held
        if held:
            held.remove(self.message)


@dataclass(slots=True, eq=False)
class MessageAnswered(CorrelationEvent):
    """The answer to a synchronous correlation: the instance, or None when nobody took it."""

    message: Message
    instance_id: InstanceId
    at: int

    def apply(self, space: KeySpace) -> None:
        self.message.sync = False


@dataclass(slots=True, eq=False)
class SubscriptionOpened(CorrelationEvent):
    subscription: Subscription
    at: int

    def apply(self, space: KeySpace) -> None:
        space.add_subscription(self.subscription)


@dataclass(slots=True, eq=False)
class SubscriptionClosed(CorrelationEvent):
    """`answered`: by the message that was on its way to it; otherwise that one is still under way."""

    subscription: Subscription
    at: int
    answered: bool = False

    def apply(self, space: KeySpace) -> None:
        subscription = self.subscription
        process_id = subscription.process_id
        topic = space.topics[subscription.name]
        subscription.closed = True
        del space.subscriptions[subscription.key]
        topic.last_closed = self
        lane = topic.lanes[process_id]
        if lane.open > 1:
            lane.open -= 1
            lane.drop_closed()
        else:
            del topic.lanes[process_id]
            if not topic.lanes:
                del space.awaited[subscription.name]
        if self.answered:
            subscription.busy_with = None


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

    def apply(self, space: KeySpace) -> None:
        self.subscription.busy_with = None


@dataclass(slots=True, eq=False)
class CorrelationGivenBack(CorrelationEvent):
    subscription: Subscription
    message: Message
    at: int
    why: str

    def apply(self, space: KeySpace) -> None:
        message = self.message
        self.subscription.busy_with = None
        remove_mark(message, self.subscription)
        message.targets = [target for target in message.targets if target.waiter is not self.subscription]
        message.given_back = self
        if message.stored:
            space.topics[message.name].cursors = None


@dataclass(slots=True, eq=False)
class LockFreed(CorrelationEvent):
    process_id: str
    instance_id: InstanceId
    at: int

    def apply(self, space: KeySpace) -> None:
        del space.locks[self.process_id]


@dataclass(slots=True, eq=False)
class OrderRefused(CorrelationEvent):
    """The command names something that is gone or has moved on. Harmless (R7)."""

    code: str
    what: str
    at: int


Target = MessageCorrelated | InstanceStarted
"""Who has a message."""
MessageEnd = MessageRefused | MessageDiscarded | MessageExpired


def _take(space: KeySpace, message: Message, target: Target, mark: str) -> None:
    targets = message.targets
    if isinstance(targets, list):
        targets.append(target)
    else:
        message.targets = [target]
    if message.stored:
        space.topics[message.name].move_cursor(mark, message.policy.cardinality)
