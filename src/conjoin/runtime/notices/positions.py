"""How far each receiver was told, noted on the shard that it was told of, in commits of their own."""

from collections.abc import Mapping

from conjoin.runtime.run.log import block_of
from conjoin.runtime.upkeep.removal import RACES_BEFORE_LOCKING
from conjoin.store import tables as t
from conjoin.store.port import CatalogStore, Changes, ShardStore
from conjoin.store.rows import LogRow, PositionRow

SOURCE = "notices"


def read_positions(shard: ShardStore) -> tuple[int, int, Mapping[str, str]]:
    """The version and the time of the shard, and what is noted there."""
    snapshot = shard.begin()
    try:
        return snapshot.head.version, snapshot.head.time, dict(snapshot.position(SOURCE))
    finally:
        snapshot.abandon()


def note_positions(shard: ShardStore, catalog: CatalogStore, reached: Mapping[str, str]) -> None:
    races = 0
    while not _try(shard, catalog, reached, locked=races >= RACES_BEFORE_LOCKING):
        races += 1


def _try(shard: ShardStore, catalog: CatalogStore, reached: Mapping[str, str], *, locked: bool) -> bool:
    catalog_version = catalog.version()
    snapshot = shard.begin(locked=locked)
    try:
        head = snapshot.head._replace(version=snapshot.head.version + 1)
        changes = Changes(head)
        # A commit like any other: replaying the log finds that nothing was done.
        changes.put[t.LOG] = [LogRow(head.version, catalog_version, head.time, block_of([]))]
        changes.put[t.POSITION] = [PositionRow(SOURCE, part, position) for part, position in reached.items()]
    except BaseException:  # whatever it was, the snapshot must not stay open
        snapshot.abandon()
        raise
    return snapshot.commit(changes)
