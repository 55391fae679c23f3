"""run: load what a batch touches, fold it, commit. Whoever loses the race for the shard loads again.

Everything that follows from a request on this shard happens in the same commit; what concerns other shards is in the
outbox of that commit. A request is carried out once, whatever crashes: either its commit is there, or nothing of it.
"""

import gc
from dataclasses import dataclass
from time import perf_counter

from conjoin.fault_points import passing
from conjoin.kernel.catalog import Catalog
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.engine.key_homes import KeyHomes, homes_of
from conjoin.runtime.engine.placement import Placement
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch, Commit
from conjoin.runtime.run.fold import Fold
from conjoin.runtime.run.isolation import Blame, blame
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store.port import Changes, Facts, ShardSnapshot, ShardStore

RACES_BEFORE_LOCKING = 2
"""A large batch is not starved by small ones: after so many lost races it takes the shard's lock before it loads."""


@dataclass(slots=True)
class Timings:
    """Where the time of runs goes, in seconds; `load` is what was fetched in bulk before the fold began."""

    load: float = 0.0
    decide: float = 0.0
    encode: float = 0.0
    commit: float = 0.0
    lost_races: int = 0


class Runner:
    """Runs batches on one shard. Not for two threads at a time."""

    def __init__(self, store: ShardStore, clock: ForwardClock, facts: Facts) -> None:
        self.store = store
        self.timings = Timings()
        self._clock = clock
        self._facts = facts
        self._known: tuple[int, Catalog] = (-1, Catalog())
        self._homes: KeyHomes | None = None

    def run(self, batch: Batch, view: CatalogView) -> Commit:
        collects = gc.isenabled()
        # Nothing of a run is garbage before its end; looking for some in between takes a quarter of the time. It is for
        # the whole process, whose other threads do the same: whoever found it on turns it on again, so it never stays
        # off, and what a run may make meanwhile is bounded (`consequences.py`).
        gc.disable()
        try:
            return self._run(batch, view)
        finally:
            if collects:
                gc.enable()

    def rehearse(self, batch: Batch, view: CatalogView) -> None:
        """All of a run but its commit; raises what the run would."""
        snapshot = self.store.begin()
        try:
            fold = Fold(self._begin(snapshot, view), view, self._clock.follow(snapshot.head.time))
            fold.load(batch)
            fold.carry_out(batch)
            fold.changes(batch)
            fold.done(None)
        finally:
            snapshot.abandon()

    def _run(self, batch: Batch, view: CatalogView) -> Commit:
        races = 0
        while True:
            snapshot = self.store.begin(locked=races >= RACES_BEFORE_LOCKING)
            done = self._try(snapshot, batch, view)
            if done is not None:
                return done
            races += 1
            self.timings.lost_races += 1

    def _try(self, snapshot: ShardSnapshot, batch: Batch, view: CatalogView) -> Commit | None:
        """None: somebody else has committed in the meantime."""
        try:
            its = self._begin(snapshot, view)
        except BaseException:  # whatever it was, the snapshot must not stay open
            snapshot.abandon()
            raise
        return self._fold(its, batch, view)

    def _fold(self, its: WorkingSet, batch: Batch, view: CatalogView) -> Commit | None:
        began = perf_counter()
        snapshot = its.snapshot
        fold = Fold(its, view, self._clock.follow(snapshot.head.time))
        try:
            passing("begun")
            fold.load(batch)
            loaded = perf_counter()
            passing("loaded")
            fold.carry_out(batch)
            decided = perf_counter()
            passing("decided")
            changes = fold.changes(batch)
            encoded = perf_counter()
            passing("encoded")
        except BaseException as error:  # whatever it was, the snapshot must not stay open
            blame(error, fold.culprit)
            snapshot.abandon()
            raise
        if not _committed(snapshot, changes, fold):
            return None
        timings = self.timings
        timings.load += loaded - began
        timings.decide += decided - loaded
        timings.encode += encoded - decided
        timings.commit += perf_counter() - encoded
        return _done(fold, changes)

    def _begin(self, snapshot: ShardSnapshot, view: CatalogView) -> WorkingSet:
        if self._homes is None:
            self._homes = homes_of(snapshot, self._facts.shards)
        placement = Placement(self._facts.shards, view.definitions, self._homes)
        if self._known[0] != view.version:
            self._known = (view.version, view.kernel_catalog())
        its = WorkingSet(self.store.index, snapshot, view, self._known[1], placement)
        if self._facts.unique_business_ids:
            its.know_business_ids()
        return its


def _committed(snapshot: ShardSnapshot, changes: Changes | None, fold: Fold) -> bool:
    """False: somebody else was faster."""
    if changes is None:
        snapshot.abandon()
        return True
    try:
        return snapshot.commit(changes)
    except BaseException as error:  # which item it was that could not be written
        blame(error, fold.culprit)
        raise


def _done(fold: Fold, changes: Changes | None) -> Commit:
    try:
        passing("committed")
        return fold.done(changes)
    except BaseException as error:  # the commit is there: whatever comes now, nothing of it is carried out again
        blame(error, Blame(is_committed=changes is not None))
        raise
