"""Every store: whole tables of a shard, streamed, with only the asked columns and rows."""

from typing import Any

import pytest

from conjoin.store import tables as t
from conjoin.store.port import Condition, ShardStore, Store
from tests.store.samples import LARGEST, ODD_TEXTS, ONE_OF_EACH, commit, instance, job, log_row, message, subscription


def keys(shard: ShardStore, *where: Condition, table: str = "message") -> list[int]:
    return sorted(key for (key,) in shard.scan(table, ["key"], where))


@pytest.mark.parametrize("table", t.SHARD, ids=lambda table: table.name)
def test_every_table_of_a_shard_is_read_as_it_is(shard: ShardStore, table: t.Table) -> None:
    commit(shard, ONE_OF_EACH)
    assert list(shard.scan(table.name, table.columns)) == [tuple(row) for row in ONE_OF_EACH[table]]


def test_only_the_asked_columns_come_in_the_order_asked_for(shard: ShardStore) -> None:
    commit(shard, {t.MESSAGE: [message(1, correlation_key="o-1"), message(2, correlation_key="o-2")]})
    assert sorted(shard.scan("message", ["correlation_key", "key"])) == [("o-1", 1), ("o-2", 2)]


def test_a_scan_reads_its_own_shard_only(store: Store) -> None:
    commit(store.shard(0), {t.JOB: [job(1)]})
    commit(store.shard(1), {t.JOB: [job(2)]})
    assert [keys(store.shard(index), table="job") for index in range(2)] == [[1], [2]]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (("deadline", "=", 20), [2]),
        (("deadline", "<>", 20), [1, 3, 4]),
        (("deadline", "<", 20), [1]),
        (("deadline", "<=", 20), [1, 2]),
        (("deadline", ">", 20), [3, 4]),
        (("deadline", ">=", 20), [2, 3, 4]),
        (("deadline", ">=", LARGEST), [4]),
        (("deadline", "in", [10, LARGEST, 7]), [1, 4]),
        (("deadline", "in", []), []),
        (("name", "=", "paid"), [1, 2]),
        (("name", "<>", "paid"), [3, 4]),
        (("name", "in", ["shipped", "paid", "lost"]), [1, 2, 3]),
        (("due_at", "=", None), [1, 2]),
        (("due_at", "<>", None), [3, 4]),
        (("due_at", "<>", 5), [4]),
    ],
)
def test_rows_that_do_not_meet_a_condition_are_left_out(
    shard: ShardStore, condition: Condition, found: list[int]
) -> None:
    rows = [
        message(1, deadline=10, name="paid"),
        message(2, deadline=20, name="paid"),
        message(3, deadline=30, name="shipped", due_at=5),
        message(4, deadline=LARGEST, name="Paid", due_at=6),
    ]
    commit(shard, {t.MESSAGE: rows})
    assert keys(shard, condition) == found


def test_all_conditions_have_to_be_met(shard: ShardStore) -> None:
    rows = [instance(1, state="active"), instance(2, state="completed"), instance(3, state="active", version=2)]
    commit(shard, {t.INSTANCE: rows})
    active = ("state", "=", "active")
    assert keys(shard, active, ("key", ">=", 2), ("version", "in", [2, 3]), table="instance") == [3]
    assert keys(shard, active, ("key", ">", 3), table="instance") == []


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_text_that_is_compared_with_is_never_read_as_anything_else(shard: ShardStore, text: str) -> None:
    commit(shard, {t.MESSAGE: [message(1, correlation_key=text), message(2, correlation_key="x' or ''='")]})
    assert keys(shard, ("correlation_key", "=", text)) == [1]
    assert keys(shard, ("correlation_key", "in", [text, "nobody's"])) == [1]


@pytest.mark.parametrize(
    ("table", "columns", "where"),
    [
        ("message; drop table message", ["key"], []),
        ("definition", ["key"], []),
        ("message", ["key from message --"], []),
        ("message", ["key"], [("1 = 1 or key", "=", 1)]),
        ("message", ["key"], [("key", "= 1 or 1 =", 1)]),
        ("message", ["key"], [("key", "<", None)]),
    ],
)
def test_what_is_no_table_column_or_comparison_of_ours_is_refused(
    shard: ShardStore, table: str, columns: list[str], where: list[Condition]
) -> None:
    with pytest.raises(KeyError):
        list(shard.scan(table, columns, where))


def test_a_scan_is_one_instant_however_slowly_it_is_read_and_stops_nobody(shard: ShardStore) -> None:
    commit(shard, {t.APART: [subscription(key) for key in range(5_000)]})
    rows = shard.reader().scan("subscription", ["key", "name"])
    first = next(rows)
    for number in range(3):
        later: dict[Any, Any] = {t.APART: [subscription(9_000 + number), subscription(4_999, name="moved")]}
        commit(shard, {**later, t.LOG: [log_row(number + 1)]}, {t.APART: [("acme", "order-1", 4_998)]})
    assert sorted([first, *rows]) == [(key, "paid") for key in range(5_000)]
    assert len(keys(shard, table="subscription")) == 5_002


def test_a_scan_can_be_left_in_the_middle_and_the_shard_goes_on(shard: ShardStore) -> None:
    commit(shard, {t.JOB: [job(key) for key in range(3_000)]})
    for _ in range(3):
        rows = shard.scan("job", ["key"])
        next(rows)
        rows.close()  # type: ignore[attr-defined]
    commit(shard, {t.JOB: [job(3_000)]})
    assert len(keys(shard, table="job")) == 3_001


def test_a_scan_can_be_made_while_a_snapshot_is_open(shard: ShardStore) -> None:
    commit(shard, {t.JOB: [job(1)]})
    snapshot = shard.begin(locked=True)
    assert keys(shard, table="job") == [1]
    snapshot.abandon()
