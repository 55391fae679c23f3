"""A key space as rows: its subscriptions, messages and locks, and back.

A subscription that was closed while a message was on its way to it is kept until the answer has come; of the others
that were closed, the last one of each name, for explanations. A subscription has a row, or stands in that of its
instance: see `instance_waits.py`.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation.events import InstanceStarted, SubscriptionClosed
from conjoin.kernel.correlation.state import Lock
from conjoin.kernel.keys import rank_of
from conjoin.runtime.codec.instance_waits import closed_waits, open_wait
from conjoin.runtime.codec.messages import PolicyOf, read_message
from conjoin.store.port import KeyRows
from conjoin.store.rows import InstanceRow, LockRow, MessageRow, SubscriptionRow


class Loaded:
    """A key space as it was loaded, with what is not part of the state proper."""

    __slots__ = (
        "at_home",
        "awaiting",
        "fates",
        "kept",
        "messages",
        "oldest_up_to",
        "reached",
        "rows",
        "space",
        "versions",
    )

    def __init__(self, space: KeySpace) -> None:
        self.space = space
        self.messages: dict[int, Message] = {}
        self.fates: dict[int, tuple[str, str]] = {}
        """Verdict and reason of each message as it was loaded."""
        self.versions: dict[int, int] = {}
        """The policies that each message was accepted under."""
        self.awaiting: dict[int, Subscription] = {}
        """Closed ones that still wait for an answer."""
        self.kept: dict[str, int] = {}
        """The last one closed of each name, by its key."""
        self.at_home: dict[int, int] = {}
        """Those that stand in the rows of their instances, kept ones too: by their keys, the keys of the instances."""
        self.oldest_up_to = 0
        """Live messages are here up to this key; 0 when it is all of them."""
        self.reached: dict[str, int | None] = {}
        """Of a name, the last message loaded; None when there are no more."""
        self.rows: dict[int, SubscriptionRow] = {}
        """The subscriptions that stand apart as they were read, by their keys."""

    def reached_of(self, name: str) -> int | None:
        return self.reached.get(name, self.oldest_up_to)


@lru_cache(4096)
def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def in_crowd(row: SubscriptionRow) -> SubscriptionRow:
    """With where it stands: by name, process and rank, in texts of one length each, however long the names are."""
    rank = rank_of(row.element_key)
    return row._replace(crowd=f"{digest(row.name)}{digest(row.process_id)}{rank:016x}{row.key:016x}")


def lock_row(place: tuple[str, str], lock: Lock) -> LockRow:
    return LockRow(*place, lock.process_id, lock.instance_id, lock.since, lock.message.key if lock.message else 0)


def read_spaces(tenant_id: str, keys: Iterable[str], rows: KeyRows, policy_of: PolicyOf) -> dict[str, Loaded]:
    """The key spaces of these keys, empty ones included."""
    found = {key: Loaded(KeySpace(tenant_id, key)) for key in keys}
    subscriptions: dict[int, Subscription] = {}
    for instance in rows.instances:
        _put_waits(found[instance.wait_on or ""], instance, subscriptions)
    for row in rows.subscriptions:
        subscriptions[row.key] = _put_subscription(found[row.correlation_key], row)
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


def _put_waits(loaded: Loaded, row: InstanceRow, subscriptions: dict[int, Subscription]) -> None:
    if row.wait_key:
        its = open_wait(row)
        subscriptions[its.key] = its
        loaded.at_home[its.key] = row.key
        loaded.space.add_subscription(its)
    for closed in closed_waits(row):
        its = closed.subscription
        subscriptions[its.key] = its
        loaded.at_home[its.key] = row.key
        _keep(loaded, closed)


def _keep(loaded: Loaded, closed: SubscriptionClosed) -> None:
    """The last one closed of its name."""
    its = closed.subscription
    topic = loaded.space.topics.get(its.name) or loaded.space.new_topic(its.name)
    topic.last_closed = closed
    loaded.kept[its.name] = its.key


def _put_subscription(loaded: Loaded, row: SubscriptionRow) -> Subscription:
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
    loaded.rows[row.key] = row
    if row.closed_at is None:
        loaded.space.add_subscription(its)
        return its
    its.closed = True
    if row.busy_with:
        loaded.awaiting[row.key] = its
    else:
        _keep(loaded, SubscriptionClosed(its, row.closed_at))
    return its


def add_subscriptions(loaded: Loaded, rows: Iterable[SubscriptionRow]) -> None:
    """Those that were not read before. One that is busy points at a message that is here already."""
    added: dict[int, Subscription] = {}
    for row in rows:
        if row.key not in loaded.rows:
            subscription = added[row.key] = _put_subscription(loaded, row)
            if row.busy_with:
                subscription.busy_with = loaded.messages[row.busy_with]
    # A message knows who has it; of a subscription that was not here when it was read it has a copy.
    for message in loaded.messages.values() if added else ():
        for it in (*message.targets, message.given_back):
            if it is not None and not isinstance(it, InstanceStarted) and it.subscription.key in added:
                it.subscription = added[it.subscription.key]


def add_messages(loaded: Loaded, rows: Iterable[MessageRow], policy_of: PolicyOf) -> None:
    for row in rows:
        if row.key not in loaded.messages:
            _put_message(loaded, row, policy_of, loaded.space.subscriptions)


def _put_message(loaded: Loaded, row: MessageRow, policy_of: PolicyOf, known: dict[int, Subscription]) -> None:
    message, standing = read_message(row, policy_of(row.name, row.policy_version), known)
    loaded.messages[row.key] = message
    loaded.versions[row.key] = row.policy_version
    loaded.fates[row.key] = (row.verdict, row.reason)
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
