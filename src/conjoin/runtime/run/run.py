"""run: load what a batch touches, fold it, commit. A run that loses the race for the shard loads again.

Everything that follows from a request on this shard happens in the same commit; what concerns other shards is in the
outbox of that commit. A request is carried out once, whatever crashes: either its commit is there, or nothing of it.
"""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TypeVar

from conjoin.fault_points import passing
from conjoin.kernel.catalog import Catalog
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.engine.placement import KeyHomes, Placement, homes_of
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch, Commit
from conjoin.runtime.run.fold import Fold
from conjoin.runtime.run.isolation import Blame, blame
from conjoin.runtime.run.touched import read_mail, touched_by
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store.port import Changes, Facts, InstancesWanted, KeysWanted, ShardSnapshot, ShardStore, WhatIsWanted

RACES_BEFORE_LOCKING = 2
"""A large batch is not starved by small ones: after so many lost races it locks the shard before it loads."""
RACES_OF_UPKEEP = 5
"""Others go first for so long; then it takes its turn, which is short."""
_T = TypeVar("_T")


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
        # the whole process, whose other threads do the same: who found it on turns it on again, so it never stays off,
        # and what a run may make meanwhile is bounded (`limits.py`).
        gc.disable()
        try:
            wanted = partial(_wanted, batch, view)
            return until_committed(self.store, partial(self._try, batch, view), RACES_BEFORE_LOCKING, wanted)
        finally:
            if collects:
                gc.enable()

    def rehearse(self, batch: Batch, view: CatalogView) -> None:
        """All of a run but its commit; raises what the run would."""
        with self.store.begin() as snapshot:
            fold = Fold(self._begin(snapshot, view), view, self._clock.follow(snapshot.head.time))
            fold.load(batch)
            fold.carry_out(batch)
            fold.changes(batch)
            fold.done(None)

    def _try(self, batch: Batch, view: CatalogView, snapshot: ShardSnapshot) -> Commit | None:
        """None: another run has committed in the meantime."""
        began = perf_counter()
        fold = Fold(self._begin(snapshot, view), view, self._clock.follow(snapshot.head.time))
        timings = self.timings
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
            if changes is None:
                snapshot.abandon()
            elif not snapshot.commit(changes):
                timings.lost_races += 1
                return None
        except BaseException as error:  # which item it was that could not be carried out, or written
            blame(error, fold.culprit)
            raise
        timings.load += loaded - began
        timings.decide += decided - loaded
        timings.encode += encoded - decided
        timings.commit += perf_counter() - encoded
        try:
            passing("committed")
            done = fold.done(changes)
            fold.let_go()
            return done
        except BaseException as error:  # the commit is there: whatever comes now, nothing of it is carried out again
            blame(error, Blame(is_committed=changes is not None))
            raise

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


def _wanted(batch: Batch, view: CatalogView) -> list[KeysWanted | InstancesWanted]:
    """What a fold of the batch will read first, if an earlier run has carried out none of its requests."""
    return list(touched_by(read_mail(batch.deliveries), batch.requests, view.definitions).wanted())


def until_committed(
    shard: ShardStore,
    attempt: Callable[[ShardSnapshot], _T | None],
    races_before_locking: int = RACES_OF_UPKEEP,
    wanted: WhatIsWanted = tuple,
) -> _T:
    """What an attempt answers; None means that another run has committed in the meantime.

    After so many lost races the shard is locked before it is read. `wanted` is what will be read first.
    """
    races = 0
    while True:
        with shard.begin(locked=races >= races_before_locking, wanted=wanted) as snapshot:
            answer = attempt(snapshot)
        if answer is not None:
            return answer
        races += 1


def commit_changes(shard: ShardStore, make: Callable[[ShardSnapshot], Changes]) -> None:
    """Commit what follows from the shard as it is."""
    until_committed(shard, lambda snapshot: snapshot.commit(make(snapshot)) or None)
