"""A look at a shard: is there anything to do that nobody has asked for? Mostly there is not, and one look says so.

What has fallen due, mail for other shards, what is set aside; and the timers of start events: each shard schedules
those of the processes that belong to it, once for each version. How far the catalog was looked through is a position
in the same commit as the timers, so neither a crash nor a second process schedules twice or forgets.
"""

from typing import NamedTuple

from conjoin.kernel.process import commands as c
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.due import KINDS, Kind
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import PositionRow

SOURCE, PART = "catalog", "start timers"
_AT_ONCE = 100
_TABLES = {"timers": t.TIMER, "jobs": t.JOB, "messages": t.MESSAGE}


class Peeked(NamedTuple):
    due: tuple[Kind, ...]
    receivers: tuple[int, ...]
    """Shards for which there is post."""
    scheduled_up_to: int
    """The version of the catalog whose start timers are scheduled."""
    to_retry: tuple[int, ...] = ()
    """What is set aside and to be tried again by itself."""
    set_aside: int = 0
    """How much is set aside."""


def peek(snapshot: ShardSnapshot, at: int) -> Peeked:
    tables = snapshot.due_tables(at)
    due = tuple(kind for kind in KINDS if _TABLES[kind] in tables)
    set_aside = snapshot.set_aside_count()
    # A retry of what is gone, with its instance perhaps, clears it.
    keys = (*snapshot.set_aside_due(at, _AT_ONCE), *snapshot.set_aside_gone(_AT_ONCE)) if set_aside else ()
    return Peeked(due, tuple(snapshot.receivers()), scheduled_up_to(snapshot), tuple(dict.fromkeys(keys)), set_aside)


def scheduled_up_to(snapshot: ShardSnapshot) -> int:
    """The version of the catalog that the shard has looked through."""
    return int(snapshot.position(SOURCE).get(PART, "0"))


def starts_to_schedule(shard: int, seen: int, view: CatalogView, shards: int) -> Batch:
    """For a shard that has looked through the catalog up to a version."""
    mine = [row for row in view.deployed_after(seen) if shard_of(row.process_id, shards) == shard]
    orders = [c.ScheduleStarts(row.key, 0) for row in mine]
    return Batch(orders, positions=[PositionRow(SOURCE, PART, str(view.version))])
