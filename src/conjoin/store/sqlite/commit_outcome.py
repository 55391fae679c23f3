"""A commit that failed at the disk: it is found out whether it happened, never guessed.

SQLite may have written the commit to the write-ahead log and failed to sync it: it cannot be seen now, and a restart
could still find it there. The next commit takes its place in the log, so one is made that changes nothing. After it
the old one has happened or never will; if it fails too, the outcome is unknown.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from conjoin.errors import ConjoinError, OutcomeUnknown
from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.rows import LogRow
from conjoin.store.sqlite.files import connect, writing

_FENCE = "update shard set version = version"
_LOGGED = f"select {', '.join(t.LOG.columns)} from log where version = ?"


def was_committed(file: Path, changes: Changes, error: sqlite3.OperationalError) -> bool:
    """Raises OutcomeUnknown when it cannot be found out."""
    unknown = OutcomeUnknown(f"{file}: the disk failed in the middle of commit {changes.head.version} ({error})")
    try:
        outcome = changes.are_committed(*_look(file, changes.head.version))
    except ConjoinError as again:
        raise unknown from again
    if outcome is None:
        raise unknown from error
    return outcome


def _look(file: Path, version: int) -> tuple[int, LogRow | None]:
    """The version that the shard has now, and what was logged under the one in doubt."""
    with closing(connect(file)) as connection, writing(connection, file):
        connection.execute(_FENCE)
        reached = connection.execute("select version from shard").fetchone()[0]
        found = connection.execute(_LOGGED, (version,)).fetchone()
    return reached, LogRow._make(found) if found else None
