"""A snapshot: a replayed shard filled with the rows of a backup, so that only the log after it is carried out again."""

from collections.abc import Iterable
from typing import Any

from conjoin.kernel.correlation.events import SubscriptionClosed
from conjoin.kernel.verdicts.verdicts import Verdict
from conjoin.runtime.codec.index_rows import put_start_timer
from conjoin.runtime.codec.instances import read_instance
from conjoin.runtime.codec.key_spaces import Loaded, read_spaces
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.replay.keys import Closed, KnownMessage
from conjoin.runtime.replay.shard import ReplayedShard
from conjoin.runtime.run.set_aside import MAIL
from conjoin.store import tables as t
from conjoin.store.port import Head, KeyRows
from conjoin.store.rows import InstanceRow, LockRow, MessageRow, SubscriptionRow
from conjoin.store.tables import Table


def mail_set_aside(frozen: Any, index: int) -> list[str]:
    """Orders from other shards that could not be carried out."""
    return [row.command for row in frozen.rows(index, t.SET_ASIDE) if row.kind == MAIL]


class Snapshot:
    """What a backup holds of one shard. `frozen` is a frozen view of it."""

    def __init__(self, frozen: Any, index: int) -> None:
        self._frozen = frozen
        self._index = index
        self.head: Head = frozen.head(index)
        self.outbox = list(frozen.rows(index, t.OUTBOX))
        self.received: dict[int, int] = {row.sender: row.seq for row in frozen.rows(index, t.RECEIVED)}
        self.mail_set_aside = mail_set_aside(frozen, index)

    def fill(self, shard: ReplayedShard, view: CatalogView) -> None:
        shard.learn(view)
        shard.keys.follow(self.head.next_key)
        shard.last_sent = self.head.sent
        shard.sent += self.outbox
        _fill_keys(shard, view, *(list(self._rows(table)) for table in (t.SUBSCRIPTION, t.MESSAGE, t.LOCK)))
        for row in self._rows(t.INSTANCE):
            _put_instance(shard, row)
        for row in self._rows(t.TIMER):
            if not row.instance_key:
                put_start_timer(shard.state, row)

    def _rows(self, table: Table) -> Iterable[Any]:
        return self._frozen.rows(self._index, table)  # type: ignore[no-any-return]


def _fill_keys(
    shard: ReplayedShard,
    view: CatalogView,
    subscriptions: list[SubscriptionRow],
    messages: list[MessageRow],
    locks: list[LockRow],
) -> None:
    shard.key_rows.over = {row.key: row for row in messages if not row.live}
    shard.key_rows.locks_before = {row[:4]: row for row in locks}
    live = [row for row in messages if row.live]
    for tenant_id, mine in _by_tenant(subscriptions, live, locks).items():
        keys = list(dict.fromkeys(row.correlation_key for rows in mine for row in rows))
        spaces = read_spaces(tenant_id, keys, mine, view.policy_of)
        closed = {row.key: row.closed_at for row in mine.subscriptions if row.closed_at is not None}
        for key, loaded in spaces.items():
            _put_space(shard, (tenant_id, key), loaded, closed)
        for row in mine.messages:
            _know(shard, row, spaces[row.correlation_key])


def _by_tenant(*tables: list[Any]) -> dict[str, KeyRows]:
    """Subscriptions, messages and locks."""
    found: dict[str, list[list[Any]]] = {}
    for number, rows in enumerate(tables):
        for row in rows:
            found.setdefault(row.tenant_id, [[], [], []])[number].append(row)
    return {tenant_id: KeyRows(*mine) for tenant_id, mine in found.items()}


def _put_space(shard: ReplayedShard, place: tuple[str, str], loaded: Loaded, closed: dict[int, int]) -> None:
    shard.spaces.by_place[place] = loaded.space
    for key, subscription in loaded.awaiting.items():
        shard.key_rows.keep(Closed(place, SubscriptionClosed(subscription, closed[key])))
    for topic in loaded.space.topics.values():
        if topic.last_closed is not None:
            shard.key_rows.keep(Closed(place, topic.last_closed))


def _know(shard: ReplayedShard, row: MessageRow, loaded: Loaded) -> None:
    verdict = Verdict(row.verdict, row.reason, row.decided_at, None)
    place = (row.tenant_id, row.correlation_key)
    message = loaded.messages[row.key]
    if shard.business_ids is not None and message.stored:
        shard.business_ids.keep(*place, message)
    shard.key_rows.known[row.key] = KnownMessage(place, message, verdict, row.published_at, row.policy_version)


def _put_instance(shard: ReplayedShard, row: InstanceRow) -> None:
    if row.state != "active":
        shard.instance_rows.ended[row.key] = row
        return
    shard.instance_rows.put(row, read_instance(shard.state, row))
    if shard.business_ids is not None and not row.parent_key:
        shard.business_ids.hold(row.tenant_id, row.process_id, row.business_id, row.key)
