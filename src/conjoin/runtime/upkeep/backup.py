"""Backup and restore. A backup is a data directory like any other: it can be opened, looked at and replayed.

It holds all shards, their logs and outboxes as they were at one instant, whichever database they are in, and is made
while others write. It appears under its name when it is whole. A store is restored into an empty place only.
"""

from contextlib import closing
from pathlib import Path

from conjoin.errors import StoreExists, StoreMissing
from conjoin.runtime.upkeep.copying import OnProgress, Tallies, copy_store, made_whole
from conjoin.runtime.upkeep.removal import version_of
from conjoin.store.opening import create_store, open_store
from conjoin.store.port import Facts, Store
from conjoin.store.sqlite.store import SqliteStore

TASK = "conjoin store restore"


def backup_store(
    store: Store, folder: Path, on_progress: OnProgress = lambda text: None, task: str = "conjoin store backup"
) -> Tallies:
    with made_whole(folder) as part, closing(SqliteStore.create(part, store.facts)) as copy:
        return copy_store(store, copy, on_progress, task)


def restore_store(folder: Path, address: str | Path, on_progress: OnProgress = lambda text: None) -> Tallies:
    with closing(SqliteStore(folder)) as copy:
        try:
            found = open_store(address)
        except StoreMissing:
            if isinstance(address, Path):
                return backup_store(copy, address, on_progress, TASK)
            with closing(create_store(address, copy.facts)) as store:
                return copy_store(copy, store, on_progress, TASK)
        with closing(found) as store, store.held(TASK, alone=True):
            _refuse_unless_empty(store, copy.facts)
            return copy_store(copy, store, on_progress, TASK)


def _refuse_unless_empty(store: Store, facts: Facts) -> None:
    if store.catalog.version() or any(version_of(store.shard(index)) for index in range(store.facts.shards)):
        raise StoreExists(f"{store.address} holds a store with something in it: restore into an empty place")
    if store.facts != facts:
        raise StoreExists(
            f"{store.address} was made with {_in_words(store.facts)}, the backup with {_in_words(facts)}:"
            " restore where there is no store yet"
        )


def _in_words(facts: Facts) -> str:
    ids = ", unique business ids" if facts.unique_business_ids else ""
    shards = "1 shard" if facts.shards == 1 else f"{facts.shards} shards"
    return f"{shards}, profile {facts.profile}{ids}"
