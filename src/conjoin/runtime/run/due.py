"""What happens by itself when its time has come: sweeps, and a look whether a shard has anything to do.

Each commit of a sweep takes a bounded number, so that requests do not wait long: timers by their instant and key, then
jobs that come back, then messages whose time is over. A message whose id is forgotten only leaves the index; the rules
have looked at the instant itself all along. The timers of start events are scheduled by the shard of their process,
once for each version. How far the catalog was looked through is a position in the same commit as the timers, so
neither a crash nor a second process schedules twice or forgets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import JobRow, MessageRow, PositionRow, TimerRow

Kind = Literal["timers", "jobs", "messages"]
KINDS: tuple[Kind, ...] = ("timers", "jobs", "messages")
AT_ONCE = 1_000
SOURCE, PART = "catalog", "start timers"
_RETRIES_AT_ONCE = 100
_TABLES = {"timers": t.TIMER, "jobs": t.JOB, "messages": t.MESSAGE}
DueRow = TimerRow | JobRow | MessageRow


@dataclass(frozen=True, slots=True)
class Sweep:
    """Of `keys` those that are due; without any, what is due."""

    kind: Kind
    limit: int = AT_ONCE
    keys: tuple[int, ...] = ()


def due_orders(its: WorkingSet, sweep: Sweep, at: int) -> tuple[list[tuple[int, Order]], int]:
    """The orders for what is due on a shard, each with its key, with everything they need loaded; how much is due.

    Each timer and job is named: another one of the same instance may be set aside.
    """
    rows = due_rows(its.snapshot, sweep, at)
    loaded = len(its.state.live)
    if sweep.kind == "timers":
        its.state.fetch_timers([row for row in rows if isinstance(row, TimerRow)])
        its.fetch_waits(loaded)
        return [(row.key, c.FireTimers(at, row.key)) for row in rows], len(rows)
    if sweep.kind == "jobs":
        its.state.fetch(row.instance_key for row in rows if isinstance(row, JobRow))
        return [(row.key, c.ReturnJobs(at, row.key)) for row in rows], len(rows)
    messages = [row for row in rows if isinstance(row, MessageRow)]
    its.spaces.fetch_messages(messages)
    places: dict[tuple[str, str], int] = {}
    for message in messages:
        places.setdefault((message.tenant_id, message.correlation_key), message.key)
    return [(key, c.ForKey(*place, correlation.ExpireMessages(at))) for place, key in places.items()], len(rows)


def due_rows(snapshot: ShardSnapshot, sweep: Sweep, at: int) -> Sequence[DueRow]:
    """The earliest first."""
    keys, limit = sweep.keys, sweep.limit
    rows: Sequence[DueRow]
    if sweep.kind == "timers":
        rows = snapshot.timers(keys) if keys else snapshot.due_timers(at, limit)
    elif sweep.kind == "jobs":
        rows = snapshot.jobs(keys) if keys else snapshot.due_jobs(at, limit)
    else:
        rows = snapshot.messages(keys) if keys else snapshot.due_messages(at, limit)
    return [row for row in rows if row.due_at is not None and row.due_at <= at]


class Peeked(NamedTuple):
    """What a shard has to do without a request. Mostly nothing, and one look shows it."""

    due: tuple[Kind, ...]
    receivers: tuple[int, ...]
    """Shards for which there is mail."""
    scheduled_up_to: int
    """The version of the catalog whose start timers are scheduled."""
    to_retry: tuple[int, ...] = ()
    """What is set aside and to be retried automatically."""
    set_aside: int = 0
    """How much is set aside."""


def peek(snapshot: ShardSnapshot, at: int) -> Peeked:
    tables = snapshot.due_tables(at)
    due = tuple(kind for kind in KINDS if _TABLES[kind] in tables)
    set_aside, limit = snapshot.set_aside_count(), _RETRIES_AT_ONCE
    # A retry of what is gone, with its instance perhaps, clears it.
    keys = (*snapshot.set_aside_due(at, limit), *snapshot.set_aside_gone(limit)) if set_aside else ()
    scheduled_up_to = int(snapshot.position(SOURCE).get(PART, "0"))
    return Peeked(due, tuple(snapshot.receivers()), scheduled_up_to, tuple(dict.fromkeys(keys)), set_aside)


def starts_to_schedule(
    shard: int, seen: int, view: CatalogView, shards: int
) -> tuple[list[c.ScheduleStarts], list[PositionRow]]:
    """For a shard that has looked through the catalog up to a version; and the position that its commit notes."""
    new = [row for row in view.rows if row.catalog_version > seen]
    orders = [c.ScheduleStarts(row.key, 0) for row in new if shard_of(row.process_id, shards) == shard]
    return orders, [PositionRow(SOURCE, PART, str(view.version))]
