"""Checkpoints beside the commits: a write-ahead log is copied into its file by a thread that nobody waits for.

SQLite syncs the file only with a checkpoint that reaches the end of the log, and beside commits none does: the sync of
everything that was copied would be left to the one who copies the rest, between two commits. So it is done here.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from conjoin.store.sqlite import files

_DESCRIPTORS = Path("/proc/self/fd")


class Checkpointing:
    """Of one file, with a connection of its own."""

    def __init__(self, file: Path, *, synced: bool) -> None:
        before = _descriptors_of(file) if synced else set()
        self._file = file
        self._connection: sqlite3.Connection = files.connect(file, synced=synced)
        self._descriptor = min(_descriptors_of(file) - before, default=None) if synced else None
        """The connection's own. One of ours would not do: whoever closes one frees the locks that SQLite has."""
        self._version = 0

    def copy(self) -> bool:
        """Were there commits? Then those made meanwhile are left for whoever commits, and they are few."""
        with files.translated_errors(self._file):
            before, self._version = self._version, self._connection.execute("pragma data_version").fetchone()[0]
            if self._version == before:
                return False
            files.checkpoint(self._connection, self._file)
            if self._descriptor is not None:
                os.fdatasync(self._descriptor)
        return True

    def close(self) -> None:
        self._connection.close()


def _descriptors_of(file: Path) -> set[int]:
    """Those of this process, where the system tells of them."""
    found: set[int] = set()
    with suppress(OSError):
        wanted = file.stat()
        for its in _DESCRIPTORS.iterdir():
            with suppress(OSError):
                if os.path.samestat(os.fstat(int(its.name)), wanted):
                    found.add(int(its.name))
    return found
