"""Generations: how keys find their shard after the number of shards has changed.

The upper bits of a key are a number that only one shard hands out. With each change all shards get new, larger numbers:
so what is younger still has the larger key, whichever shards made the two. What an old number made is where that shard
was put at each change since: it stays while there are so many shards, else it goes to shard mod N.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from conjoin.errors import StoreDamaged
from conjoin.kernel.keys import shard_of_key
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.store.port import ShardSnapshot, ShardStore
from conjoin.store.rows import PositionRow

SOURCE = "generation"
"""Under this name they are noted on each shard of a store that was changed."""
MOST_NUMBERS = 8_000


class Generation(NamedTuple):
    """So many shards, the first of which hands out keys under the number `first`."""

    first: int
    shards: int


def moved(shard: int, shards: int) -> int:
    """Where the instances of a shard go when there are so many from now on."""
    return shard if shard < shards else shard % shards


class KeyHomes:
    """The shard of every number that was ever handed out."""

    def __init__(self, generations: Sequence[Generation]) -> None:
        self._newest = generations[-1]
        self._homes: list[int] = []
        for generation in generations:
            self._homes = [moved(home, generation.shards) for home in self._homes]
            self._homes += range(generation.shards)

    def shard_of_record(self, key: int) -> int:
        """Negative for keys of the catalog and what no key can be; one that nobody has made is looked for anywhere."""
        number = shard_of_key(key) if key <= LARGEST_INT64 else -1
        if 0 <= number < len(self._homes):
            return self._homes[number]
        return number if number < 0 else number % self._newest.shards

    def number_of(self, shard: int) -> int:
        return self._newest.first + shard


def homes_in(shard: ShardStore, shards: int) -> KeyHomes:
    """Those of a store with so many shards; each of them knows."""
    snapshot = shard.begin()
    try:
        return homes_of(snapshot, shards)
    finally:
        snapshot.abandon()


def homes_of(snapshot: ShardSnapshot, shards: int) -> KeyHomes:
    noted = snapshot.position(SOURCE)
    return KeyHomes(read_generations((PositionRow(SOURCE, *row) for row in noted.items()), shards))


def read_generations(positions: Iterable[PositionRow], shards: int) -> tuple[Generation, ...]:
    noted = sorted(row for row in positions if row.source == SOURCE)
    try:
        return tuple(Generation(*map(int, row.position.split())) for row in noted) or (Generation(0, shards),)
    except (TypeError, ValueError):
        raise StoreDamaged("a shard", f"its generations cannot be read: {[row.position for row in noted]}") from None


def written_generations(generations: Sequence[Generation]) -> list[PositionRow]:
    return [PositionRow(SOURCE, f"{number:04}", f"{its[0]} {its[1]}") for number, its in enumerate(generations, 1)]
