"""A COMMIT that fails at the disk: it is there, it is not there, or nobody knows; never one told as another."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import OutcomeUnknown, StoreFailed
from conjoin.store import tables as t
from conjoin.store.rows import PolicyRow
from conjoin.store.sqlite import files as sqlite_files
from conjoin.store.sqlite import shard as sqlite_shard
from conjoin.store.sqlite.store import SqliteStore
from tests.store.samples import changes, commit, job, log_row
from tests.store.sqlite_place import FACTS

POLICY = {t.POLICY: [PolicyRow(1, "paid", "{}", 5)]}


class Disk:
    """Fails so many commits to come, with a code of SQLite, after they were carried out or instead."""

    def __init__(self) -> None:
        self.failures = 0
        self.code = sqlite3.SQLITE_IOERR_FSYNC
        self.is_written = False

    def commit(self, connection: sqlite3.Connection) -> Any:
        if not self.failures:
            return connection.execute("commit")
        self.failures -= 1
        connection.execute("commit" if self.is_written else "rollback")
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = self.code
        raise error


class Connection:
    """A connection of SQLite on such a disk."""

    def __init__(self, connection: sqlite3.Connection, disk: Disk) -> None:
        self._connection, self._disk = connection, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *parameters: Any) -> Any:
        if statement == "commit":
            return self._disk.commit(self._connection)
        return self._connection.execute(statement, *parameters)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, real = Disk(), sqlite_files.connect

    def connect(file: Path, *, synced: bool = True) -> Any:
        return Connection(real(file, synced=synced), disk)

    for module in ("files", "commit_outcome"):
        monkeypatch.setattr(f"conjoin.store.sqlite.{module}.connect", connect)
    return disk


@pytest.fixture
def store(folder: Path, disk: Disk) -> Iterator[SqliteStore]:
    with closing(SqliteStore.create(folder, FACTS)) as store:
        commit(store.shard(0), {t.JOB: [job(1)]})
        yield store


def try_to_commit(store: SqliteStore) -> bool:
    snapshot = store.shard(0).begin()
    number = snapshot.head.version + 1
    return snapshot.commit(changes(snapshot.head, {t.JOB: [job(number)], t.LOG: [log_row(number)]}))


def jobs(store: SqliteStore) -> list[int]:
    return [row.key for row in store.rows(t.JOB, {}, None, 9)]


def test_a_commit_that_is_not_there_is_told_as_not_done(store: SqliteStore, disk: Disk) -> None:
    disk.failures = 1
    with pytest.raises(StoreFailed, match=r"shard-00\.db"):
        try_to_commit(store)
    assert jobs(store) == [1]
    assert try_to_commit(store)
    assert jobs(store) == [1, 2]


def test_a_commit_that_is_there_is_told_as_done(store: SqliteStore, disk: Disk) -> None:
    disk.failures, disk.is_written = 1, True
    assert try_to_commit(store)
    assert jobs(store) == [1, 2]


@pytest.mark.parametrize("is_written", [False, True])
def test_where_the_disk_goes_on_failing_nobody_knows(store: SqliteStore, disk: Disk, is_written: bool) -> None:
    disk.failures, disk.is_written = 2, is_written
    with pytest.raises(OutcomeUnknown, match=r"not known: look before you do it again.* the same id") as raised:
        try_to_commit(store)
    assert not raised.value.retryable
    assert try_to_commit(store), "the shard goes on when the disk does"


def test_the_same_version_of_somebody_else_is_not_taken_for_ours(
    store: SqliteStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(file: Path, version: int) -> Any:
        return version, log_row(version)._replace(block=b"another's")

    monkeypatch.setattr("conjoin.store.sqlite.commit_outcome._look", look)
    disk.failures = 1
    with pytest.raises(StoreFailed):
        try_to_commit(store)


def test_a_full_disk_at_the_end_of_a_commit_is_no_doubt(store: SqliteStore, disk: Disk) -> None:
    disk.failures, disk.code = 2, sqlite3.SQLITE_FULL
    with pytest.raises(StoreFailed, match="the disk is full, and nothing of this was written"):
        try_to_commit(store)
    assert disk.failures == 1, "no second commit was tried"
    disk.failures = 0
    assert jobs(store) == [1]


def test_a_change_of_the_catalog_in_doubt_is_told_so(store: SqliteStore, disk: Disk) -> None:
    disk.failures = 1
    with pytest.raises(OutcomeUnknown, match=r"catalog\.db"):
        store.catalog.append(0, POLICY)
    assert store.catalog.append(0, POLICY)


def test_a_real_disk_that_takes_no_more_leaves_nothing_of_a_commit(folder: Path) -> None:
    """With the real SQLite: a file that may not grow."""
    with closing(SqliteStore.create(folder, FACTS)) as store:
        commit(store.shard(0), {t.JOB: [job(1)]})
        store.shard(0)._connected().execute("pragma max_page_count = 30")
        snapshot = store.shard(0).begin()
        with pytest.raises(StoreFailed, match="full"):
            snapshot.commit(changes(snapshot.head, {t.LOG: [log_row(2)._replace(block=b"x" * 500_000)]}))
        assert jobs(store) == [1]
        assert sqlite_shard.read_head(store.shard(0)._connected(), folder).version == 1
