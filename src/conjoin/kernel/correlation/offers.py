"""Offers: which waiting subscriptions may take a message, and which stored message a subscription may take.

These are the two directions of one question, so they stand together. Busy subscriptions (in mid-correlation) are
passed over (D12); a message is never given twice to whatever its cardinality marks.
"""

from collections.abc import Sequence

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.marks import is_taken_for, mark_of
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace, Lane, Topic
from conjoin.kernel.policies import ONCE_PER_INSTANCE, ONCE_PER_PROCESS, START_ONLY


def fits(message: Message, subscription: Subscription) -> bool:
    """The business id (Q1, Q2) and the extra constraint."""
    if message.business_id and message.business_id != subscription.business_id:
        return False
    constraint = message.policy.constraint
    return constraint is None or bool(constraint(message, subscription))


def receivers(topic: Topic, message: Message, starts: Sequence[StartSubscription]) -> list[Subscription]:
    """The subscriptions that take a message being published, in the order of their rank (D6, D7, E9)."""
    cardinality = message.policy.cardinality
    starting = _processes(starts) if message.policy.start_precedence == START_ONLY else ()
    found: list[Subscription] = []
    for process_id, lane in topic.lanes.items():
        if process_id in starting:
            continue
        if cardinality == ONCE_PER_PROCESS:
            _add_first(found, lane, message)
        else:
            _add_all(found, lane, message)
    if len(found) > 1:
        found.sort(key=lambda s: s.rank)
    return found


def _processes(starts: Sequence[StartSubscription]) -> tuple[str, ...]:
    return tuple(start.process_id for start in starts)


def _can_take(message: Message, subscription: Subscription) -> bool:
    return subscription.busy_with is None and not is_taken_for(message, subscription) and fits(message, subscription)


def _add_first(found: list[Subscription], lane: Lane, message: Message) -> None:
    for subscription in lane:
        if _can_take(message, subscription):
            found.append(subscription)
            return


def _add_all(found: list[Subscription], lane: Lane, message: Message) -> None:
    """Every subscription of the lane; with once_per_instance the first of each instance."""
    once = message.policy.cardinality == ONCE_PER_INSTANCE
    instances: dict[object, None] = {}
    for subscription in lane:
        if _can_take(message, subscription) and not (once and subscription.instance_id in instances):
            instances[subscription.instance_id] = None
            found.append(subscription)


def is_awaited(topic: Topic, message: Message) -> bool:
    """Would somebody take it who is busy just now?"""
    return any(
        subscription.busy_with is not None and not is_taken_for(message, subscription) and fits(message, subscription)
        for subscription in topic.open_subscriptions()
    )


def next_message(space: KeySpace, subscription: Subscription, at: int, catalog: Catalog) -> Message | None:
    """The earliest stored message that the subscription may take (E1, F1, F2)."""
    topic = space.topics.get(subscription.name)
    if topic is None or topic.head == len(topic.messages):
        return None
    mark = mark_of(catalog.policies.of(subscription.name).cardinality, subscription)
    for message in topic.stored_from(mark):
        if (
            message.deadline > at
            and not is_taken_for(message, subscription)
            and fits(message, subscription)
            and not _is_reserved_for_start(space, message, subscription, at, catalog)
        ):
            return message
    return None


def _is_reserved_for_start(
    space: KeySpace, message: Message, subscription: Subscription, at: int, catalog: Catalog
) -> bool:
    if message.policy.start_precedence != START_ONLY:
        return False
    starts = catalog.starts_for(space.tenant_id, message.name, at)
    return subscription.process_id in _processes(starts)


def next_receiver(space: KeySpace, message: Message, refused_by: Subscription) -> Subscription | None:
    """The next idle subscription of the same process, after one gave the message back (D17)."""
    topic = space.topics.get(message.name)
    lane = topic.lanes.get(refused_by.process_id) if topic is not None else None
    cardinality = message.policy.cardinality
    freed = mark_of(cardinality, refused_by)
    for subscription in lane or ():
        mark = mark_of(cardinality, subscription)
        if (
            subscription is not refused_by
            and subscription.busy_with is None
            and (mark == freed or mark not in message.marks)
            and fits(message, subscription)
        ):
            return subscription
    return None
