"""Places for rounds: on SQLite, and on a throw-away PostgreSQL server."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.faults.places import Round, Templates, make_store

MakeRound = Callable[[str, int], Round]
"""By its seed and the number of shards."""


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(tmp_path_factory.mktemp("templates"))


@pytest.fixture
def on_sqlite(templates: Templates, tmp_path: Path) -> MakeRound:
    numbers = count()
    return lambda seed, shards: templates.round(tmp_path / f"round-{next(numbers)}", seed, shards)


@pytest.fixture(scope="session")
def postgres_templates(postgres_server: Any) -> dict[int, str]:
    """Databases that were made once and are copied for each round, by their number of shards."""
    urls = {}
    for shards in (1, 3):
        urls[shards] = postgres_server.new_database()
        make_store(urls[shards], shards)
    return urls


@pytest.fixture
def on_postgres(postgres_server: Any, postgres_templates: dict[int, str], tmp_path: Path) -> Iterator[MakeRound]:
    names: list[str] = []

    def make(seed: str, shards: int) -> Round:
        names.append(f"round_{uuid4().hex}")
        template = postgres_templates[shards].rpartition("/")[2]
        postgres_server.execute(f"create database {names[-1]} template {template}")
        return Round(postgres_server.url(names[-1]), tmp_path / "history", seed)

    yield make
    for name in names:
        postgres_server.drop_database(postgres_server.url(name))
