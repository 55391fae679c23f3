"""The catalog on SQLite: `catalog.db`. Its facts are written last when a store is made, so they say that it is whole.

All threads of a process share one connection, one after the other.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from time import time_ns
from typing import Any

from conjoin.errors import StoreExists
from conjoin.store import schema
from conjoin.store import tables as t
from conjoin.store.catalog import CATALOG_QUERIES, CatalogStore
from conjoin.store.port import Facts
from conjoin.store.sqlite import files
from conjoin.store.sqlite.data_folder import missing
from conjoin.store.tables import Table

_SQL = {name: text.format(p="?") for name, text in CATALOG_QUERIES.items()}
_PUT = {table: files.put_statement(table) for table in t.CATALOG}


class SqliteCatalog(CatalogStore):
    def __init__(self, file: Path, *, synced: bool = True) -> None:
        self.place = str(file)
        self._file = file
        self._errors = files.translated_errors(file)
        self._turn = Lock()
        self._connection = files.connect(file, synced=synced)

    def facts(self, migrate_shards: Callable[[int], None]) -> Facts:
        """Those of a whole store, brought to the newest schema if it is older: its shards first, the catalog last."""
        if files.schema_version(self._connection, self._file) < schema.VERSION:
            with self._turn, files.writing(self._connection, self._file):
                if files.schema_version(self._connection, self._file) == 0:
                    refuse_other_program(self._connection, self._file)
                    raise missing(self._file.parent)
                found = self._connection.execute(_SQL["facts"]).fetchone()
                if found is None:
                    raise missing(self._file.parent)
                migrate_shards(found[0])
                files.take_steps(self._connection, self._file, "catalog")
        facts = self._facts()
        if facts is None:
            raise missing(self._file.parent)
        return Facts(*facts)

    def append(self, version: int, put: Mapping[Table, Sequence[Any]]) -> bool:
        with self._turn, files.writing(self._connection, self._file):
            moved = self._connection.execute(_SQL["move_version"], (version,)).rowcount == 1
            for table, rows in put.items() if moved else ():
                self._connection.executemany(_PUT[table], rows)
        return moved

    def now(self) -> int:
        """All who share a file are on one machine."""
        return time_ns() // 1_000

    def close(self) -> None:
        with self._turn:
            self._connection.close()

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._turn, self._errors:
            return self._connection.execute(_SQL[statement], parameters).fetchall()

    def _write(self, statement: str, *parameters: Any) -> int:
        with self._turn, files.writing(self._connection, self._file):
            return self._connection.execute(_SQL[statement], parameters).rowcount


def make_catalog(file: Path, facts: Facts, make_shards: Callable[[], None], *, synced: bool) -> None:
    """All in one transaction, so that of two who make a store in one folder the second is refused."""
    if file.exists():
        with closing(files.connect(file)) as connection, files.translated_errors(file):
            refuse_other_program(connection, file)
    with closing(files.create(file, synced=synced)) as connection, files.writing(connection, file):
        files.take_steps(connection, file, "catalog")
        if connection.execute(_SQL["facts"]).fetchone() is not None:
            raise StoreExists(f"{file.parent} holds a store already: open it, or choose another place")
        make_shards()
        connection.execute(_SQL["write_facts"], (facts.shards, facts.profile, int(facts.unique_business_ids)))
        connection.execute(_SQL["first_version"])


def refuse_other_program(connection: sqlite3.Connection, file: Path) -> None:
    """A catalog that was never finished is empty: what has tables but none of our versions is not ours."""
    if not files.schema_version(connection, file) and connection.execute("select 1 from sqlite_master").fetchone():
        raise StoreExists(f"{file} is a database of another program: name an empty or a new folder")
