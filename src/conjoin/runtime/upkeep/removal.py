"""Removal: rows that are no longer needed are removed from one shard, a bounded number in each commit.

These are commits like any other, with a version and an empty block in the log, so nothing else need know of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Literal

from conjoin.errors import InputError
from conjoin.runtime.run.log import without_requests
from conjoin.runtime.run.run import commit_changes
from conjoin.store import tables as t
from conjoin.store.port import Changes, ShardSnapshot, ShardStore, Store
from conjoin.store.rows import PositionRow
from conjoin.store.tables import Table

AT_ONCE = 500


class HouseKeeper:
    """For one thread, with a connection of its own. Each number that it yields is a commit that removed so many."""

    def __init__(self, store: Store, index: int, at_once: int = AT_ONCE) -> None:
        self.shard = store.shard(index).reader()
        self._catalog = store.catalog
        self._at_once = at_once

    def remove(
        self, table: Table, keys: Sequence[tuple[Any, ...]], cleaned: PositionRow | None = None
    ) -> Iterator[int]:
        """`cleaned`: up to when; it is noted unless it was further already."""
        for start in range(0, len(keys), self._at_once):
            some = list(keys[start : start + self._at_once])
            commit_changes(self.shard, partial(self._changes, table, some, cleaned))
            yield len(some)

    def _changes(
        self, table: Table, keys: list[tuple[Any, ...]], cleaned: PositionRow | None, snapshot: ShardSnapshot
    ) -> Changes:
        changes = without_requests(snapshot, self._catalog.version())
        changes.drop[table] = keys
        if table is t.MESSAGE:
            changes.drop[t.EVIDENCE] = keys
        if cleaned is not None:
            before = snapshot.position(cleaned.source).get(cleaned.part, "0")
            changes.put |= {t.POSITION: [cleaned]} if int(before) < int(cleaned.position) else {}
        return changes

    def remove_log(self, column: Literal["version", "at"], end: int) -> Iterator[int]:
        """Its head, before a version or an instant. The last block stays: by it a backup is known to be of it."""
        last = version_of(self.shard)
        while True:
            rows = self.shard.log(0, self._at_once)
            versions = [(row.version,) for row in rows if row.version < last and getattr(row, column) < end]
            if not versions:
                return
            yield from self.remove(t.LOG, versions)

    def close(self) -> None:
        self.shard.close()


def compact_log(store: Store, backup: Store) -> int:
    """Remove the head of the log that a backup of this store makes superfluous: it replays from there."""
    problems = [text for index in range(store.facts.shards) if (text := _stranger(store, backup, index))]
    if store.facts.shards != backup.facts.shards or problems:
        raise InputError(problems or ["the backup has another number of shards: it is none of this store"])
    removed = 0
    for index in range(store.facts.shards):
        with closing(HouseKeeper(store, index)) as keeper:
            removed += sum(keeper.remove_log("version", version_of(backup.shard(index)) + 1))
    return removed


def version_of(shard: ShardStore) -> int:
    with shard.begin() as snapshot:
        return snapshot.head.version


def _stranger(store: Store, backup: Store, index: int) -> str | None:
    """The block of the backup's last commit must be the one that the store has under that version."""
    version = version_of(backup.shard(index))
    theirs = next(backup.shard(index).log(version - 1, 1), None)
    ours = next(store.shard(index).log(version - 1, 1), None)
    if ours is None or ours == theirs or ours.version > version:
        return None
    return f"the backup is none of this store: version {version} of shard {index} is another commit"
