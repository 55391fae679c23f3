"""The schedule: when runs and cleanups come, and which of several servers does them.

A lease is a row that one server holds until an instant of the store's clock. It saves work, it does not guard it: a
run that outlives its lease loses at the commit. Nothing here waits or looks at a clock.
"""

from typing import NamedTuple

from conjoin.kernel.inbox.settings import InboxSettings
from conjoin.kernel.instants import NEVER, after

RUN, CLEANUP = "inbox-run", "inbox-cleanup"
"""The jobs: each has a lease of its own, and neither is done by two servers at a time."""


class Lease(NamedTuple):
    job: str
    owner: str
    until: int


def next_job_at(job: str, started_at: int, ended_at: int | None, settings: InboxSettings) -> int:
    """When a job comes next: after its initial delay, then one interval after it last ended; never if disabled."""
    if not settings.enabled:
        return NEVER
    if job == CLEANUP:
        initial_delay, interval = settings.cleanup_initial_delay, settings.cleanup_interval
    else:
        initial_delay, interval = settings.poll_initial_delay, settings.poll_interval
    return after(started_at, initial_delay) if ended_at is None else after(ended_at, interval)


def take_lease(job: str, owner: str, held: Lease | None, now: int, settings: InboxSettings) -> Lease | None:
    """The lease of a job for this owner, or None while another holds it; without a cluster leases do not count."""
    is_free = held is None or held.owner == owner or held.until <= now
    if not is_free and settings.cluster:
        return None
    return Lease(job, owner, after(now, settings.lock_at_most))
