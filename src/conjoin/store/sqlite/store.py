"""SQLite: a data directory with `catalog.db` and one file a shard; a person can open any of them and look.

A store object may be used from several threads, one thread a shard. Several processes may open the same directory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conjoin.errors import StoreExists
from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, CatalogStore, Facts, RowOrder
from conjoin.store.readable import UNREADABLE, Looking, Readable
from conjoin.store.sql.snapshot import places_of
from conjoin.store.sqlite.catalog import SqliteCatalog, make_catalog
from conjoin.store.sqlite.data_folder import CATALOG, make_folder, require_store
from conjoin.store.sqlite.files import DIALECT, checkpoint, connect, translated_errors
from conjoin.store.sqlite.frozen import FrozenFiles, frozen_files
from conjoin.store.sqlite.in_use import folder_held
from conjoin.store.sqlite.shard import SqliteShard
from conjoin.store.tables import Table


class SqliteStore:
    def __init__(self, folder: Path, *, synced: bool = True) -> None:
        require_store(folder)
        self.folder = folder
        self.address = str(folder.absolute())
        self.lists_go_on = False
        self.readable = Readable()
        self._remains: TemporaryDirectory[str] | None = None
        self._catalog = SqliteCatalog(folder / CATALOG, synced=synced)
        try:
            self.facts = self._catalog.facts(self._migrate_shards)
        except BaseException:  # whatever it was, no file stays open
            self._catalog.close()
            raise
        self.catalog: CatalogStore = self._catalog
        self._shards = [
            SqliteShard(_shard_file(folder, index), index, synced=synced) for index in range(self.facts.shards)
        ]

    @classmethod
    def create(cls, folder: Path, facts: Facts, *, synced: bool = True) -> "SqliteStore":
        """What a crash left half made is made anew."""
        make_folder(folder)
        make_catalog(folder / CATALOG, facts, lambda: _make_shards(folder, facts.shards, synced), synced=synced)
        return cls(folder, synced=synced)

    @classmethod
    def temporary(cls, facts: Facts) -> "SqliteStore":
        """For tests: gone when it is closed, and nothing waits for the disk."""
        folder = TemporaryDirectory(prefix="conjoin-")
        store = cls.create(Path(folder.name), facts, synced=False)
        store._remains = folder
        return store

    def shard(self, index: int) -> SqliteShard:
        return self._shards[index]

    def rows(
        self,
        table: Table,
        where: Mapping[str, Any],
        after: tuple[Any, ...] | None,
        limit: int,
        order: RowOrder = BY_KEY,
    ) -> Iterable[Any]:
        """Catalog tables too. Rows that are no state have keys of their own in each shard and come in one page."""
        assert after is None or table in t.PAGED, f"{table.name} has no keys to page by"
        listing = DIALECT.list_rows(table, where, after, limit, order)
        by = attrgetter(*places_of(table, order))
        parts = [_listed(file, table, *listing) for file in self._files(table)]
        if self.lists_go_on and table not in t.CATALOG:
            looking = Looking(self.readable, where)
            found = merge(*(looking.rows(*part) for part in enumerate(parts)), key=by, reverse=order.backward)
            return looking.whole(list(islice(found, limit)))
        return list(islice(merge(*parts, key=by, reverse=order.backward), limit))

    def count(self, table: Table, where: Mapping[str, Any], most: int) -> int:
        found = 0
        for index, file in enumerate(self._files(table)):
            try:
                [(its,)] = _asked(file, *DIALECT.count_rows(table, where, most - found))
            except UNREADABLE as error:
                if not self.lists_go_on or table in t.CATALOG:
                    raise
                self.readable.failed(index, error)
                continue
            found += its
        return found

    def _files(self, table: Table) -> list[Path]:
        return [self.folder / CATALOG] if table in t.CATALOG else [shard.file for shard in self._shards]

    def frozen(self) -> AbstractContextManager[FrozenFiles]:
        """All shards and the catalog at one instant. Nobody waits longer than it takes to look at each."""
        return frozen_files(self.folder / CATALOG, [shard.file for shard in self._shards])

    def held(self, task: str, *, alone: bool = False) -> AbstractContextManager[None]:
        return folder_held(self.folder, task, alone=alone)

    def check_held(self) -> None:
        """The lock of a file lasts as long as its process."""

    def checkpoint(self, index: int) -> None:
        """Copy a shard's write-ahead log into its file; beside the commits, in a thread of the caller's."""
        checkpoint(self._shards[index].file)

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
        self._catalog.close()
        if self._remains is not None:
            self._remains.cleanup()

    def _migrate_shards(self, count: int) -> None:
        for index in range(count):
            SqliteShard(_shard_file(self.folder, index), index).migrate()


def _shard_file(folder: Path, index: int) -> Path:
    return folder / f"shard-{index:02}.db"


def _make_shards(folder: Path, count: int, synced: bool) -> None:
    for left in sorted(folder.glob("shard-*.db")):
        _remove_unused(left)
    for index in range(count):
        SqliteShard(_shard_file(folder, index), index, synced=synced).create()


def _remove_unused(file: Path) -> None:
    """A shard without a catalog is what a crash left, unless something was ever committed to it."""
    with closing(connect(file)) as connection, translated_errors(file):
        tables = connection.execute("select count(*) from sqlite_master where name = 'shard'").fetchone()[0]
        used = connection.execute("select max(version) from shard").fetchone()[0] if tables else 0
    if used:
        raise StoreExists(f"{file} holds commits, but its catalog is gone: restore the store from a backup")
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)


def _listed(file: Path, table: Table, statement: str, parameters: list[Any]) -> Iterator[Any]:
    yield from map(table.row._make, _asked(file, statement, parameters))


def _asked(file: Path, statement: str, parameters: list[Any]) -> Iterator[tuple[Any, ...]]:
    with closing(connect(file)) as connection, translated_errors(file):
        bound = [json.dumps(value) if isinstance(value, list) else value for value in parameters]
        yield from connection.execute(statement, bound)
