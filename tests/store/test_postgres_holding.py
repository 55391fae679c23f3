"""PostgreSQL: a store that is held stays so when the session of the lock is cut, or nobody writes any more."""

from collections.abc import Iterator
from contextlib import closing
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest

from conjoin.errors import StoreInUse
from conjoin.store import create_store, open_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Store
from conjoin.store.rows import PolicyRow
from tests.store.samples import commit, message, reading

TASK = "conjoin serve"


@pytest.fixture
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    create_store(url, Facts(1, "zeebe", 0, unique_business_ids=False)).close()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as store:
        yield store


@pytest.fixture
def other(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as store:
        yield store


def cut(url: str) -> None:
    """The session that has the lock, as a restart of the server ends it."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
            " where application_name = %s and datname = current_database()",
            (TASK,),
        ).fetchall()
    assert found == [(True,)]


def test_a_lock_whose_session_was_cut_is_taken_again(store: Store, other: Store, url: str) -> None:
    with store.held(TASK):
        for _ in range(2):
            cut(url)
            store.check_held()
            with pytest.raises(StoreInUse, match=TASK):
                other.held("conjoin store reshard", alone=True).__enter__()
    with other.held("conjoin store reshard", alone=True):
        pass


def test_whoever_writes_takes_it_again_first(store: Store, other: Store, url: str) -> None:
    with store.held(TASK):
        cut(url)
        commit(store.shard(0), {t.MESSAGE: [message(1)]})
        with pytest.raises(StoreInUse, match=TASK):
            other.held("conjoin store reshard", alone=True).__enter__()


def test_nobody_writes_while_somebody_else_has_the_store_alone(store: Store, other: Store, url: str) -> None:
    with store.held(TASK):
        cut(url)
        with other.held("conjoin store reshard", alone=True):
            for _ in range(2):
                with pytest.raises(StoreInUse, match="in use by conjoin store reshard"):
                    commit(store.shard(0).reader(), {t.MESSAGE: [message(1)]})
                with pytest.raises(StoreInUse, match="in use by conjoin store reshard"):
                    store.catalog.append(0, {t.POLICY: [PolicyRow(1, "p", "{}", 0)]})
            with reading(store.shard(0)) as snapshot:
                assert snapshot.messages([1]) == []
        _until_free(store)
        commit(store.shard(0), {t.MESSAGE: [message(1)]})
        with pytest.raises(StoreInUse, match=TASK):
            other.held("conjoin store reshard", alone=True).__enter__()


def test_who_was_alone_and_is_cut_must_begin_again(store: Store, url: str) -> None:
    with store.held(TASK, alone=True):
        cut(url)
        with pytest.raises(StoreInUse, match="was lost"):
            store.check_held()


def _until_free(store: Store) -> None:
    until = monotonic() + 30
    while True:
        try:
            return store.check_held()
        except StoreInUse:
            assert monotonic() < until
            sleep(0.01)
