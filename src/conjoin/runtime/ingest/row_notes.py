"""Rows that are noted one by one: a write whose tasks commit on their own has no order by which one note could do.

A row is taken once, as its note is in its commit. When all rows of a write are committed, the furthest of each of its
parts says the same of all of them, and their notes go, a bounded number in each commit. Until then both are looked at.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

from conjoin.runtime.run.batches import place_of_row, rows_source
from conjoin.runtime.run.log import without_requests
from conjoin.runtime.run.run import commit_changes
from conjoin.store import tables as t
from conjoin.store.port import Changes, ShardSnapshot, ShardStore, Store
from conjoin.store.rows import PositionRow

AT_ONCE = 5_000


def has_notes(store: Store, source: str) -> bool:
    """Has a write of this source committed rows, and not come to its end?"""
    for index in range(store.facts.shards):
        with closing(_names(store.shard(index), source)) as names:
            if next(names, None) is not None:
                return True
    return False


def settle_notes(store: Store, source: str, reached: Mapping[str, int]) -> None:
    """All rows of a write are committed: in each part it has reached this place. What lies behind it, or in other
    parts, is of another write, which still runs or broke off."""
    for index in range(store.facts.shards):
        shard = store.shard(index)
        while names := _some(shard, source, reached):
            commit_changes(shard, partial(_settled, store.catalog.version(), source, names))


def _some(shard: ShardStore, source: str, reached: Mapping[str, int]) -> list[str]:
    with closing(_names(shard, source)) as names:
        return list(islice((name for name in names if _is_reached(name, reached)), AT_ONCE))


def _is_reached(name: str, reached: Mapping[str, int]) -> bool:
    part, place = place_of_row(name)
    return place <= reached.get(part, -1)


def _names(shard: ShardStore, source: str) -> Generator[str]:
    found: Any = shard.scan(t.POSITION.name, ("part",), [("source", "=", rows_source(source))])
    with closing(found):
        for (name,) in found:
            yield name


def _settled(catalog_version: int, source: str, names: Sequence[str], snapshot: ShardSnapshot) -> Changes:
    reached: dict[str, int] = {}
    for part, place in map(place_of_row, names):
        reached[part] = max(place, reached.get(part, -1))
    before = snapshot.positions(source, sorted(reached))
    changes = without_requests(snapshot, catalog_version)
    changes.put[t.POSITION] = [
        PositionRow(source, part, str(place)) for part, place in reached.items() if place > int(before.get(part, -1))
    ]
    changes.drop[t.POSITION] = [(rows_source(source), name) for name in names]
    return changes
