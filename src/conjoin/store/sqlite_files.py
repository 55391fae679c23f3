"""SQLite files: how one is made, opened, brought to the newest schema, and what its errors mean.

The write-ahead log is copied into the file beside the commits (`checkpoint`), not in them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conjoin.errors import StoreDamaged, StoreFailed, StoreTooNew
from conjoin.store import schema
from conjoin.store.sql import Dialect, pieces
from conjoin.store.tables import Table


def _glob(pattern: str) -> str:
    return "".join(it if stands or it not in "*?[" else f"[{it}]" for it, stands in pieces(pattern))


DIALECT = Dialect(
    texts="json_each(?) as many",
    numbers="json_each(?) as many",
    p="?",
    find="instr",
    schema={"int": "integer", "blob": "blob", "clustered": "without rowid"},
    like="glob",
    pattern=_glob,
)
WAIT_S = 30
_CHECKPOINT_PAGES = 20_000
"""So long a write-ahead log is copied by a commit after all."""
_CACHE_KB = 64 * 1024
"""What a large commit touches stays in memory until it is written; what does not would be written twice."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_MEANINGS = {
    sqlite3.SQLITE_FULL: "the disk is full, and nothing of this was written; make room and try again",
    sqlite3.SQLITE_BUSY: f"somebody else has been writing for more than {WAIT_S} seconds; try again",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; look at it and try again",
    sqlite3.SQLITE_READONLY: "it may not be written; give this user the right to and try again",
}


def put_statement(table: Table) -> str:
    """A whole row, new or in place of the one with its key."""
    places = ", ".join("?" * len(table.columns))
    return f"insert or replace into {table.name} ({', '.join(table.columns)}) values ({places})"


def rewrite_statement(table: Table) -> str:
    """The same for rows that are written again and again: replaced, a row would leave all indexes and come back."""
    places, keys = ", ".join("?" * len(table.columns)), ", ".join(table.key)
    changes = ", ".join(f"{column} = excluded.{column}" for column in table.columns if column not in table.key)
    into = f"insert into {table.name} ({', '.join(table.columns)}) values ({places})"
    return f"{into} on conflict ({keys}) do update set {changes}"


def create(file: Path, *, synced: bool = True) -> sqlite3.Connection:
    """A new file, or one that is there already. The journal mode is kept in the file."""
    with told(file):
        connection = sqlite3.connect(file, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        connection.execute(f"pragma synchronous = {'full' if synced else 'off'}")
        connection.execute("pragma journal_mode = wal")
        return connection


def connect(file: Path, *, synced: bool = True) -> sqlite3.Connection:
    """A connection whose transactions are begun and ended by hand."""
    if not file.is_file():
        raise StoreDamaged(str(file), "the file is not there")
    with told(file):
        # Not by its plain name, which would make an empty file if this one went away just now.
        address = f"{file.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, WAIT_S, isolation_level=None, check_same_thread=False, uri=True)
        connection.execute(f"pragma synchronous = {'full' if synced else 'off'}")
        connection.execute(f"pragma wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"pragma cache_size = -{_CACHE_KB}")
        return connection


def schema_version(connection: sqlite3.Connection, file: Path) -> int:
    """How many steps of the schema it has taken; it is refused if we do not know them all."""
    with told(file):
        taken = int(connection.execute("pragma user_version").fetchone()[0])
    if taken > schema.VERSION:
        raise StoreTooNew(str(file), taken, schema.VERSION)
    return taken


def take_steps(connection: sqlite3.Connection, file: Path, part: str) -> None:
    """The steps of the schema that the file has not taken yet, inside a transaction that writes."""
    taken = schema_version(connection, file)
    with told(file):
        for number, statements in schema.steps(part, taken, DIALECT.schema):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")


@contextmanager
def writing(connection: sqlite3.Connection, file: Path) -> Iterator[None]:
    """A transaction that nobody else writes beside: all of it or nothing."""
    with told(file):
        connection.execute("begin immediate")
        try:
            yield
            connection.execute("commit")
        finally:
            # A failed statement may have ended the transaction by itself.
            if connection.in_transaction:
                connection.execute("rollback")


def checkpoint(file: Path) -> None:
    """Copy what is committed from the write-ahead log into the file, as far as nobody still reads the old."""
    connection = connect(file)
    try:
        with told(file):
            connection.execute("pragma wal_checkpoint(passive)")
    finally:
        connection.close()


class told:  # noqa: N801 - read as a verb: with told(file)
    """What SQLite says, as an error of ours that names the file and what to do."""

    __slots__ = ("_file",)

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, sqlite3.DatabaseError):
            raise self._error(error) from error

    def _error(self, error: sqlite3.DatabaseError) -> StoreDamaged | StoreFailed:
        # The lower byte is the kind, the rest the details.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in _DAMAGED:
            return StoreDamaged(str(self._file), str(error))
        return StoreFailed(f"{self._file}: {_MEANINGS.get(kind, str(error))}")
