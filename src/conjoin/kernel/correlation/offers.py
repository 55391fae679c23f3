"""Offers: which waiting subscriptions may take a message, and which stored message a subscription may take.

These are the two directions of one question, so they stand together. Busy subscriptions (in mid-correlation) are
passed over (D12); a message is never given twice to whatever its cardinality marks.
"""

from collections.abc import Iterator, Sequence

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.marks import is_taken_for, mark_of
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace, Lane, Topic
from conjoin.kernel.policies import EXACTLY_ONE, ONCE_PER_INSTANCE, ONCE_PER_PROCESS, START_ONLY


def fits(message: Message, subscription: Subscription) -> bool:
    """The business id (Q1, Q2) and the extra constraint."""
    if message.business_id and message.business_id != subscription.business_id:
        return False
    constraint = message.policy.constraint
    return constraint is None or bool(constraint(message, subscription))


def receivers(topic: Topic, message: Message, starts: Sequence[StartSubscription]) -> list[Subscription]:
    """The subscriptions that take a message being published, in the order of their rank (D6, D7, E9)."""
    policy = message.policy
    starting = [start.process_id for start in starts] if policy.start_precedence == START_ONLY else ()
    first_only = policy.cardinality == ONCE_PER_PROCESS
    found: list[Subscription] = []
    for process_id, lane in topic.lanes.items():
        if starting and process_id in starting:
            continue
        if first_only:
            first = _first_taker(lane, message)
            if first is not None:
                found.append(first)
        else:
            found += _all_takers(lane, message)
    if len(found) > 1:
        found.sort(key=lambda s: s.rank)
    return found


def is_left_to_start(message: Message, process_id: str, starts: Sequence[StartSubscription]) -> bool:
    """With `start_only` nobody who waits in the process gets a message that starts it."""
    return message.policy.start_precedence == START_ONLY and any(start.process_id == process_id for start in starts)


def _first_taker(lane: Lane, message: Message) -> Subscription | None:
    waiting = lane.waiting
    picky = message.marks or message.business_id or message.policy.constraint is not None
    for index in range(lane.head, len(waiting)):
        subscription = waiting[index]
        if subscription.closed or subscription.busy_with is not None:
            continue
        if picky and (is_taken_for(message, subscription) or not fits(message, subscription)):
            continue
        return subscription
    return None


def _all_takers(lane: Lane, message: Message) -> list[Subscription]:
    """Every subscription of the lane; with once_per_instance the first of each instance."""
    once = message.policy.cardinality == ONCE_PER_INSTANCE
    found: dict[object, Subscription] = {}
    for subscription in lane:
        share = subscription.instance_id if once else subscription.key
        if share in found or subscription.busy_with is not None:
            continue
        if not is_taken_for(message, subscription) and fits(message, subscription):
            found[share] = subscription
    return list(found.values())


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
    if topic.first_for(mark) == len(topic.messages):
        return None
    for message in topic.stored_from(mark):
        if message.deadline <= at or is_taken_for(message, subscription) or not fits(message, subscription):
            continue
        if message.policy.start_precedence == START_ONLY:
            starts = catalog.starts_for(space.tenant_id, message.name, at)
            if is_left_to_start(message, subscription.process_id, starts):
                continue
        return message
    return None


def next_receiver(space: KeySpace, message: Message, refused_by: Subscription) -> Subscription | None:
    """The next idle subscription of the same process, after one gave the message back (D17).

    With `exactly_one` the mark kept everybody away, so whoever waits may have it now.
    """
    topic = space.topics.get(message.name)
    cardinality = message.policy.cardinality
    freed = mark_of(cardinality, refused_by)
    found = [
        next(_idle(lane, message, refused_by, freed), None)
        for process_id, lane in (topic.lanes.items() if topic is not None else ())
        if cardinality == EXACTLY_ONE or process_id == refused_by.process_id
    ]
    return min((each for each in found if each is not None), key=lambda s: s.rank, default=None)


def _idle(lane: Lane, message: Message, refused_by: Subscription, freed: str) -> Iterator[Subscription]:
    for subscription in lane:
        if subscription is refused_by or subscription.busy_with is not None:
            continue
        mark = mark_of(message.policy.cardinality, subscription)
        if (mark == freed or mark not in message.marks) and fits(message, subscription):
            yield subscription
