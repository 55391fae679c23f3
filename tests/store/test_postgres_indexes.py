"""PostgreSQL: no index holds a text of a client as it is, and large tables are looked up by those that there are."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from conjoin.runtime.client_api.answers import PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import open_broker
from conjoin.store import create_store
from conjoin.store import tables as t
from conjoin.store.port import Facts, Head, Store
from conjoin.store.postgres.dialect import COLUMNS, DIALECT, SQL
from conjoin.store.sql.explaining import NEWEST
from conjoin.store.sql.message_parts import FILL

ROWS = 100_000
RUNS = 700
BOUNDED = {
    # Words of ours.
    *("state", "verdict", "reason", "kind", "reach"),
    # Digests, ranks and beginnings of texts: their makers bound them.
    *("digest", "crowd", "place", "name_start"),
}


@pytest.fixture(scope="module")
def large(postgres_server: Any) -> Iterator[Store]:
    """A hundred thousand rows of what a publish looks at."""
    url = postgres_server.new_database()
    store = create_store(url, Facts(1, "zeebe", 0, unique_business_ids=False))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set search_path to shard_00")
        for statement in (*_filling(), *FILL):
            connection.execute(statement)
        connection.execute("analyze")
    yield store
    store.close()
    postgres_server.drop_database(url)


def _filling() -> Iterator[bytes]:
    numbers = f"generate_series(1, {ROWS}) as n"
    values: dict[str, dict[str, str]] = {
        "message": {"correlation_key": "'k-' || n", "live": "1", "message_id": "'m-' || n", "key": "n"},
        "subscription_apart": {"correlation_key": "'k-' || n", "crowd": "''", "key": "n"},
        "instance": {
            **{"key": "n", "wait_on": "'w-' || n", "wait_key": "n", "closed_waits": "'[]'"},
            **{"state": "'active'", "parent_key": "0", "business_id": "''"},
        },
        "start_lock": {"correlation_key": "'k-' || n"},
        "job": {"type": "'t-' || n % 100", "state": "'ready'", "key": "n"},
        "signal": {"name": "'s-' || n", "key": "n"},
    }
    for table, known in values.items():
        columns, plain = _columns_of(table)
        chosen = [known.get(column, default) for column, default in zip(columns, plain, strict=True)]
        yield f"insert into {table} select {', '.join(chosen)} from {numbers}".encode()


def _columns_of(name: str) -> tuple[tuple[str, ...], list[str]]:
    [table] = [table for table in t.SHARD if table.name == name]
    return table.columns, ["'acme'" if kind is str else "1" for kind in table.types]


PUBLISHING = {
    "subscriptions": ["{k-7}", "acme", 1_000],
    "messages": ["{k-7}", "acme", 10],
    "waiting": ["{w-7}", "acme"],
    "locks": ["{k-7}", "acme"],
    "live_messages": ["k-7", "acme", "acme", 0, 10],
    "messages_with_id": ["k-7", "acme", "acme", "m-7"],
    "subscriptions_by_key": ["{7}", "k-7", "acme"],
    "signal_instances": ["s-7", "acme"],
}


@pytest.mark.parametrize("name", PUBLISHING)
def test_a_publish_reads_few_pages_of_a_large_store(large: Store, name: str) -> None:
    with large.shard(0).connections.borrow() as connection:  # type: ignore[attr-defined]
        explained = f"explain (analyze, buffers, costs off, timing off) {SQL[name]}"
        plan = "\n".join(line for (line,) in connection.execute(explained, PUBLISHING[name]).fetchall())
    execution = plan.partition("Planning")[0]
    assert "Seq Scan" not in execution
    assert "Rows Removed by Filter" not in execution
    [pages] = [re.findall(r"(?:hit|read)=(\d+)", line) for line in execution.splitlines() if "Buffers" in line][:1]
    assert sum(map(int, pages)) <= 12


_LAST = 2**63 - 1
EXPLAINING: dict[str, list[object]] = {
    "waiting_on": ["{w-7,w-8,w-none}", "acme"],
    "waiting_apart_on": ["{k-7,k-8,k-none}", "acme", "acme", 4],
    "waiting_from": ["acme", "w-7", 12],
    "apart_from": ["acme", "k-7", 12],
    **{name: [_LAST, 50] for name in NEWEST},
    "holding": [65_536, *"abcdef", "{7,8,9}", "acme", "{order,stock}"],
    "not_larger": ["{7,8,9}", 65_536],
}


@pytest.mark.parametrize("name", EXPLAINING)
def test_an_explanation_walks_no_table_of_a_large_store(large: Store, name: str) -> None:
    with large.shard(0).connections.borrow() as connection:  # type: ignore[attr-defined]
        explained = f"explain (analyze, buffers, costs off, timing off) {SQL[name]}"
        plan = "\n".join(line for (line,) in connection.execute(explained, EXPLAINING[name]).fetchall())
    execution = plan.partition("Planning")[0]
    assert "Seq Scan" not in execution
    [pages] = [re.findall(r"(?:hit|read)=(\d+)", line) for line in execution.splitlines() if "Buffers" in line][:1]
    assert sum(map(int, pages)) <= 300


@pytest.mark.parametrize("where", [{"correlation_key": "k-7"}, {"correlation_key": "k-7", "name": "acme"}])
def test_messages_are_looked_up_part_by_part(large: Store, where: dict[str, str]) -> None:
    statement, parameters = DIALECT.list_rows(t.MESSAGE, where, None, 10)
    with large._connections.borrow() as connection:  # type: ignore[attr-defined]
        found = connection.execute(f"explain (analyze, costs off, timing off) {statement}", parameters).fetchall()
    plan = "\n".join(line for (line,) in found)
    assert "message_key" in plan
    assert "Seq Scan on message " not in plan
    assert "Seq Scan on message\n" not in plan
    assert len(list(large.rows(t.MESSAGE, where, None, 10))) == 1


def test_jobs_of_a_type_are_read_in_the_order_of_the_index(large: Store) -> None:
    with large.shard(0).connections.borrow() as connection:  # type: ignore[attr-defined]
        found = connection.execute(f"explain {SQL['ready_jobs']}", ["t-7", "acme", 10]).fetchall()
    assert "job_ready" in str(found)
    assert "Sort" not in str(found)


def test_a_list_of_subscriptions_comes_in_the_order_of_the_index(large: Store) -> None:
    statement, parameters = DIALECT.list_rows(t.SUBSCRIPTION, {"closed_at": None}, ("acme", "k-7", 7), 10)
    with large._connections.borrow() as connection:  # type: ignore[attr-defined]
        plan = str(connection.execute(f"explain {statement}", parameters).fetchall())
    assert "subscription_key" in plan
    assert "instance_wait" in plan
    # Those of one correlation key are few, and sorted among themselves.
    assert "Incremental Sort" in plan


def test_no_index_holds_a_text_of_a_client_as_it_is(large: Store) -> None:
    """Whoever adds an index has to say what bounds its texts."""
    with large._connections.borrow() as connection:  # type: ignore[attr-defined]
        found = connection.execute(
            "select i.indexrelid::regclass::text, a.attname, format_type(a.atttypid, null) = 'text',"
            " pg_get_indexdef(i.indexrelid, a.attnum, true) from pg_index i"
            " join pg_attribute a on a.attrelid = i.indexrelid join pg_class c on c.oid = i.indexrelid"
            " join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('shard_00', 'catalog')"
        ).fetchall()
    texts = [(index, meaning) for index, _, is_text, meaning in found if is_text]
    assert len(texts) > 40
    raw = {(index, meaning) for index, meaning in texts if not re.match(r"(\w+\.)?(short_text|substr)\(", meaning)}
    # The names of leases are ours.
    assert {meaning for index, meaning in raw if not index.endswith("lease_pkey")} <= BOUNDED
    assert not BOUNDED & COLUMNS


def test_a_plan_made_for_empty_tables_does_not_stay(postgres_server: Any) -> None:
    url = postgres_server.new_database()
    with closing(create_store(url, Facts(1, "zeebe", 0, unique_business_ids=False))) as store:
        # As a restored store has it: the server knows that there is nothing in it.
        store.shard(0).load(Head(1, 1, 0, 0), {t.MESSAGE: [], t.INSTANCE: []})
    with closing(open_broker(url)) as broker:
        for number in range(RUNS):
            assert isinstance(broker.publish(NewMessage("paid", f"k-{number}", {}, 3_600_000)), PublishedMessage)
    with psycopg.connect(url, autocommit=True) as connection:
        asked = "select idx_tup_read from pg_stat_user_indexes where indexrelname = 'message_pkey'"
        found = connection.execute(asked).fetchone()
    # The walk of all in every run would be a quarter of a million.
    assert found is not None
    assert found[0] < 50 * RUNS
