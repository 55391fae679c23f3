"""run: load what a batch touches, fold it, commit. Whoever loses the race for the shard loads again.

Everything that follows from a request on this shard happens in the same commit; what concerns other shards is in the
outbox of that commit. A request is carried out once, whatever crashes: either its commit is there, or nothing of it.
"""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from conjoin.fault_points import passing
from conjoin.kernel.catalog import Catalog
from conjoin.runtime.batches import Batch, Done
from conjoin.runtime.fold import Fold
from conjoin.runtime.generations import KeyHomes, homes_of
from conjoin.runtime.placement import Placement
from conjoin.runtime.stored_catalog import CatalogView
from conjoin.runtime.working_set import WorkingSet
from conjoin.store.port import Facts, ShardSnapshot, ShardStore

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

    def __init__(self, store: ShardStore, clock: Callable[[], int], facts: Facts) -> None:
        self.store = store
        self.timings = Timings()
        self._clock = clock
        self._facts = facts
        self._known: tuple[int, Catalog] = (-1, Catalog())
        self._homes: KeyHomes | None = None

    def run(self, batch: Batch, view: CatalogView) -> Done:
        collects = gc.isenabled()
        # Nothing of a run is garbage before its end; looking for some in between takes a quarter of the time.
        gc.disable()
        try:
            return self._run(batch, view)
        finally:
            if collects:
                gc.enable()

    def _run(self, batch: Batch, view: CatalogView) -> Done:
        races = 0
        while True:
            snapshot = self.store.begin(locked=races >= RACES_BEFORE_LOCKING)
            done = self._try(snapshot, batch, view)
            if done is not None:
                return done
            races += 1
            self.timings.lost_races += 1

    def _try(self, snapshot: ShardSnapshot, batch: Batch, view: CatalogView) -> Done | None:
        """None: somebody else has committed in the meantime."""
        try:
            its = self._begin(snapshot, view)
        except BaseException:  # whatever it was, the snapshot must not stay open
            snapshot.abandon()
            raise
        try:
            return self._fold(its, batch, view)
        finally:
            its.dissolve()

    def _fold(self, its: WorkingSet, batch: Batch, view: CatalogView) -> Done | None:
        began = perf_counter()
        passing("begun")
        snapshot = its.snapshot
        try:
            fold = Fold(its, view, max(snapshot.head.time, self._clock()))
            fold.load(batch)
            loaded = perf_counter()
            passing("loaded")
            fold.carry_out(batch)
            decided = perf_counter()
            passing("decided")
            changes = fold.changes(batch)
        except BaseException:  # whatever it was, the snapshot must not stay open
            snapshot.abandon()
            raise
        encoded = perf_counter()
        passing("encoded")
        if changes is None:
            snapshot.abandon()
        elif not snapshot.commit(changes):
            return None
        passing("committed")
        timings = self.timings
        timings.load += loaded - began
        timings.decide += decided - loaded
        timings.encode += encoded - decided
        timings.commit += perf_counter() - encoded
        return fold.done(changes)

    def _begin(self, snapshot: ShardSnapshot, view: CatalogView) -> WorkingSet:
        if self._homes is None:
            self._homes = homes_of(snapshot, self._facts.shards)
        placement = Placement(self._facts.shards, view.definitions, self._homes)
        its = WorkingSet(self.store.index, snapshot, view.definitions, placement)
        if self._known[0] != view.version:
            self._known = (view.version, view.kernel_catalog())
        its.know(self._known[1], view.policy_of)
        if self._facts.unique_business_ids:
            its.know_business_ids()
        return its
