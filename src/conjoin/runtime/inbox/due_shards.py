"""Which shards have something to do for the inbox: a look that writes nothing and costs a few index reads a shard.

Whoever sends work elsewhere asks here first, so that a run with nothing due costs no more than this.
"""

from typing import NamedTuple

from conjoin.kernel.inbox import InboxSettings
from conjoin.runtime.inbox.cross_shard import Shards
from conjoin.runtime.inbox.placement import MOVING, OWN, REMOTE, SPANNING
from conjoin.runtime.inbox.requests import RULES_PART, RULES_SOURCE, rules_of
from conjoin.store.port import ShardSnapshot


class DueShards(NamedTuple):
    """For our own engine, within a shard; for remote targets; and where something moves or spans shards."""

    own: list[int]
    remote: list[int]
    crossing: list[int]


def due_shards(shards: Shards, settings: InboxSettings, horizon: int) -> DueShards:
    due, rules = DueShards([], [], []), rules_of(settings)
    for shard in range(shards.count):
        with shards.look(shard) as snapshot:
            if _has_own(snapshot, horizon, rules):
                due.own.append(shard)
            if snapshot.inbox_groups_due(REMOTE, horizon, 1):
                due.remote.append(shard)
            if any(snapshot.inbox_groups_due(reach, horizon, 1) for reach in (SPANNING, MOVING)):
                due.crossing.append(shard)
    return due


def shards_to_clean(shards: Shards, settings: InboxSettings, now: int) -> list[int]:
    found, retention = [], settings.retention
    for shard in range(shards.count):
        with shards.look(shard) as snapshot:
            is_over = retention is not None and snapshot.inbox_over(now - retention * 1_000 + 1, 1)
            if is_over or snapshot.inbox_expired(now, 1):
                found.append(shard)
    return found


def _has_own(snapshot: ShardSnapshot, horizon: int, rules: str) -> bool:
    """New rules concern every group with a message in line."""
    is_new = snapshot.position(RULES_SOURCE).get(RULES_PART) != rules
    has_new_rules = is_new and snapshot.inbox_groups_in_line("", 1)
    return bool(has_new_rules or snapshot.inbox_groups_due(OWN, horizon, 1) or snapshot.inbox_expired(horizon, 1))
