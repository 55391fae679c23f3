"""SQLite: a data directory with `catalog.db` and one file a shard; a person can open any of them and look.

A store object may be used from several threads, one thread a shard. Several processes may open the same directory. For
a backup all writers are stopped for a moment, in which a read transaction is begun on each file: the readers keep what
they saw, and what others commit from then on stays in the write-ahead logs.
"""

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conjoin.errors import ConjoinError, StoreDamaged, StoreExists, StoreTooNew
from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, Facts, Head, RowOrder, Where
from conjoin.store.sql.dialect import places_of
from conjoin.store.sqlite.catalog import SqliteCatalog, make_catalog
from conjoin.store.sqlite.data_folder import CATALOG, folder_held, make_folder, require_store
from conjoin.store.sqlite.files import DIALECT, bound, connect, translated_errors, writing
from conjoin.store.sqlite.shard import SqliteShard, read_head
from conjoin.store.tables import Table

UNREADABLE = (StoreDamaged, StoreTooNew)
"""These stay until an operator repairs the shard; anything else may be over when the list is requested again."""
_log = logging.getLogger(__name__)


class SqliteStore:
    def __init__(self, folder: Path, *, synced: bool = True) -> None:
        require_store(folder)
        self.folder = folder
        self.address = str(folder.absolute())
        self.lists_go_on = False
        self.broken: dict[int, ConjoinError] = {}
        """By shard: why it could not be read when it was last tried. For all threads, changed one item at a time."""
        self._temporary: TemporaryDirectory[str] | None = None
        self.catalog = SqliteCatalog(folder / CATALOG, synced=synced)
        try:
            self.facts = self.catalog.facts(self._migrate_shards)
        except BaseException:  # whatever it was, no file stays open
            self.catalog.close()
            raise
        self._shards = [
            SqliteShard(_shard_file(folder, index), index, synced=synced) for index in range(self.facts.shards)
        ]

    @classmethod
    def create(cls, folder: Path, facts: Facts, *, synced: bool = True) -> "SqliteStore":
        """What a crash left incomplete is made anew."""

        def make_shards() -> None:
            for left in sorted(folder.glob("shard-*.db")):
                _remove_unused(left)
            for index in range(facts.shards):
                SqliteShard(_shard_file(folder, index), index, synced=synced).create()

        make_folder(folder)
        make_catalog(folder / CATALOG, facts, make_shards, synced=synced)
        return cls(folder, synced=synced)

    @classmethod
    def temporary(cls, facts: Facts) -> "SqliteStore":
        """For tests: gone when it is closed, and nothing waits for the disk."""
        folder = TemporaryDirectory(prefix="conjoin-")
        store = cls.create(Path(folder.name), facts, synced=False)
        store._temporary = folder
        return store

    def shard(self, index: int) -> SqliteShard:
        return self._shards[index]

    def rows(
        self, table: Table, where: Where, after: tuple[Any, ...] | None, limit: int, order: RowOrder = BY_KEY
    ) -> Iterable[Any]:
        """Catalog tables too. Rows that are no state have keys of their own in each shard and come in one page.

        A record that is looked up by its key is never reported as missing because its shard could not be read.
        """
        assert after is None or table in t.PAGED, f"{table.name} has no keys to page by"
        statement, parameters = DIALECT.list_rows(table, where, after, limit, order)
        failed: list[ConjoinError] = []

        def rows_of(index: int, file: Path) -> Iterator[Any]:
            try:
                yield from map(table.row._make, _read(file, statement, parameters))
            except UNREADABLE as error:
                if not self._skip(table, index, error):
                    raise
                failed.append(error)
            else:
                if table not in t.CATALOG and self.broken.pop(index, None) is not None:
                    _log.warning("shard %s can be read again", index)

        parts = [rows_of(*part) for part in enumerate(self._files(table))]
        merged = merge(*parts, key=attrgetter(*places_of(table, order)), reverse=order.backward)
        found = list(islice(merged, limit))
        keys = where.get("key")
        wanted = len(keys) if isinstance(keys, tuple) else int(isinstance(keys, int))
        if failed and len(found) < wanted:
            raise failed[-1]
        return found

    def count(self, table: Table, where: Where, most: int) -> int:
        found = 0
        for index, file in enumerate(self._files(table)):
            try:
                [(count,)] = _read(file, *DIALECT.count_rows(table, where, most - found))
                found += count
            except UNREADABLE as error:
                if not self._skip(table, index, error):
                    raise
        return found

    def _skip(self, table: Table, index: int, error: ConjoinError) -> bool:
        """Lists of a server go on without a shard that cannot be read, and the log says which one."""
        if not self.lists_go_on or table in t.CATALOG:
            return False
        if index not in self.broken:
            _log.error("lists leave out shard %s: %s", index, error)
        self.broken[index] = error
        return True

    def _files(self, table: Table) -> list[Path]:
        return [self.folder / CATALOG] if table in t.CATALOG else [shard.file for shard in self._shards]

    @contextmanager
    def frozen(self) -> Iterator["FrozenFiles"]:
        """Files are stopped in their order, so that two who freeze at the same time do not wait for each other."""
        files = [self.folder / CATALOG, *(shard.file for shard in self._shards)]
        with ExitStack() as opened:
            readers = [(opened.enter_context(closing(connect(file))), file) for file in files]
            with ExitStack() as stopped:
                for file in files:
                    stopped.enter_context(writing(stopped.enter_context(closing(connect(file))), file))
                for connection, file in readers:
                    with translated_errors(file):
                        # A read transaction begins with its first read.
                        connection.execute("begin")
                        connection.execute("select count(*) from sqlite_master").fetchone()
            yield FrozenFiles(readers)

    def held(self, task: str, *, alone: bool = False) -> AbstractContextManager[None]:
        return folder_held(self.folder, task, alone=alone)

    def check_held(self) -> None:
        """The lock of a file lasts as long as its process."""

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
        self.catalog.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _migrate_shards(self, count: int) -> None:
        for index in range(count):
            SqliteShard(_shard_file(self.folder, index), index).migrate()


class FrozenFiles:
    """The files of a store, catalog first, each in a read transaction. Rows are streamed."""

    def __init__(self, readers: Sequence[tuple[sqlite3.Connection, Path]]) -> None:
        self._catalog, *self._shards = readers

    def head(self, shard: int) -> Head:
        connection, file = self._shards[shard]
        with translated_errors(file):
            return read_head(connection, file)

    def rows(self, shard: int, table: Table) -> Iterator[Any]:
        return _whole_table(*self._shards[shard], table)

    def catalog_rows(self, table: Table) -> Iterator[Any]:
        return _whole_table(*self._catalog, table)


def _whole_table(connection: sqlite3.Connection, file: Path, table: Table) -> Iterator[Any]:
    statement, parameters = DIALECT.list_rows(table)
    with translated_errors(file):
        yield from map(table.row._make, connection.execute(statement, parameters))


def _shard_file(folder: Path, index: int) -> Path:
    return folder / f"shard-{index:02}.db"


def _remove_unused(file: Path) -> None:
    """A shard without a catalog is what a crash left, unless something was ever committed to it."""
    with closing(connect(file)) as connection, translated_errors(file):
        tables = connection.execute("select count(*) from sqlite_master where name = 'shard'").fetchone()[0]
        used = connection.execute("select max(version) from shard").fetchone()[0] if tables else 0
    if used:
        raise StoreExists(f"{file} holds commits, but its catalog is gone: restore the store from a backup")
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)


def _read(file: Path, statement: str, parameters: list[Any]) -> Iterator[tuple[Any, ...]]:
    with closing(connect(file)) as connection, translated_errors(file):
        yield from connection.execute(statement, bound(parameters))
