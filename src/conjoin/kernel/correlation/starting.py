"""Starting: message start events and the lock that keeps one instance per process and key (section G).

The lock is not the mark: the lock says that a message-started instance with this key is alive, the mark says that
this message was used by the process. An empty key never locks (G14).
"""

from collections.abc import Sequence

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.events import Event, InstanceStarted, LockFreed
from conjoin.kernel.correlation.marks import is_taken_by_process, start_mark_of
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace, Lock
from conjoin.kernel.keys import InstanceId
from conjoin.kernel.policies import PER_KEY, SUBSCRIPTION_FIRST


def takes_lock(space: KeySpace, message: Message) -> bool:
    return space.key != "" and message.policy.start_uniqueness == PER_KEY


def is_locked(space: KeySpace, message: Message, process_id: str) -> bool:
    return process_id in space.locks and takes_lock(space, message)


def startable(
    space: KeySpace,
    message: Message,
    starts: Sequence[StartSubscription],
    receivers: Sequence[Subscription],
    catalog: Catalog,
) -> list[StartSubscription]:
    """The processes that a message being published starts (D13, D15, G12, Q8)."""
    if receivers and message.policy.start_precedence == SUBSCRIPTION_FIRST:
        return []
    receiving = {subscription.process_id for subscription in receivers}
    return [
        start
        for start in starts
        if start.process_id not in receiving
        and not is_locked(space, message, start.process_id)
        and _may_start(space, message, start.process_id, catalog)
    ]


def locked_starts(space: KeySpace, message: Message, starts: Sequence[StartSubscription]) -> list[StartSubscription]:
    """The processes that would have been started but for their lock (G12, G33)."""
    return [
        start
        for start in starts
        if is_locked(space, message, start.process_id) and not is_taken_by_process(message, start.process_id)
    ]


def starts_behind_id(
    space: KeySpace, message: Message, starts: Sequence[StartSubscription], catalog: Catalog
) -> list[StartSubscription]:
    """The processes that would have been started but for a running instance with the same business id (Q8)."""
    if not message.business_id:
        return []
    return [
        start
        for start in starts
        if not is_taken_by_process(message, start.process_id)
        and not is_locked(space, message, start.process_id)
        and not catalog.is_free(space.tenant_id, start.process_id, message)
    ]


def start_instance(
    space: KeySpace, message: Message, start: StartSubscription, at: int, catalog: Catalog, lock: Lock | None = None
) -> InstanceStarted:
    instance_id, locks = catalog.new_instance(space.tenant_id, space.key, message, start), takes_lock(space, message)
    if lock is None:
        return InstanceStarted(message, start, instance_id, at, "started_instance", locks)
    return InstanceStarted(message, start, instance_id, at, "started_after_lock", locks, lock.instance_id)


def end_instance(space: KeySpace, process_id: str, instance_id: InstanceId, at: int, catalog: Catalog) -> list[Event]:
    """Free the lock; the oldest message behind it starts the next instance (G18-G22, E5)."""
    lock = space.locks.get(process_id)
    if lock is None or (instance_id is not None and lock.instance_id != instance_id):
        return []
    freed = LockFreed(process_id, lock.instance_id, at)
    # The oldest is the lowest key over all start events of the latest version, not the first of each (E5).
    oldest: tuple[Message, StartSubscription] | None = None
    for start in catalog.starts_of(space.tenant_id, process_id, at):
        topic = space.topics.get(start.name)
        mark = start_mark_of(catalog.policies.of(start.name).cardinality, start)
        for message in topic.stored_from(mark) if topic is not None else ():
            if message.deadline > at and _may_start(space, message, process_id, catalog):
                if oldest is None or message.key < oldest[0].key:
                    oldest = (message, start)
                break
    return [freed] if oldest is None else [freed, start_instance(space, *oldest, at, catalog, lock)]


def _may_start(space: KeySpace, message: Message, process_id: str, catalog: Catalog) -> bool:
    """A business id that is held keeps its own message waiting, not those behind it (E6, Q8)."""
    if is_taken_by_process(message, process_id):
        return False
    return not message.business_id or catalog.is_free(space.tenant_id, process_id, message)


def start_buffered(space: KeySpace, message: Message, process_id: str, at: int, catalog: Catalog) -> list[Event]:
    """A business id is free again: the message that waited for it starts its process, if it still may (Q11, Q14)."""
    starts = [s for s in catalog.starts_of(space.tenant_id, process_id, at) if s.name == message.name]
    if not starts or not message.stored or message.deadline <= at or is_locked(space, message, process_id):
        return []
    may_start = _may_start(space, message, process_id, catalog)
    return [start_instance(space, message, starts[0], at, catalog)] if may_start else []
