"""The schedule: runs and cleanups when their time has come, each by one of the servers that share a store.

The server that holds the lease of a job does it; the lease is in the time of the store's own clock. It saves work and
guards nothing: a run that outlives it stops when it notices, and what it tries meanwhile meets the commits of the
others. At the end the lease is kept until the next time, one interval later, so that the others need not come before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.due import CLEANUP, RUN, next_job_at
from conjoin.kernel.instants import after
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.store.catalog import CatalogStore

JOBS = (RUN, CLEANUP)
Clock = Callable[[], int]


class InboxSchedule:
    """For one thread. `lease_clock` is that of the store, unless a test has another."""

    def __init__(self, inbox: Inbox, holder: str | None = None, lease_clock: Clock | None = None) -> None:
        self.counts = Counts()
        """All that has happened."""
        self._inbox = inbox
        self._settings = inbox.settings
        self._catalog = inbox.shards.store.catalog
        self._holder = holder or uuid4().hex
        self._lease_clock = lease_clock or self._catalog.now
        self._started_at = inbox.shards.now
        self._ended_at: dict[str, int] = {}

    def next_at(self) -> int:
        """When there is something to do."""
        return min(map(self._next_at, JOBS))

    def step(self) -> list[str]:
        """Does what is due, and returns what was done. A job that another server does is not included."""
        now = self._inbox.shards.now
        return [job for job in JOBS if self._next_at(job) <= now and self._do(job)]

    def _next_at(self, job: str) -> int:
        return next_job_at(job, self._started_at, self._ended_at.get(job), self._settings)

    def _do(self, job: str) -> bool:
        try:
            lease = HeldLease(self._catalog, self._lease_clock, self._holder, self._settings, job)
            if not lease.is_ours():
                return False
            work = self._inbox.run if job == RUN else self._inbox.clean_up
            self.counts += work(lease.is_ours)
            lease.keep_until_next()
            return True
        finally:
            # The interval counts from the end of a run, and from the end of one that failed.
            self._ended_at[job] = self._inbox.shards.now


@dataclass(slots=True)
class HeldLease:
    """The lease of one job, renewed while the job is done. Without a cluster it is always ours."""

    catalog: CatalogStore
    clock: Clock
    holder: str
    settings: InboxSettings
    job: str
    _until: int = 0

    def is_ours(self) -> bool:
        """Renewed when half of it is over; what cannot be renewed is lost."""
        if not self.settings.cluster:
            return True
        now = self.clock()
        if after(now, self.settings.lock_at_most // 2) >= self._until:
            self._take(now, after(now, self.settings.lock_at_most))
        return now < self._until

    def keep_until_next(self) -> None:
        interval = self.settings.cleanup_interval if self.job == CLEANUP else self.settings.poll_interval
        if self.settings.cluster:
            now = self.clock()
            self._take(now, after(now, interval))

    def _take(self, now: int, until: int) -> None:
        self._until = until if self.catalog.lease(self.job, self.holder, now, until) else now
