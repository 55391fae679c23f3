"""SQLite files: how one is made, opened, brought to the newest schema, and what its errors mean."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conjoin.errors import ConjoinError, OutcomeUnknown, StoreDamaged, StoreFailed, StoreTooNew
from conjoin.store import reading, schema
from conjoin.store.sql.dialect import SqlDialect, pieces
from conjoin.store.sqlite.data_folder import BROKEN, FULL, READ_ONLY, is_full, system_error
from conjoin.store.tables import CLOSED_WAIT, Table


def _glob(pattern: str) -> str:
    return "".join(it if stands or it not in "*?[" else f"[{it}]" for it, stands in pieces(pattern))


DIALECT = SqlDialect(
    texts="json_each(?) as many",
    numbers="json_each(?) as many",
    p="?",
    find="instr",
    # Those that do not have it read the text, and count characters.
    size="octet_length" if sqlite3.sqlite_version_info >= (3, 43) else "length",
    schema={
        **{"int": "integer", "blob": "blob", "clustered": "without rowid"},
        "children_of_said": "json_each(inside.said, '$[4][1]') as child",
        "child": "child.value",
        "key_of_said": "json_extract(said, '$[0]')",
        "called_by_said": "json_extract(said, '$[9]')",
        "empty": "''",
        "short_tenant_id": "tenant_id",
        "short_wait_on": "wait_on",
        "closed_waits": "json_each(i.closed_waits) as closed",
        **{f"closed_{name}": f"json_extract(closed.value, '$[{place}]')" for place, name in enumerate(CLOSED_WAIT)},
    },
    lookup="cross join {table} as t where {condition}",
    first="cross join {table} as t where t.key in (select t.key from {table} as t where {condition})",
    by_part="indexed by message_key",
    like="glob",
    pattern=_glob,
)
WAIT_S = 30
_PAGE_BYTES = 2_048
"""Of new files. What a message touches lies on pages of its own: of larger ones it would write more than it changes."""
_CHECKPOINT_PAGES = 20_000
"""So long a write-ahead log is copied by a commit after all; `checkpointing.py` keeps it shorter."""
_CACHE_KB = 64 * 1024
"""What a large commit touches stays in memory until it is written; what does not would be written twice."""
_STEPS_BETWEEN_LOOKS = 4_000
"""Of SQLite's machine: less than a millisecond, unless the rows are very long."""
_OF_VALUES = (sqlite3.DataError, sqlite3.IntegrityError)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_OTHER_SCHEMA = ("no such table", "no such column", "table ")
"""Our statements fit our schema; a file that they do not fit is not what we wrote."""
_MEANINGS = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_BUSY: f"somebody else has been writing for more than {WAIT_S} seconds; try again",
    sqlite3.SQLITE_IOERR: BROKEN,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_PERM: READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; look at the rights of the file and at the limit of open files",
}


def bound(parameters: list[Any]) -> list[Any]:
    """A list is the parameter that makes the table `many`."""
    return [json.dumps(value) if isinstance(value, list) else value for value in parameters]


def put_statement(table: Table, rewritten: bool = False) -> str:
    """A whole row, new or in place of the one with its key.

    `rewritten`: rows are written again and again. Replaced, one would leave all indexes and come back.
    """
    into = f"into {table.name} ({', '.join(table.columns)}) values ({', '.join('?' * len(table.columns))})"
    if not rewritten:
        return f"insert or replace {into}"
    changes = ", ".join(f"{column} = excluded.{column}" for column in table.columns if column not in table.key)
    return f"insert {into} on conflict ({', '.join(table.key)}) do update set {changes}"


def create(file: Path, *, synced: bool = True) -> sqlite3.Connection:
    """A new file, or one that is there already. The journal mode is kept in the file."""
    with translated_errors(file):
        connection = sqlite3.connect(file, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        connection.execute(f"pragma synchronous = {'full' if synced else 'off'}")
        # Before anything is written; a file that is there already stays as it is.
        connection.execute(f"pragma page_size = {_PAGE_BYTES}")
        connection.execute("pragma journal_mode = wal")
        return connection


def connect(file: Path, *, synced: bool = True) -> sqlite3.Connection:
    """A connection whose transactions are begun and ended by hand."""
    with translated_errors(file):
        if not file.is_file():
            raise StoreDamaged(str(file), "the file is not there")
        # Not by its plain name, which would make an empty file if this one went away just now.
        address = f"{file.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, WAIT_S, isolation_level=None, check_same_thread=False, uri=True)
        connection.execute(f"pragma synchronous = {'full' if synced else 'off'}")
        connection.execute(f"pragma wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"pragma cache_size = -{_CACHE_KB}")
        if reading.current() is not None:
            make_stoppable(connection)
        return connection


def make_stoppable(connection: sqlite3.Connection) -> None:
    """Its statements end when the reading of the thread that runs them is over."""
    reading.check()
    connection.set_progress_handler(reading.is_over, _STEPS_BETWEEN_LOOKS)


def schema_version(connection: sqlite3.Connection, file: Path) -> int:
    """How many steps of the schema it has taken; it is refused if we do not know them all."""
    with translated_errors(file):
        taken = int(connection.execute("pragma user_version").fetchone()[0])
    if taken > schema.VERSION:
        raise StoreTooNew(str(file), taken, schema.VERSION)
    return taken


def take_steps(connection: sqlite3.Connection, file: Path, part: str) -> None:
    """The steps of the schema that the file has not taken yet, inside a transaction that writes."""
    taken = schema_version(connection, file)
    with translated_errors(file):
        for number, statements in schema.steps(part, taken, DIALECT.schema):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")


@contextmanager
def writing(connection: sqlite3.Connection, file: Path) -> Iterator[None]:
    """A transaction beside which no other writes: all of it or nothing."""
    with translated_errors(file):
        connection.execute("begin immediate")
        try:
            yield
            try:
                connection.execute("commit")
            except sqlite3.OperationalError as error:
                # SQLite has written it, and cannot sync: it may be there after the next start.
                if is_doubtful(error):
                    raise OutcomeUnknown(f"{file}: the disk failed in the middle of a commit ({error})") from error
                raise
        finally:
            # A failed statement may have ended the transaction by itself.
            if connection.in_transaction:
                connection.execute("rollback")


def is_doubtful(error: sqlite3.OperationalError) -> bool:
    """Of an error of COMMIT. A full disk is no doubt: what marks a commit is the last thing that is written."""
    return (error.sqlite_errorcode & 0xFF) == sqlite3.SQLITE_IOERR


def checkpoint(connection: sqlite3.Connection, file: Path) -> None:
    """Copy what is committed from the write-ahead log into the file, as far as no reader needs the old.

    When all of it is copied, the next commit begins the log anew, and it stays short.
    """
    with translated_errors(file):
        connection.execute("pragma wal_checkpoint(passive)").fetchone()


class translated_errors:  # noqa: N801 - used as a function: with translated_errors(file)
    """Errors of SQLite as errors of ours, which name the file and what to do."""

    __slots__ = ("_file",)

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        # What it does not take as a value is no failing of the store, but a mistake of ours about one item.
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, _OF_VALUES):
            raise self._error(error) from error
        if isinstance(error, OSError):
            raise system_error(self._file, error) from error

    def _error(self, error: sqlite3.DatabaseError) -> ConjoinError:
        # The lower byte is the kind, the rest the details.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        its = reading.current()
        if kind == sqlite3.SQLITE_INTERRUPT and its is not None:
            return its.stopped()
        if kind in _DAMAGED or str(error).startswith(_OTHER_SCHEMA):
            return StoreDamaged(str(self._file), str(error))
        if kind in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and is_full(self._file.parent):
            kind = sqlite3.SQLITE_FULL
        elif kind == sqlite3.SQLITE_CANTOPEN and not os.access(self._file.parent, os.W_OK):
            kind = sqlite3.SQLITE_READONLY
        return StoreFailed(f"{self._file}: {_MEANINGS.get(kind, str(error))}")
