"""One store with stories on each database, made once: nothing here writes to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conjoin.runtime.broker import Broker
from conjoin.store import create_store
from conjoin.store.port import Facts
from tests.pipeline.source.stories import SHARDS, tell_stories

FACTS = Facts(SHARDS, "zeebe", 0, unique_business_ids=False)


@pytest.fixture(scope="session")
def sqlite_stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = tell_stories(create_store(tmp_path_factory.mktemp("stories") / "store", FACTS))
    yield broker
    broker.close()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def stories(request: pytest.FixtureRequest) -> Iterator[Broker]:
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_stories")
        return
    server = request.getfixturevalue("postgres_server")
    broker = tell_stories(create_store(server.new_database(), FACTS))
    yield broker
    broker.close()


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    create_store(tmp_path / "empty", FACTS).close()
    return tmp_path / "empty"
