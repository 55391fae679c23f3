"""SQLite: making and opening the files, and what becomes of damage, a full disk and half a store."""

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import StoreDamaged, StoreExists, StoreFailed, StoreMissing
from conjoin.store import open_store
from conjoin.store import tables as t
from conjoin.store.port import ShardStore
from conjoin.store.sqlite import checkpointing
from conjoin.store.sqlite import shard as sqlite_shard
from conjoin.store.sqlite.store import SqliteStore
from tests.store.samples import ONE_OF_EACH, changes, commit, instance, job, log_row
from tests.store.sqlite_place import FACTS, ask, make


@pytest.mark.parametrize("table", [*t.SHARD, *t.CATALOG], ids=lambda table: table.name)
def test_the_columns_of_a_table_are_the_fields_of_its_row(folder: Path, table: t.Table) -> None:
    make(folder)
    file = folder / ("catalog.db" if table in t.CATALOG else "shard-01.db")
    with closing(sqlite3.connect(file)) as connection:
        described = connection.execute(f"pragma table_info({table.name})").fetchall()
    assert tuple(column[1] for column in described) == table.columns
    key = sorted((column[5], column[1]) for column in described if column[5])
    assert tuple(name for _, name in key) == table.key


def test_a_commit_waits_for_the_disk_unless_the_store_is_temporary(folder: Path) -> None:
    with closing(SqliteStore.create(folder, FACTS)) as store, closing(SqliteStore.temporary(FACTS)) as temporary:
        for opened, full in ((store, 2), (temporary, 0)):
            connection = opened.shard(0)._connected()
            assert connection.execute("pragma synchronous").fetchone() == (full,)
            assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_temporary_store_is_gone_when_it_is_closed() -> None:
    store = SqliteStore.temporary(FACTS)
    assert store.folder.is_dir()
    store.close()
    assert not store.folder.exists()


@pytest.mark.parametrize("what", ["no folder", "an empty folder", "an empty catalog"])
def test_where_there_is_no_store_the_error_says_how_to_make_one(folder: Path, what: str) -> None:
    if what != "no folder":
        folder.mkdir()
    if what == "an empty catalog":
        (folder / "catalog.db").touch()
    with pytest.raises(StoreMissing, match=r"conjoin store init --data .*the store"):
        open_store(folder)
    assert not (folder / "shard-00.db").exists()


def test_what_a_crash_left_half_made_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash_at_the_third(shard: Any) -> None:
        if shard.index == 2:
            raise KeyboardInterrupt
        create(shard)

    create = sqlite_shard.SqliteShard.create
    monkeypatch.setattr(sqlite_shard.SqliteShard, "create", crash_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        SqliteStore.create(folder, FACTS._replace(shards=4))
    with pytest.raises(StoreMissing):
        open_store(folder)
    monkeypatch.undo()
    with closing(SqliteStore.create(folder, FACTS._replace(shards=1))) as store:
        assert commit(store.shard(0), ONE_OF_EACH).version == 1
    assert sorted(file.name for file in folder.glob("*.db")) == ["catalog.db", "shard-00.db"]


def test_shards_that_hold_commits_are_not_made_anew_when_only_the_catalog_is_gone(folder: Path) -> None:
    make(folder, ONE_OF_EACH)
    (folder / "catalog.db").unlink()
    with pytest.raises(StoreExists, match=r"shard-00\.db holds commits"):
        SqliteStore.create(folder, FACTS)
    assert ask(folder / "shard-00.db", "select version from shard") == 1


def test_of_two_who_make_a_store_in_one_place_one_comes_too_late(folder: Path) -> None:
    outcomes: list[str] = []

    def try_to_make() -> None:
        try:
            SqliteStore.create(folder, FACTS).close()
            outcomes.append("made")
        except StoreExists:
            outcomes.append("too late")

    threads = [threading.Thread(target=try_to_make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["made", "too late", "too late", "too late"]


def damage(file: Path, first: int, last: int | None = None) -> None:
    """Overwrite pages, the first of a file being 0."""
    page = 4096
    content = bytearray(file.read_bytes())
    end = len(content) if last is None else last * page
    content[first * page : end] = b"\xa5" * (end - first * page)
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("first_page", [0, 1])
def test_a_damaged_file_is_named_and_the_other_shards_go_on(folder: Path, first_page: int) -> None:
    make(folder, ONE_OF_EACH)
    damage(folder / "shard-00.db", first_page)
    with closing(SqliteStore(folder)) as store:
        for _ in range(2):
            with pytest.raises(StoreDamaged, match=r"shard-00\.db is damaged .*conjoin store restore"):
                store.shard(0).begin()
        assert commit(store.shard(1), ONE_OF_EACH).version == 1


def test_a_damaged_page_is_noticed_by_the_read_that_meets_it(folder: Path) -> None:
    make(folder, {t.INSTANCE: [instance(key, body="x" * 3000) for key in range(200)]})
    pages = (folder / "shard-00.db").stat().st_size // 4096
    damage(folder / "shard-00.db", pages - 100, pages)
    with closing(SqliteStore(folder)) as store:
        snapshot = store.shard(0).begin()
        with pytest.raises(StoreDamaged):
            snapshot.instances(range(200))
        snapshot.abandon()
        store.shard(0).begin().abandon()


def test_a_shard_whose_file_is_gone_is_damage_and_is_not_made_anew(folder: Path) -> None:
    make(folder)
    (folder / "shard-00.db").unlink()
    with closing(SqliteStore(folder)) as store:
        with pytest.raises(StoreDamaged, match=r"shard-00\.db .*not there"):
            store.shard(0).begin()
        store.shard(1).begin()
    assert not (folder / "shard-00.db").exists()


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written by a shard ends where SQLite says that the disk is full."""

    def connect(file: Path, *, synced: bool = True) -> sqlite3.Connection:
        connection = real(file, synced=synced)
        connection.execute("pragma max_page_count = 100")
        return connection

    real = sqlite_shard.files.connect
    monkeypatch.setattr(sqlite_shard.files, "connect", connect)


def test_a_commit_that_meets_a_full_disk_writes_nothing_and_can_be_tried_again(folder: Path, small_disk: None) -> None:
    with closing(SqliteStore.create(folder, FACTS)) as store:
        commit(store.shard(0), {t.JOB: [job(1)]})
        snapshot = store.shard(0).begin()
        with pytest.raises(StoreFailed, match=r"shard-00\.db: the disk is full") as failed:
            snapshot.commit(
                changes(snapshot.head, {t.JOB: [job(2)], t.LOG: [log_row(2)._replace(block=b"x" * 1_000_000)]})
            )
        assert failed.value.retryable
        assert list(store.rows(t.JOB, {}, None, 9)) == [job(1)]
        assert commit(store.shard(0), {t.JOB: [job(3)]}).version == 2


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every commit begins a checkpoint, unless one is under way."""
    monkeypatch.setattr(checkpointing, "COMMITS", 1)


def copied(shard: ShardStore) -> None:
    """Wait until the checkpoint that a commit has begun comes to its rest."""
    assert isinstance(shard, sqlite_shard.SqliteShard)
    thread = shard.checkpointing._copying
    assert thread is not None
    thread.join()


def test_a_checkpoint_copies_the_log_into_the_file_while_a_snapshot_is_open(folder: Path, eager: None) -> None:
    with closing(SqliteStore.create(folder, FACTS)) as store:
        file = folder / "shard-00.db"
        before = file.stat().st_size
        commit(store.shard(0), {t.LOG: [log_row(1)._replace(block=b"x" * 500_000)]})
        with store.shard(0).reader().begin() as snapshot:
            copied(store.shard(0))
            assert file.stat().st_size > before + 400_000
            assert snapshot.log_ends() == (1, 1)


def test_a_log_whose_rest_is_copied_between_two_commits_begins_anew(folder: Path, eager: None) -> None:
    with closing(SqliteStore.create(folder, FACTS)) as store:
        shard = store.shard(0)
        for number in range(1, 13):
            commit(shard, {t.LOG: [log_row(number)._replace(block=b"x" * 500_000)]})
            copied(shard)
        assert (folder / "shard-00.db-wal").stat().st_size < 2_000_000
        assert shard.trouble() is None


def test_what_was_copied_is_synced_by_the_one_who_copies(
    folder: Path, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with closing(SqliteStore.create(folder, FACTS)) as store:
        for number in range(1, 4):
            commit(store.shard(0), {t.LOG: [log_row(number)]})
            copied(store.shard(0))
        # Where the system tells which descriptor it is.
        if Path("/proc/self/fd").exists():
            [descriptor] = set(synced)
            assert os.path.samestat(os.fstat(descriptor), (folder / "shard-00.db").stat())
            assert len(synced) == 3


def test_a_checkpoint_that_fails_is_told_once_and_commits_go_on(
    folder: Path, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise StoreFailed("the disk is full")

    with closing(SqliteStore.create(folder, FACTS)) as store:
        shard = store.shard(0)
        with monkeypatch.context() as patch:
            patch.setattr("conjoin.store.sqlite.files.checkpoint", failing)
            commit(shard, {t.LOG: [log_row(1)]})
            copied(shard)
            commit(shard, {t.LOG: [log_row(2)]})
            copied(shard)
        assert str(shard.trouble()) == "the disk is full"
        assert shard.trouble() is None
        commit(shard, {t.LOG: [log_row(3)]})
        copied(shard)
        assert shard.trouble() is None
