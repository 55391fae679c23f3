"""How far a file of messages was taken: its last line on each shard, noted in the commit that takes it.

So a run that was interrupted goes on where it stopped, also when the outcome of its last commit is unknown. When a
file is done its notes go, and the same file may be published again on purpose.
"""

from collections.abc import Sequence
from contextlib import closing, suppress

from conjoin.runtime.run.batches import Origin
from conjoin.runtime.upkeep.removal import HouseKeeper
from conjoin.store import tables as t
from conjoin.store.port import Store
from conjoin.store.rows import PositionRow

SOURCE = "publish --file"
_DONE = " done"


class FileProgress:
    """Of one run, by its name."""

    def __init__(self, store: Store, run: str) -> None:
        self.run = run
        self._store = store
        self._last = store.facts.shards - 1

    def origin(self, lines: Sequence[int]) -> Origin:
        return Origin(SOURCE, [(self.run, line) for line in lines])

    @property
    def is_done(self) -> bool:
        """All lines were taken, and the run ended before all its notes were gone."""
        with closing(self._store.shard(self._last).reader()) as shard, shard.begin() as snapshot:
            return bool(snapshot.positions(SOURCE, [self.run + _DONE]))

    def finish(self) -> None:
        """The last shard notes that all is done while the notes of the others go: a crash leaves no half of them."""
        self._forget(self._last, self.run, PositionRow(SOURCE, self.run + _DONE, "1"))
        for shard in range(self._last):
            self._forget(shard, self.run)
        self._forget(self._last, self.run + _DONE)

    def _forget(self, shard: int, part: str, note: PositionRow | None = None) -> None:
        keeper = HouseKeeper(self._store, shard)
        with closing(keeper.shard), suppress(StopIteration):
            next(keeper.remove(t.POSITION, [(SOURCE, part)], note))
