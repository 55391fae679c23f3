"""PostgreSQL: how a scan is carried out there."""

from collections.abc import Iterator
from typing import Any

import pytest

from conjoin.store import create_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Store
from tests.store.samples import commit, message

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = create_store(url, Facts(1, "zeebe", 0, unique_business_ids=False))
    yield store
    store.close()


def statements(url: str) -> list[str]:
    """What was asked last on each connection that is in the middle of something."""
    with psycopg.connect(url) as connection:
        busy = "state = 'idle in transaction' and datname = current_database()"
        return [row[0] for row in connection.execute(f"select query from pg_stat_activity where {busy}").fetchall()]


def test_rows_wait_on_the_server_until_they_are_asked_for(store: Store, url: str) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(key) for key in range(3_000)]})
    rows = store.shard(0).scan("message", ["key"])
    next(rows)
    [asked] = statements(url)
    assert asked.startswith("FETCH FORWARD 1000")
    assert len(list(rows)) == 2_999
    assert statements(url) == []


def test_a_connection_looks_keys_up_again_after_a_scan(store: Store) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)]})
    shard: Any = store.shard(0)
    assert list(shard.scan("message", ["key"])) == [(1,)]
    with shard.connections.borrow() as connection:
        assert connection.execute("show enable_seqscan").fetchone() == ("off",)
        assert connection.execute("show idle_in_transaction_session_timeout").fetchone() == ("10min",)
