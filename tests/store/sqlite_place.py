"""SQLite files for tests: made, asked and written behind the back of the store."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from conjoin.store.port import Facts
from conjoin.store.sqlite.store import SqliteStore
from tests.store.samples import commit

FACTS = Facts(2, "zeebe", 0, unique_business_ids=False)


def make(folder: Path, rows: dict[Any, Any] | None = None) -> None:
    with closing(SqliteStore.create(folder, FACTS)) as store:
        commit(store.shard(0), rows or {})


def ask(file: Path, statement: str) -> Any:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        return connection.execute(statement).fetchone()[0]


def write(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(statement)
