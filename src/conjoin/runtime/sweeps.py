"""Sweeps: what happens by itself when its time has come. Each commit takes a bounded number, so that nobody waits long.

Timers by their instant and key, then jobs that come back, then messages whose time is over. A message whose id is
forgotten only leaves the index; the rules have looked at the instant itself all along.
"""

from dataclasses import dataclass
from typing import Literal

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.runtime.working_set import WorkingSet

Kind = Literal["timers", "jobs", "messages"]
KINDS: tuple[Kind, ...] = ("timers", "jobs", "messages")
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Sweep:
    kind: Kind
    limit: int = AT_ONCE


def due_orders(its: WorkingSet, sweep: Sweep, at: int) -> tuple[list[Order], int]:
    """The orders for what is due on a shard, with everything they need loaded; and how many things were found due."""
    if sweep.kind == "timers":
        timers = its.snapshot.due_timers(at, sweep.limit)
        its.fetch_timers(timers)
        return [c.FireTimers(at) for _ in timers], len(timers)
    if sweep.kind == "jobs":
        jobs = its.snapshot.due_jobs(at, sweep.limit)
        its.fetch_instances(job.instance_key for job in jobs)
        return [c.ReturnJobs(at) for _ in jobs], len(jobs)
    messages = its.snapshot.due_messages(at, sweep.limit)
    its.fetch_messages(messages)
    places = dict.fromkeys((row.tenant_id, row.correlation_key) for row in messages)
    return [c.ForKey(*place, correlation.ExpireMessages(at)) for place in places], len(messages)
