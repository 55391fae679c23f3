"""Checkpoints beside the commits: a write-ahead log is copied into its file by a thread that nobody waits for.

While commits go on, such a checkpoint never reaches the end of the log; so whoever commits copies the short rest before
the next one, and the log begins anew. SQLite syncs the file only with a checkpoint that reaches the end: the sync of
all that was copied would be left to the one who copies the rest. So it is done here. Of commits of a thousand messages
nobody waits for each, and their log is copied by one of them when it is long enough, which costs less.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Thread

from conjoin.store.sqlite import files

COMMITS = 256
"""So many between two checkpoints."""
_DESCRIPTORS = Path("/proc/self/fd")


class Checkpointing:
    """Of one file. All but `trouble` is for the thread that commits."""

    def __init__(self, file: Path, *, synced: bool) -> None:
        self._file = file
        self._synced = synced
        self._connection: sqlite3.Connection | None = None
        self._descriptor: int | None = None
        """The connection's own. One of ours would not do: whoever closes one frees the locks that SQLite has."""
        self._copying: Thread | None = None
        self._commits = 0
        """Since the last one."""
        self._trouble: Exception | None = None

    def after_commit(self) -> None:
        """Begin one, if the last was some time ago."""
        self._commits += 1
        if self._commits >= COMMITS and self._copying is None:
            self._commits = 0
            self._copying = Thread(target=self._copy, name=f"checkpoint {self._file.stem}", daemon=True)
            self._copying.start()

    def before_transaction(self, connection: sqlite3.Connection) -> None:
        """Come to the end of one, if it has got that far."""
        if self._copying is not None and not self._copying.is_alive():
            self._copying = None
            try:
                files.checkpoint(connection, self._file)
            except Exception as error:  # noqa: BLE001 - a commit has nothing to do with it
                self._trouble = error

    def trouble(self) -> Exception | None:
        """What the last one failed with; told once."""
        trouble, self._trouble = self._trouble, None
        return trouble

    def close(self) -> None:
        if self._copying is not None:
            self._copying.join()
            self._copying = None
        self._disconnect()

    def _copy(self) -> None:
        """What was committed so far. What goes wrong is tried again with the next one, with a new connection."""
        try:
            if self._connection is None:
                self._connect()
            assert self._connection is not None
            files.checkpoint(self._connection, self._file)
            if self._descriptor is not None:
                with files.translated_errors(self._file):
                    os.fdatasync(self._descriptor)
        except Exception as error:  # noqa: BLE001 - the border of a thread: whoever watches the shard is told
            self._trouble = error
            self._disconnect()

    def _connect(self) -> None:
        before = _descriptors_of(self._file)
        self._connection = files.connect(self._file, synced=self._synced)
        if self._synced:
            self._descriptor = min(_descriptors_of(self._file) - before, default=None)

    def _disconnect(self) -> None:
        connection, self._connection, self._descriptor = self._connection, None, None
        if connection is not None:
            connection.close()


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
