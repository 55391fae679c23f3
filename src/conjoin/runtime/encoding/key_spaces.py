"""A key space as rows: its subscriptions, messages and locks, and back.

A subscription that was closed while a message was on its way to it is kept until the answer has come; of the others
that were closed, the last one of each name, because an explanation tells of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation.apply import APPLY
from conjoin.kernel.correlation.events import SubscriptionClosed, SubscriptionOpened
from conjoin.kernel.correlation.state import Lock
from conjoin.kernel.keys import key_of_rank, rank_of
from conjoin.kernel.policies import Policy
from conjoin.runtime.encoding.messages import read_message
from conjoin.store.port import KeyRows
from conjoin.store.rows import LockRow, MessageRow, SubscriptionRow

_open = APPLY[SubscriptionOpened]
PolicyOf = Callable[[str, int], Policy]
"""Of a message name, in a version of the catalog."""


@dataclass(slots=True)
class Loaded:
    """A key space as it was loaded, with what is not part of the state proper."""

    space: KeySpace
    messages: dict[int, Message] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    """The policies that each message was accepted under."""
    awaiting: dict[int, Subscription] = field(default_factory=dict)
    """Closed ones that still wait for an answer."""
    kept: dict[str, int] = field(default_factory=dict)
    """The last one closed of each name, by its key."""
    oldest_up_to: int = 0
    """Only so many of its live messages are here; 0 when it is all of them."""
    reached: dict[str, int | None] = field(default_factory=dict)
    """Of a name, the last message loaded; None when there are no more."""

    def reached_of(self, name: str) -> int | None:
        return self.reached.get(name, self.oldest_up_to)


def subscription_row(place: tuple[str, str], its: Subscription, closed_at: int | None) -> SubscriptionRow:
    return SubscriptionRow(
        *place,
        its.key,
        its.name,
        its.process_id,
        its.instance_id,
        key_of_rank(its.rank),
        its.element_id or "",
        its.opened_at,
        int(its.interrupting),
        its.business_id,
        0 if its.busy_with is None else its.busy_with.key,
        closed_at,
    )


def lock_row(place: tuple[str, str], lock: Lock) -> LockRow:
    return LockRow(*place, lock.process_id, lock.instance_id, lock.since, lock.message.key if lock.message else 0)


def read_spaces(tenant_id: str, keys: list[str], rows: KeyRows, policy_of: PolicyOf) -> dict[str, Loaded]:
    """The key spaces of these keys, empty ones included."""
    found = {key: Loaded(KeySpace(tenant_id, key)) for key in keys}
    subscriptions = {}
    for row in rows.subscriptions:
        subscription = _read_subscription(row)
        subscriptions[row.key] = subscription
        _put(found[row.correlation_key], row, subscription)
    for message_row in rows.messages:
        loaded = found[message_row.correlation_key]
        _put_message(loaded, message_row, policy_of, subscriptions)
    for row in rows.subscriptions:
        if row.busy_with:
            subscriptions[row.key].busy_with = found[row.correlation_key].messages[row.busy_with]
    for lock in rows.locks:
        loaded = found[lock.correlation_key]
        message = loaded.messages.get(lock.message_key)
        loaded.space.locks[lock.process_id] = Lock(lock.process_id, lock.instance_key, lock.since, message)
    return found


def _read_subscription(row: SubscriptionRow) -> Subscription:
    its = Subscription(
        row.key,
        rank_of(row.element_key),
        row.name,
        row.process_id,
        row.instance_key,
        row.element_id or None,
        row.opened_at,
        bool(row.interrupting),
        row.business_id,
        row.correlation_key,
    )
    its.closed = row.closed_at is not None
    return its


def _put(loaded: Loaded, row: SubscriptionRow, subscription: Subscription) -> None:
    space = loaded.space
    if row.closed_at is None:
        _open(space, SubscriptionOpened(subscription, row.opened_at))
        return
    if row.busy_with:
        loaded.awaiting[row.key] = subscription
        return
    topic = space.topics.get(row.name) or space.new_topic(row.name)
    topic.last_closed = SubscriptionClosed(subscription, row.closed_at)
    loaded.kept[row.name] = row.key


def add_messages(loaded: Loaded, rows: Iterable[MessageRow], policy_of: PolicyOf) -> None:
    for row in rows:
        if row.key not in loaded.messages:
            _put_message(loaded, row, policy_of, loaded.space.subscriptions)


def _put_message(loaded: Loaded, row: MessageRow, policy_of: PolicyOf, known: dict[int, Subscription]) -> None:
    message, standing = read_message(row, policy_of(row.name, row.policy_version), known)
    loaded.messages[row.key] = message
    loaded.versions[row.key] = row.policy_version
    space = loaded.space
    topic = space.topics.get(row.name) or space.new_topic(row.name)
    if message.stored:
        topic.store(message)
        space.watch_deadline(message)
    if standing.held:
        topic.held = [*(topic.held or ()), message]
    if standing.remembered:
        topic.ids = topic.ids or {}
        topic.ids[message.message_id] = message
