"""Cleaning: retention that goes on by itself, one bounded commit at a time, beside everything else.

It is done by whoever has the lease in the catalog, so by one process. The lease is not given back when all is done: it
runs out when the next round is due, and so says when that is to all processes, also to those that were not there.
"""

from collections.abc import Callable, Iterator
from uuid import uuid4

from conjoin.runtime.upkeep.retention import KEEP_EVERYTHING, KeepFor, Removed, Retention
from conjoin.store.port import Store

LEASE = "retention"
EVERY_US = 600_000_000
_ASKING_US = 60_000_000
"""So often it is asked whether a round is due."""
FEW = 100
"""Rows a commit, so that a publish that meets one hardly waits."""


class Cleaning:
    """For one thread."""

    def __init__(self, store: Store, clock: Callable[[], int], keep_for: KeepFor) -> None:
        self.removed = Removed()
        """All that it has ever removed."""
        self._store = store
        self._clock = clock
        self._keep_for = keep_for
        self._holder = uuid4().hex
        self._leased_until = 0
        self._asks_at = 0
        self._retention: Retention | None = None
        self._commits: Iterator[Removed] | None = None

    def go_on(self) -> bool:
        """One commit, if a round is due or under way; False when there is nothing to do for now."""
        now = self._clock()
        if not self._is_our_turn(now):
            return False
        try:
            removed = self._next_commit(now)
        except BaseException:  # whatever it was, the round begins anew: the rest of what it removes is found again
            self._rest(now + _ASKING_US)
            raise
        if removed is None:
            self._rest(self._leased_until)
            return False
        self.removed = self.removed.and_also(removed)
        return True

    def _is_our_turn(self, now: int) -> bool:
        if self._keep_for == KEEP_EVERYTHING:
            return False
        if self._commits is not None and now < self._leased_until - EVERY_US // 2 <= now + EVERY_US:
            return True
        # Further ahead than a whole round lies only what a clock said that has gone back since.
        if now < self._asks_at <= now + EVERY_US:
            return False
        if self._store.catalog.lease(LEASE, self._holder, now, now + EVERY_US):
            self._leased_until = now + EVERY_US
            return True
        self._rest(now + _ASKING_US)
        return False

    def _next_commit(self, now: int) -> Removed | None:
        if self._retention is None:
            self._retention = Retention(self._store, self._keep_for, FEW)
        if self._commits is None:
            self._commits = self._retention.commits(now)
        return next(self._commits, None)

    def _rest(self, until: int) -> None:
        self._commits = None
        self._asks_at = until

    def close(self) -> None:
        if self._retention is not None:
            self._retention.close()
