"""What is particular to PostgreSQL: how many rows become parameters, places of rows, plans, schemas and views."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from conjoin.errors import StoreMissing
from conjoin.store import create_store, open_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Store
from conjoin.store.postgres import schema as postgres_schema
from conjoin.store.postgres.arrays import arrays
from conjoin.store.postgres.connections import place
from conjoin.store.postgres.dialect import SQL
from tests.store.samples import changes, commit, instance, job, message, reading, subscription

FACTS = Facts(2, "zeebe", 0, unique_business_ids=False)


@pytest.fixture
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = create_store(url, FACTS)
    yield store
    store.close()


@pytest.mark.parametrize(
    "names",
    [
        [""],
        ["", ""],
        ["a", "b\x1fc"],
        ["\x1e", "b"],
        ['{"a": "b\\"c"}', "\\", ",", "{}", "null", "NULL"],
    ],
    ids=ascii,
)
def test_texts_of_a_commit_are_parted_where_they_were_joined(store: Store, names: list[str]) -> None:
    rows = [message(key, name=name) for key, name in enumerate(names)]
    commit(store.shard(0), {t.MESSAGE: rows})
    assert store.rows(t.MESSAGE, {}, None, 100) == rows


@pytest.mark.parametrize("lock_keys", [[None], ["k", None], [None, None], ["\x1e", None], ["null", None, ""]])
def test_no_text_and_no_number_are_not_taken_for_any_other(store: Store, lock_keys: list[str | None]) -> None:
    rows = [instance(n, lock_key=key, ended_at=n if key else None) for n, key in enumerate(lock_keys)]
    commit(store.shard(0), {t.INSTANCE: rows})
    assert store.rows(t.INSTANCE, {}, None, 100) == rows


def test_plain_texts_are_not_put_into_quotes() -> None:
    assert arrays([str], [("a",), ('"',)]).split
    assert not arrays([str], [("a",), ("\x1f",)]).split


def test_rows_that_were_read_are_written_again_with_all_their_columns(store: Store) -> None:
    shard = store.shard(0)
    commit(shard, {t.APART: [subscription(1), subscription(2)], t.INSTANCE: [instance(100), instance(200)]})
    changed = instance(100, body='{"n": 2}', version=7, ended_at=5, state="completed")
    closed = subscription(1, closed_at=9, name="shipped")
    snapshot = shard.begin()
    snapshot.key_rows("acme", ["order-1"], 10, 1_000)
    snapshot.instances([100])
    assert snapshot.commit(
        changes(snapshot.head, {t.APART: [closed, subscription(3)], t.INSTANCE: [changed, instance(200)]})
    )
    assert store.rows(t.SUBSCRIPTION, {}, None, 10) == [closed, subscription(2), subscription(3)]
    assert store.rows(t.INSTANCE, {}, None, 10) == [changed, instance(200)]


def test_a_row_that_was_read_and_is_dropped_and_put_in_one_commit_is_there(store: Store) -> None:
    shard = store.shard(0)
    commit(shard, {t.APART: [subscription(1)], t.INSTANCE: [instance(100)]})
    snapshot = shard.begin()
    snapshot.key_rows("acme", ["order-1"], 10, 1_000)
    snapshot.instances([100])
    put: dict[t.Table, list[Any]] = {
        t.APART: [subscription(1, name="new")],
        t.INSTANCE: [instance(100, body="new")],
    }
    assert snapshot.commit(changes(snapshot.head, put, {t.APART: [("acme", "order-1", 1)], t.INSTANCE: [(100,)]}))
    assert [row.name for row in store.rows(t.SUBSCRIPTION, {}, None, 10)] == ["new"]
    assert [row.body for row in store.rows(t.INSTANCE, {}, None, 10)] == ["new"]


def test_the_last_of_two_rows_with_one_key_stays(store: Store) -> None:
    shard = store.shard(0)
    commit(shard, {t.INSTANCE: [instance(100)]})
    snapshot = shard.begin()
    snapshot.instances([100, 100])
    assert snapshot.commit(changes(snapshot.head, {t.INSTANCE: [instance(100, body="1"), instance(100, body="2")]}))
    assert [row.body for row in store.rows(t.INSTANCE, {}, None, 10)] == ["2"]


def test_a_subscription_beyond_those_that_were_read_of_its_key_is_put_in_the_place_of_the_one_before(
    store: Store,
) -> None:
    shard = store.shard(0)
    commit(shard, {t.APART: [subscription(1), subscription(2)]})
    snapshot = shard.begin()
    snapshot.key_rows("acme", ["order-1"], 10, 1)
    assert snapshot.commit(changes(snapshot.head, {t.APART: [subscription(2, name="new"), subscription(3)]}))
    assert [row.name for row in store.rows(t.SUBSCRIPTION, {}, None, 10)] == ["paid", "new", "paid"]


def test_nothing_is_found_under_no_keys(store: Store) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)], t.APART: [subscription(1)], t.INSTANCE: [instance(100)]})
    with reading(store.shard(0)) as snapshot:
        assert snapshot.key_rows("acme", [], 10, 1_000) == ([], [], [], [])
        assert (snapshot.messages([]), snapshot.instances([])) == ([], [])


def test_a_large_commit_that_loses_the_race_is_refused_as_a_small_one(store: Store, url: str) -> None:
    """Its refusal comes back while the rest of it is still being sent."""
    loser = open_store(url)
    snapshot = loser.shard(0).begin()
    commit(store.shard(0), {t.MESSAGE: [message(1)]})
    put = {t.MESSAGE: [message(key) for key in range(2, 5000)], t.JOB: [job(key) for key in range(5000)]}
    assert not snapshot.commit(changes(snapshot.head, put))
    assert store.rows(t.MESSAGE, {}, None, 10) == [message(1)]
    loser.close()


LOOK_UPS = [name for name, statement in SQL.items() if "unnest(" in statement]
OF_THE_INBOX: dict[str, list[object]] = {
    **{"inbox_line": ["{}", 10], "inbox_uncertain": ["{}", 10], "inbox_last_to_come": ["{}", 0]},
    **{
        "inbox_parked": ["{}", 0],
        "inbox_due_rows": ["{}", 0, 10],
        "inbox_with_ids": ["{}", "orders", "acme"],
        "inbox_next_due": [0, "{}"],
    },
}


OF_EXPLANATIONS: dict[str, list[object]] = {
    "waiting_apart_on": ["{}", "acme", "acme", 10],
    "holding": [65536, *("a", "a", "b", "c", "d", "e"), "{}", "acme", "{}"],
    "not_larger": ["{}", 65536],
}


@pytest.fixture(scope="module")
def untouched(postgres_server: Any) -> Iterator[Store]:
    store = create_store(postgres_server.new_database(), FACTS)
    yield store
    store.close()


@pytest.mark.parametrize("name", LOOK_UPS)
def test_a_plan_made_for_empty_tables_looks_each_key_up(untouched: Store, name: str) -> None:
    """Such a plan may be used when there are millions: none may begin with the table."""
    usual = {2: ["{}", "acme"], 3: ["{}", "acme", 10]}.get(SQL[name].count("%s"), ["{}"])
    parameters = {**OF_THE_INBOX, **OF_EXPLANATIONS, "subscriptions_by_key": ["{}", "order-1", "acme"]}.get(name, usual)
    with untouched.shard(0).connections.borrow() as connection:  # type: ignore[attr-defined]
        plan = "\n".join(line for (line,) in connection.execute(f"explain {SQL[name]}", parameters).fetchall())
    plan = plan.replace("Index Only Scan", "Index Scan")
    assert "Seq Scan" not in plan
    assert "Sort" not in plan or name not in OF_THE_INBOX
    # Instances are looked up by their keys, and then told apart by the processes that are asked for.
    assert "Join Filter" not in plan or name == "holding"
    assert plan.count("Index Cond") == plan.count("Index Scan")
    assert plan.index("Function Scan") < plan.index("Index Scan") or "CTE Scan" in plan


def test_messages_with_a_business_id_are_looked_up(untouched: Store) -> None:
    statement = SQL["messages_with_business_id"]
    with untouched.shard(0).connections.borrow() as connection:  # type: ignore[attr-defined]
        plan = str(connection.execute(f"explain {statement}", ["b", "acme", 0, 10]).fetchall())
    assert "message_business_id" in plan
    assert "Sort" not in plan


@pytest.mark.parametrize("kind", ["idle", "busy", "kept"])
def test_a_page_of_a_crowd_is_looked_up_in_its_order(untouched: Store, kind: str) -> None:
    statement = SQL[f"crowd_{kind}"]
    with untouched.shard(0).connections.borrow() as connection:  # type: ignore[attr-defined]
        plan = str(connection.execute(f"explain {statement}", ["k", "acme", "a", "g", 10]).fetchall())
    assert f"subscription_{kind}" in plan
    assert "Sort" not in plan


def test_people_query_all_shards_in_one_view(store: Store, url: str) -> None:
    commit(store.shard(0), {t.MESSAGE: [message(1)], t.JOB: [job(3)]})
    commit(store.shard(1), {t.MESSAGE: [message(2)]})
    with psycopg.connect(url) as connection:
        found = connection.execute("select shard, key, name from conjoin.message order by key").fetchall()
        jobs = connection.execute("select shard, key from conjoin.job").fetchall()
    assert (found, jobs) == ([(0, 1, "paid"), (1, 2, "paid")], [(0, 3)])


def test_a_store_that_was_not_made_to_its_end_is_none_and_can_be_made(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(postgres_schema, "_make_views", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            create_store(url, FACTS)
    with pytest.raises(StoreMissing):
        open_store(url)
    store = create_store(url, FACTS)
    assert commit(store.shard(1), {}).version == 1
    store.close()


def test_an_address_is_shown_without_its_password() -> None:
    assert (
        place("postgresql://ann:secret@db.example:5433/orders?sslmode=require")
        == "postgresql://ann@db.example:5433/orders"
    )
    assert place("postgres:///orders") == "postgresql://localhost/orders"
