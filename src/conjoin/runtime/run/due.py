"""Sweeps: what happens by itself when its time has come. Each commit takes a bounded number, so that nobody waits long.

Timers by their instant and key, then jobs that come back, then messages whose time is over. A message whose id is
forgotten only leaves the index; the rules have looked at the instant itself all along.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store.port import ShardSnapshot

Kind = Literal["timers", "jobs", "messages"]
KINDS: tuple[Kind, ...] = ("timers", "jobs", "messages")
AT_ONCE = 1_000


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
    if sweep.kind == "timers":
        its.state.fetch_timers(rows)
        return [(row.key, c.FireTimers(at, row.key)) for row in rows], len(rows)
    if sweep.kind == "jobs":
        its.state.fetch(job.instance_key for job in rows)
        return [(row.key, c.ReturnJobs(at, row.key)) for row in rows], len(rows)
    its.spaces.fetch_messages(rows)
    places: dict[tuple[str, str], int] = {}
    for row in rows:
        places.setdefault((row.tenant_id, row.correlation_key), row.key)
    return [(key, c.ForKey(*place, correlation.ExpireMessages(at))) for place, key in places.items()], len(rows)


def due_rows(snapshot: ShardSnapshot, sweep: Sweep, at: int) -> Sequence[Any]:
    """The earliest first."""
    if sweep.keys:
        found = _BY_KEY[sweep.kind](snapshot, sweep.keys)
        return [row for row in found if row.due_at is not None and row.due_at <= at]
    return _DUE[sweep.kind](snapshot, at, sweep.limit)


_DUE: dict[Kind, Callable[[ShardSnapshot, int, int], Sequence[Any]]] = {
    "timers": lambda snapshot, at, limit: snapshot.due_timers(at, limit),
    "jobs": lambda snapshot, at, limit: snapshot.due_jobs(at, limit),
    "messages": lambda snapshot, at, limit: snapshot.due_messages(at, limit),
}
_BY_KEY: dict[Kind, Callable[[ShardSnapshot, Sequence[int]], Sequence[Any]]] = {
    "timers": lambda snapshot, keys: snapshot.timers(keys),
    "jobs": lambda snapshot, keys: snapshot.jobs(keys),
    "messages": lambda snapshot, keys: snapshot.messages(keys),
}
