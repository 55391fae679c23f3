"""How far each receiver was told, noted on the shard that it was told of, in commits of their own."""

from collections.abc import Mapping

from conjoin.runtime.run.log import without_requests
from conjoin.runtime.run.run import commit_changes
from conjoin.store import tables as t
from conjoin.store.port import CatalogStore, Changes, ShardSnapshot, ShardStore
from conjoin.store.rows import PositionRow

SOURCE = "notices"


def read_positions(shard: ShardStore) -> tuple[int, int, Mapping[str, str]]:
    """The version and the time of the shard, and what is noted there."""
    snapshot = shard.begin()
    try:
        return snapshot.head.version, snapshot.head.time, dict(snapshot.position(SOURCE))
    finally:
        snapshot.abandon()


def note_positions(shard: ShardStore, catalog: CatalogStore, reached: Mapping[str, str]) -> None:
    def noted(snapshot: ShardSnapshot) -> Changes:
        changes = without_requests(snapshot, catalog.version())
        changes.put[t.POSITION] = [PositionRow(SOURCE, part, position) for part, position in reached.items()]
        return changes

    commit_changes(shard, noted)
