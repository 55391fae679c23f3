"""The contract suite runs on each store: SQLite, SQLite in a temporary directory that is never synced, PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conjoin.store import create_store, open_store
from conjoin.store.port import Facts, ShardStore, Store
from conjoin.store.sqlite.store import SqliteStore


class Place:
    """Where the store of a test is. Store objects opened here are to each other as those of two processes."""

    def __init__(
        self, create: Callable[[Facts], Store], open_: Callable[[], Store], emptied: Callable[[], Store] | None = None
    ) -> None:
        self._create = create
        self._open = open_
        self._emptied = emptied
        self._opened: list[Store] = []

    def create(self, shards: int = 2) -> Store:
        return self.create_with(Facts(shards, "zeebe", 0, unique_business_ids=False))

    def create_with(self, facts: Facts) -> Store:
        self._opened.append(self._create(facts))
        return self._opened[-1]

    def store(self) -> Store:
        """One that may have been made before, with nothing in it."""
        if self._emptied is None:
            return self.create()
        self._opened.append(self._emptied())
        return self._opened[-1]

    def open(self) -> Store:
        self._opened.append(self._open())
        return self._opened[-1]

    def close(self) -> None:
        # The first one may take the files with it.
        for store in reversed(self._opened):
            store.close()


def sqlite_place(folder: Path) -> Place:
    return Place(lambda facts: create_store(folder, facts), lambda: open_store(folder))


def temporary_place() -> Place:
    made: list[SqliteStore] = []

    def create(facts: Facts) -> Store:
        made.append(SqliteStore.create(made[0].folder, facts) if made else SqliteStore.temporary(facts))
        return made[-1]

    return Place(create, lambda: SqliteStore(made[-1].folder, synced=False))


def postgres_place(server: Any) -> Place:
    urls: list[str] = []

    def url() -> str:
        if not urls:
            urls.append(server.new_database())
        return urls[0]

    def emptied() -> Store:
        urls.append(server.emptied_store(2))
        return open_store(url())

    return Place(lambda facts: create_store(url(), facts), lambda: open_store(url()), emptied)


@pytest.fixture(params=["sqlite", "temporary", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "postgres":
        found = postgres_place(request.getfixturevalue("postgres_server"))
    else:
        found = sqlite_place(tmp_path / "store") if request.param == "sqlite" else temporary_place()
    yield found
    found.close()


@pytest.fixture
def store(place: Place) -> Store:
    return place.store()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "the store"


@pytest.fixture
def shard(store: Store) -> ShardStore:
    return store.shard(0)
