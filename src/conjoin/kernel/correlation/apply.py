"""apply: the only writer of the correlation half. One function for each event; none of them decides anything.

Applying the events of a log to an empty state, in order, gives the state that the log was written from.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.marks import add_mark, instance_mark, mark_taken, remove_mark, start_mark_of
from conjoin.kernel.correlation.messages import Message, Subscription, is_kept
from conjoin.kernel.correlation.state import KeySpace, Lane, Lock
from conjoin.kernel.policies import ALL, OFF, ONCE_PER_INSTANCE, WHILE_BUFFERED


def apply(space: KeySpace, event: e.Event) -> None:
    APPLY[type(event)](space, event)


def _message_published(space: KeySpace, event: e.MessagePublished) -> None:
    message = event.message
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


def _message_correlated(space: KeySpace, event: e.MessageCorrelated) -> None:
    message, subscription = event.message, event.subscription
    subscription.busy_with = message
    _take(space, message, event, mark_taken(message, subscription))


def _instance_started(space: KeySpace, event: e.InstanceStarted) -> None:
    message = event.message
    if event.locks:
        space.locks[event.process_id] = Lock(event.process_id, event.instance_id, event.at, message)
    cardinality = message.policy.cardinality
    mark = start_mark_of(cardinality, event.start)
    add_mark(message, mark)
    if cardinality == ONCE_PER_INSTANCE:
        # The mark a catch of this instance would have: it never gets the message that started it (D14).
        mark = instance_mark(event.process_id, event.instance_id)
        add_mark(message, mark)
    elif cardinality == ALL:
        mark = instance_mark(event.process_id, event.instance_id)
    _take(space, message, event, mark)


def _take(space: KeySpace, message: Message, target: e.Target, mark: str) -> None:
    targets = message.targets
    if isinstance(targets, list):
        targets.append(target)
    else:
        message.targets = [target]
    if message.stored:
        space.topics[message.name].move_cursor(mark, message.policy.cardinality)


def _message_ended(space: KeySpace, event: e.MessageDiscarded | e.MessageRefused) -> None:
    event.message.ended = event


def _message_expired(space: KeySpace, event: e.MessageExpired) -> None:
    message = event.message
    message.ended = event
    if not message.stored:
        return
    topic = space.topics[message.name]
    topic.unstore(message)
    space.forget_ended()
    if topic.ids and message.policy.dedup == WHILE_BUFFERED and topic.ids.get(message.message_id) is message:
        del topic.ids[message.message_id]
    if event.reason and not message.targets:
        topic.missed = topic.missed or []
        topic.missed.append(message)


def _message_held(space: KeySpace, event: e.MessageHeld) -> None:
    topic = space.topics[event.message.name]
    topic.held = topic.held or []
    topic.held.append(event.message)


def _message_released(space: KeySpace, event: e.MessageReleased) -> None:
    held = space.topics[event.message.name].held
    if held:
        held.remove(event.message)


def _message_answered(space: KeySpace, event: e.MessageAnswered) -> None:
    event.message.sync = False


def add_subscription(space: KeySpace, subscription: Subscription) -> None:
    """It waits from now on, or again, where only it was kept of its key."""
    name, process_id = subscription.name, subscription.process_id
    topic = space.topics.get(name) or space.new_topic(name)
    lane = topic.lanes.get(process_id)
    if lane is None:
        topic.lanes[process_id] = Lane(subscription)
        space.awaited[name] = topic
    else:
        lane.add(subscription)
    space.subscriptions[subscription.key] = subscription
    if topic.missed:
        for message in topic.missed:
            message.late_subscription = subscription
        topic.missed = None


def _subscription_closed(space: KeySpace, event: e.SubscriptionClosed) -> None:
    subscription = event.subscription
    process_id = subscription.process_id
    topic = space.topics[subscription.name]
    subscription.closed = True
    del space.subscriptions[subscription.key]
    topic.last_closed = event
    lane = topic.lanes[process_id]
    if lane.open > 1:
        lane.open -= 1
        lane.drop_closed()
    else:
        del topic.lanes[process_id]
        if not topic.lanes:
            del space.awaited[subscription.name]
    if event.answered:
        subscription.busy_with = None


def _correlation_acknowledged(space: KeySpace, event: e.CorrelationAcknowledged) -> None:
    event.subscription.busy_with = None


def _correlation_given_back(space: KeySpace, event: e.CorrelationGivenBack) -> None:
    message = event.message
    event.subscription.busy_with = None
    remove_mark(message, event.subscription)
    message.targets = [target for target in message.targets if target.waiter is not event.subscription]
    message.given_back = event
    if message.stored:
        space.topics[message.name].cursors = None


def _lock_freed(space: KeySpace, event: e.LockFreed) -> None:
    del space.locks[event.process_id]


def _nothing(space: KeySpace, event: e.Event) -> None:
    """A refusal changes nothing."""


APPLY: dict[type, Callable[[KeySpace, Any], None]] = {
    e.MessagePublished: _message_published,
    e.MessageCorrelated: _message_correlated,
    e.InstanceStarted: _instance_started,
    e.MessageRefused: _message_ended,
    e.MessageDiscarded: _message_ended,
    e.MessageExpired: _message_expired,
    e.MessageHeld: _message_held,
    e.MessageReleased: _message_released,
    e.MessageAnswered: _message_answered,
    e.SubscriptionOpened: lambda space, event: add_subscription(space, event.subscription),
    e.SubscriptionClosed: _subscription_closed,
    e.SubscriptionRefused: _nothing,
    e.CorrelationAcknowledged: _correlation_acknowledged,
    e.CorrelationGivenBack: _correlation_given_back,
    e.LockFreed: _lock_freed,
    e.OrderRefused: _nothing,
}
