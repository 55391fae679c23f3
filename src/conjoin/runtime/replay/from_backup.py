"""A snapshot: a replayed shard filled with the rows of a backup, so that only the log after it is carried out again."""

from typing import Any

from conjoin.kernel.correlation.events import SubscriptionClosed
from conjoin.kernel.verdicts.verdicts import Verdict
from conjoin.runtime.codec.instances import put_start_timer, read_instance
from conjoin.runtime.codec.key_spaces import read_spaces
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.replay.rows import Closed, KnownMessage
from conjoin.runtime.replay.shard import ReplayedShard
from conjoin.runtime.run.set_aside import MAIL
from conjoin.store import tables as t
from conjoin.store.port import Frozen, KeyRows
from conjoin.store.rows import LockRow, MessageRow


def mail_set_aside(frozen: Frozen, index: int) -> list[str]:
    """Orders from other shards that could not be carried out."""
    return [row.command for row in frozen.rows(index, t.SET_ASIDE) if row.kind == MAIL]


class Snapshot:
    """What a backup holds of one shard. `frozen` is a frozen view of it."""

    def __init__(self, frozen: Frozen, index: int) -> None:
        self._frozen = frozen
        self._index = index
        self.head = frozen.head(index)
        self.outbox = list(frozen.rows(index, t.OUTBOX))
        self.received: dict[int, int] = {row.sender: row.seq for row in frozen.rows(index, t.RECEIVED)}
        self.mail_set_aside = mail_set_aside(frozen, index)

    def fill(self, shard: ReplayedShard, view: CatalogView) -> None:
        shard.learn(view)
        shard.keys.follow(self.head.next_key)
        shard.last_sent = self.head.sent
        shard.sent += self.outbox
        self._fill_keys(shard, view)
        for row in self._frozen.rows(self._index, t.INSTANCE):
            if row.state != "active":
                shard.instance_rows.ended[row.key] = row
                continue
            shard.instance_rows.put(row, read_instance(shard.state, row))
            if shard.business_ids is not None and not row.parent_key:
                shard.business_ids.hold(row.tenant_id, row.process_id, row.business_id, row.key)
        for row in self._frozen.rows(self._index, t.TIMER):
            if not row.instance_key:
                put_start_timer(shard.state, row)

    def _fill_keys(self, shard: ReplayedShard, view: CatalogView) -> None:
        by_tenant: dict[str, tuple[list[Any], list[Any], list[Any]]] = {}
        for number, table in enumerate((t.SUBSCRIPTION, t.MESSAGE, t.LOCK)):
            for row in self._frozen.rows(self._index, table):
                if isinstance(row, MessageRow) and not row.live:
                    shard.key_rows.over[row.key] = row
                    continue
                if isinstance(row, LockRow):
                    shard.key_rows.locks_before[row[:4]] = row
                by_tenant.setdefault(row.tenant_id, ([], [], []))[number].append(row)
        for tenant_id, mine in by_tenant.items():
            _put_spaces(shard, view, tenant_id, KeyRows(*mine))


def _put_spaces(shard: ReplayedShard, view: CatalogView, tenant_id: str, mine: KeyRows) -> None:
    tables = (mine.subscriptions, mine.messages, mine.locks)
    keys = dict.fromkeys(row.correlation_key for rows in tables for row in rows)
    spaces = read_spaces(tenant_id, keys, mine, view.policy_of)
    closed = {row.key: row.closed_at for row in mine.subscriptions if row.closed_at is not None}
    for key, loaded in spaces.items():
        place = (tenant_id, key)
        shard.spaces.by_place[place] = loaded.space
        for number, subscription in loaded.awaiting.items():
            shard.key_rows.keep(Closed(place, SubscriptionClosed(subscription, closed[number])))
        for topic in loaded.space.topics.values():
            if topic.last_closed is not None:
                shard.key_rows.keep(Closed(place, topic.last_closed))
    for row in mine.messages:
        place = (tenant_id, row.correlation_key)
        message = spaces[row.correlation_key].messages[row.key]
        if shard.business_ids is not None and message.stored:
            shard.business_ids.keep(*place, message)
        verdict = Verdict(row.verdict, row.reason, row.decided_at, None)
        shard.key_rows.known[row.key] = KnownMessage(place, message, verdict, row.published_at, row.policy_version)
