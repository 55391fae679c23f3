"""A data path that is no data directory: one sentence that says what it is and what to do, and nothing is changed."""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conjoin.errors import ConjoinError, InputError, StoreDamaged, StoreExists, StoreFailed, StoreMissing
from conjoin.store import create_store, open_store
from conjoin.store.sqlite.data_folder import system_error
from tests.store.sqlite_place import FACTS, make, write


def a_file(path: Path) -> Path:
    path.write_text("a letter")
    return path


def inside_a_file(path: Path) -> Path:
    return a_file(path) / "store"


def a_loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


def a_link_to_nothing(path: Path) -> Path:
    path.symlink_to(path.with_name("nothing"))
    return path


def too_long(path: Path) -> Path:
    return path.with_name("x" * 300)


def other_files(path: Path) -> Path:
    path.mkdir()
    (path / "letter.txt").write_text("dear")
    return path


def another_program(path: Path) -> Path:
    path.mkdir()
    with closing(sqlite3.connect(path / "catalog.db")) as connection:
        connection.execute("create table photographs (name text)")
    return path


def a_folder_as_catalog(path: Path) -> Path:
    (path / "catalog.db").mkdir(parents=True)
    return path


ODD = {
    a_file: (InputError, "this is a file, and a store needs a folder"),
    inside_a_file: (InputError, "a part of this path is a file"),
    a_loop: (InputError, "a loop of symbolic links"),
    a_link_to_nothing: (InputError, "this symbolic link leads nowhere"),
    too_long: (InputError, "too long"),
    other_files: (StoreExists, r"other files \(letter.txt\): name an empty or a new folder"),
    another_program: (StoreExists, r"catalog.db is a database of another program"),
    a_folder_as_catalog: (StoreExists, r"other files \(catalog.db\)"),
}


@pytest.mark.parametrize("place", ODD, ids=lambda place: place.__name__)
def test_neither_opening_nor_making_a_store_takes_what_is_no_place_for_one(place: object, tmp_path: Path) -> None:
    folder = place(tmp_path / "it")  # type: ignore[operator]
    kind, text = ODD[place]  # type: ignore[index]
    before = sorted(tmp_path.rglob("*"))
    for ask in (lambda: open_store(folder), lambda: create_store(folder, FACTS)):
        with pytest.raises(kind, match=text):
            ask()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_fresh_volume_is_a_place_for_a_store(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".snapshot").mkdir()
    with pytest.raises(StoreMissing):
        open_store(tmp_path)
    create_store(tmp_path, FACTS).close()


def test_shards_without_their_catalog_are_damage_and_no_place_for_a_new_store(folder: Path) -> None:
    make(folder)
    (folder / "catalog.db").unlink()
    with pytest.raises(StoreDamaged, match=r"catalog.db is damaged \(the file is not there\)"):
        open_store(folder)


@pytest.mark.parametrize("statement", ["drop table facts", "drop table policy"])
def test_a_catalog_that_lacks_a_table_is_damaged(folder: Path, statement: str) -> None:
    make(folder)
    write(folder / "catalog.db", statement)
    with pytest.raises(StoreDamaged, match="no such table"), closing(open_store(folder)) as store:
        store.catalog.policies()


def test_a_shard_that_lacks_a_table_is_damaged(folder: Path) -> None:
    make(folder)
    write(folder / "shard-00.db", "drop table shard")
    with closing(open_store(folder)) as store, pytest.raises(StoreDamaged, match="no such table: shard"):
        store.shard(0).begin()


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (errno.EACCES, InputError, "no right"),
        (errno.EROFS, InputError, "may only be read"),
        (errno.ENOSPC, StoreFailed, "the disk is full, and nothing of this was written"),
        (errno.EDQUOT, StoreFailed, "the disk is full"),
        (errno.EIO, StoreFailed, "the disk cannot be read or written"),
        (errno.EBUSY, StoreFailed, os.strerror(errno.EBUSY)),
    ],
)
def test_what_the_system_says_is_told_with_the_place(number: int, kind: type[ConjoinError], text: str) -> None:
    error = system_error(Path("here"), OSError(number, os.strerror(number)))
    assert isinstance(error, kind)
    assert str(error).startswith("here: ")
    assert text in str(error)


def use(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        store.catalog.version()
        store.shard(1).begin().abandon()
        store.shard(0).begin()


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("shard-00.db", "delete from shard"),
        ("shard-00.db", "update shard set version = 'x'"),
        ("catalog.db", "delete from catalog"),
        ("catalog.db", "update facts set shards = 0"),
        ("catalog.db", "update facts set shards = 'x'"),
    ],
)
def test_rows_that_cannot_be_are_damage_of_that_file(folder: Path, file: str, statement: str) -> None:
    make(folder)
    write(folder / file, statement)
    with pytest.raises(StoreDamaged, match=f"{file} is damaged"):
        use(folder)
