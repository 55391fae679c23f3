"""PostgreSQL that is not as it should be: one sentence with what to do, and never the password."""

from contextlib import closing
from typing import Any

import pytest

from conjoin.errors import ConjoinError, StoreDamaged, StoreFailed
from conjoin.store import create_store, open_store
from conjoin.store import tables as t
from conjoin.store.port import Facts
from tests.store.samples import commit, job

psycopg = pytest.importorskip("psycopg")
FACTS = Facts(2, "zeebe", 0, unique_business_ids=False)
SECRET = "s3cr3t"


def not_connected(words: str) -> str:
    from conjoin.store.postgres.connections import not_connected

    return str(not_connected("postgresql://ada@db/orders", psycopg.OperationalError(words)))


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ('connection to server at "db" failed: Connection refused\n\tIs the server running?', "does not answer"),
        ("connection timeout expired", "does not answer"),
        ('could not translate host name "db" to address', "no server of that name"),
        ('failed: FATAL:  password authentication failed for user "ada"', "the user and the password"),
        ("connection failed: fe_sendauth: no password supplied", "the user and the password"),
        ('failed: FATAL:  no pg_hba.conf entry for host "::1"', "does not let this user in"),
        ('failed: FATAL:  role "ada" does not exist', "does not know this user"),
        (
            'failed: FATAL:  database "orders" does not exist',
            "create it, then make a store with conjoin store init",
        ),
        ("failed: FATAL:  sorry, too many clients already", "max_connections"),
        ("failed: FATAL:  remaining connection slots are reserved for superusers", "max_connections"),
        ("failed: FATAL:  the database system is starting up", "try again in a moment"),
    ],
)
def test_what_is_said_at_the_door_is_one_line_with_advice(words: str, meaning: str) -> None:
    text = not_connected(words)
    assert text.startswith("postgresql://ada@db/orders: ")
    assert meaning in text
    assert "\n" not in text


@pytest.fixture
def url(postgres_server: Any) -> Any:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


def with_password(url: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}password={SECRET}"


def failure(url: str) -> str:
    texts = []
    for ask in (lambda: open_store(url), lambda: create_store(url, FACTS)):
        with pytest.raises(ConjoinError) as raised:
            ask()
        texts.append(str(raised.value))
    return "\n".join(texts)


def test_a_database_that_is_not_there_says_to_create_it(postgres_server: Any) -> None:
    text = failure(with_password(postgres_server.url("nowhere")))
    assert text.count("the server has no such database: create it") == 2
    assert SECRET not in text


def test_a_server_that_is_not_there_is_named(postgres_server: Any) -> None:
    text = failure(f"postgresql://ada:{SECRET}@127.0.0.1:1/orders")
    assert text.count("postgresql://ada@127.0.0.1:1/orders: the server does not answer") == 2
    assert SECRET not in text


def test_a_standby_is_told_as_one(postgres_server: Any, url: str) -> None:
    with closing(create_store(url, FACTS)):
        pass
    name = url.partition("?")[0].rpartition("/")[2]
    postgres_server.execute(f"alter database {name} set default_transaction_read_only = on")
    with closing(open_store(url)) as store, pytest.raises(StoreFailed, match="takes no writes; name the primary one"):
        commit(store.shard(0), {t.JOB: [job(1)]})


def test_a_shard_whose_schema_is_gone_is_damaged_and_the_other_goes_on(postgres_server: Any, url: str) -> None:
    with closing(create_store(url, FACTS)):
        pass
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop schema shard_01 cascade")
    with closing(open_store(url)) as store:
        with pytest.raises(StoreDamaged, match=r"shard 1\) is damaged .*conjoin store restore"):
            store.shard(1).begin()
        assert commit(store.shard(0), {t.JOB: [job(1)]}).version == 1


def test_a_catalog_whose_schema_is_gone_is_no_store(postgres_server: Any, url: str) -> None:
    with closing(create_store(url, FACTS)) as store:
        commit(store.shard(0), {t.JOB: [job(1)]})
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop schema catalog cascade")
    text = failure(url)
    assert "there is no store in" in text
    assert "shard_00 holds commits, but its catalog is gone" in text
