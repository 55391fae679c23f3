"""All files of a SQLite store at one instant, for a backup while others go on committing.

For a moment nobody may write any of them, and in that moment a read transaction is begun on each. From then on the
readers keep what they saw, and what the others commit meanwhile stays in the write-ahead logs.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from conjoin.store.port import Head
from conjoin.store.sqlite.files import DIALECT, connect, translated_errors, writing
from conjoin.store.sqlite.shard import read_head
from conjoin.store.tables import Table


class FrozenFiles:
    """Rows are streamed; nothing is held in memory."""

    def __init__(self, catalog: "_Reader", shards: Sequence["_Reader"]) -> None:
        self._catalog = catalog
        self._shards = shards

    def head(self, shard: int) -> Head:
        reader = self._shards[shard]
        with translated_errors(reader.file):
            return read_head(reader.connection, reader.file)

    def rows(self, shard: int, table: Table) -> Iterator[Any]:
        return self._shards[shard].rows(table)

    def catalog_rows(self, table: Table) -> Iterator[Any]:
        return self._catalog.rows(table)


class _Reader:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.connection: sqlite3.Connection = connect(file)

    def look(self) -> None:
        """A read transaction begins with its first read."""
        with translated_errors(self.file):
            self.connection.execute("begin")
            self.connection.execute("select count(*) from sqlite_master").fetchone()

    def rows(self, table: Table) -> Iterator[Any]:
        statement, parameters = DIALECT.list_rows(table)
        with translated_errors(self.file):
            yield from map(table.row._make, self.connection.execute(statement, parameters))

    def close(self) -> None:
        self.connection.close()


@contextmanager
def frozen_files(catalog: Path, shards: Sequence[Path]) -> Iterator[FrozenFiles]:
    """The files are stopped in their order, so that two who freeze at once do not wait for each other."""
    with ExitStack() as open_readers:
        readers = [open_readers.enter_context(closing(_Reader(file))) for file in (catalog, *shards)]
        with ExitStack() as stopped:
            for reader in readers:
                writer = stopped.enter_context(closing(connect(reader.file)))
                stopped.enter_context(writing(writer, reader.file))
            for reader in readers:
                reader.look()
        yield FrozenFiles(readers[0], readers[1:])
