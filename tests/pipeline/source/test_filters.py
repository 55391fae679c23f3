"""Filters: which of them the store is asked for, and that it never leaves out or lets pass what Spark would not."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from conjoin.pipeline.correlate.fold.deadlines import LAST_DAY
from conjoin.pipeline.source.columns import KEYS, TRUTH
from conjoin.pipeline.source.reader import PushingReader
from conjoin.pipeline.source.tables import TABLES
from conjoin.runtime.broker import Broker
from conjoin.store.sqlite.shard import SqliteShard
from tests.pipeline.source.stories import SHARDS, asking, read, rows_of

NEW_YEAR = datetime(2030, 1, 1, tzinfo=UTC)
NEW_YEAR_US = 1_893_456_000_000_000
THERE = ("deadline", "<=", LAST_DAY)


def reader(broker: Broker, table: str, **options: Any) -> PushingReader:
    return PushingReader(asking(broker.store.address, table, **options))


@pytest.mark.parametrize(
    ("table", "it", "asked"),
    [
        ("messages", EqualTo(("name",), "paid"), [("name", "=", "paid")]),
        ("messages", EqualNullSafe(("name",), "paid"), [("name", "=", "paid")]),
        ("messages", In(("verdict",), ("expired", None, "short")), [("verdict", "in", ["expired", "short"])]),
        ("messages", Not(EqualTo(("verdict",), "correlated")), [("verdict", "<>", "correlated")]),
        ("messages", EqualTo(("tenant_id",), "acme"), [("tenant_id", "=", "acme")]),
        ("messages", GreaterThanOrEqual(("published_at",), NEW_YEAR), [("published_at", ">=", NEW_YEAR_US)]),
        ("messages", LessThan(("deadline_at",), NEW_YEAR), [("deadline", "<", NEW_YEAR_US), THERE]),
        ("messages", IsNull(("deadline_at",)), [("deadline", ">", LAST_DAY)]),
        ("messages", IsNotNull(("deadline_at",)), [THERE]),
        ("messages", IsNotNull(("name",)), []),
        ("verdicts", LessThanOrEqual(("message_key",), 7), [("key", "<=", 7)]),
        ("correlations", EqualTo(("correlation_key",), "o-1"), [("correlation_key", "=", "o-1")]),
        ("subscriptions", EqualTo(("state",), "open"), [("closed_at", "=", None), ("busy_with", "=", 0)]),
        ("subscriptions", EqualTo(("state",), "closed"), [("closed_at", "<>", None)]),
        ("subscriptions", IsNotNull(("state",)), []),
        ("instances", EqualTo(("process_id",), "order"), [("process_id", "=", "order")]),
        ("instances", EqualTo(("state",), "active"), [("state", "=", "active")]),
        ("instances", IsNull(("ended_at",)), [("ended_at", "=", None)]),
        ("instances", GreaterThan(("parent_key",), 5), [("parent_key", ">", 5), ("parent_key", "<>", 0)]),
        ("instances", EqualTo(("version",), 2), [("version", "=", 2)]),
        ("events", LessThan(("at",), NEW_YEAR), [("at", "<", NEW_YEAR_US)]),
        ("events", GreaterThan(("version",), 3), [("version", ">", 3)]),
    ],
)
def test_what_the_store_can_answer_is_asked_of_it_and_not_of_spark(
    sqlite_stories: Broker, monkeypatch: pytest.MonkeyPatch, table: str, it: Filter, asked: list[Any]
) -> None:
    its = reader(sqlite_stories, table)
    heard = listen(monkeypatch)
    assert its.pushFilters([it]) == []
    rows_of(its)
    assert [where for _, _, where in heard] == [[*TABLES[table].where, *asked]] * SHARDS


def listen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], list[Any]]]:
    """Everything that stores are asked to scan from here on."""
    heard = []
    scan: Callable[..., Any] = SqliteShard.scan

    def heard_scan(shard: SqliteShard, table: str, columns: Any, where: Any = ()) -> Any:
        heard.append((table, list(columns), list(where)))
        return scan(shard, table, columns, where)

    monkeypatch.setattr(SqliteShard, "scan", heard_scan)
    return heard


@pytest.mark.parametrize(
    ("table", "it"),
    [
        ("messages", StringStartsWith(("name",), "pa")),
        ("messages", GreaterThan(("name",), "paid")),
        ("messages", EqualTo(("name",), "half a \ud800")),
        ("messages", EqualTo(("name",), "a\0b")),
        ("messages", In(("name",), ("paid", "a\0b"))),
        ("messages", EqualNullSafe(("name",), None)),
        ("messages", EqualTo(("published_at",), datetime(2030, 1, 1))),
        ("messages", IsNull(("name",))),
        ("messages", Not(In(("name",), ("paid",)))),
        ("messages", Not(EqualTo(("state",), "buffered"))),
        ("messages", EqualTo(("state",), "expired")),
        ("messages", EqualTo(("no column",), 1)),
        ("messages", EqualTo(("name", "first"), 1)),
        ("verdicts", StringStartsWith(("detail",), "{")),
        ("correlations", EqualTo(("process_id",), "order")),
        ("subscriptions", In(("state",), ("open", "busy"))),
        ("subscriptions", EqualTo(("interrupting",), True)),
        ("incidents", EqualTo(("tenant_id",), "acme")),
        ("events", EqualTo(("kind",), "MessagePublished")),
        ("events", EqualTo(("key",), 7)),
        ("messages", GreaterThan(("shard",), 0)),
    ],
)
def test_what_the_store_cannot_answer_is_left_to_spark(sqlite_stories: Broker, table: str, it: Filter) -> None:
    its = reader(sqlite_stories, table)
    assert its.pushFilters([it]) == [it]
    assert its.where == list(TABLES[table].where)


def test_buffered_messages_are_looked_for_among_the_live_ones_and_spark_looks_again(sqlite_stories: Broker) -> None:
    its, buffered = reader(sqlite_stories, "messages"), EqualTo(("state",), "buffered")
    assert its.pushFilters([buffered]) == [buffered]
    assert its.where == [("live", "=", 1)]


def test_only_the_shards_that_are_asked_for_are_read(sqlite_stories: Broker) -> None:
    for filters, shards in (
        ([EqualTo(("shard",), 1)], [1]),
        ([In(("shard",), (2, 0, 9))], [0, 2]),
        ([In(("shard",), (2, 0)), EqualTo(("shard",), 2), IsNotNull(("shard",))], [2]),
        ([EqualTo(("shard",), 9)], []),
    ):
        its = reader(sqlite_stories, "messages")
        assert its.pushFilters(filters) == []
        assert [part.shard for part in its.partitions()] == shards


def test_the_task_that_spark_runs_for_no_shard_gives_nothing(sqlite_stories: Broker) -> None:
    assert list(reader(sqlite_stories, "messages").read(None)) == []


@pytest.mark.parametrize(
    ("table", "columns", "stored"),
    [
        ("messages", "name,key", ["name", "key"]),
        ("messages", "shard", ["key"]),
        ("messages", "deadline_at, variables", ["deadline", "variables"]),
        ("verdicts", "correlated_to", ["record"]),
        ("correlations", "instance_key,process_id", ["record"]),
        ("instances", "key,state", ["key", "state"]),
        ("instances", "variables", ["body"]),
        ("events", "kind,at", ["at", "block"]),
    ],
)
def test_only_what_the_asked_columns_need_is_read(
    sqlite_stories: Broker, monkeypatch: pytest.MonkeyPatch, table: str, columns: str, stored: list[str]
) -> None:
    heard = listen(monkeypatch)
    read(asking(sqlite_stories.store.address, table, columns=columns))
    assert {tuple(found) for _, found, _ in heard} == {tuple(stored)}


COMPARE: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: lambda mine, theirs: mine == theirs,
    EqualNullSafe: lambda mine, theirs: mine == theirs,
    GreaterThan: lambda mine, theirs: mine > theirs,
    GreaterThanOrEqual: lambda mine, theirs: mine >= theirs,
    LessThan: lambda mine, theirs: mine < theirs,
    LessThanOrEqual: lambda mine, theirs: mine <= theirs,
    In: lambda mine, theirs: mine in theirs,
}


def passes(it: Any, row: dict[str, Any]) -> bool:
    """What Spark says of a row: where null is compared, the answer is neither yes nor no."""
    if isinstance(it, Not):
        return row[it.child.attribute[0]] is not None and not passes(it.child, row)
    mine = row[it.attribute[0]]
    if isinstance(it, (IsNull, IsNotNull)):
        return (mine is None) == isinstance(it, IsNull)
    return mine is not None and COMPARE[type(it)](mine, it.value)


class Chance:
    """Filters about the values that a table has, and some that lie beside them."""

    def __init__(self, seed: int, table: str, rows: list[dict[str, Any]]) -> None:
        self._random = random.Random(f"{seed} {table}")
        self._rows = rows
        kinds = {name: column.kind for name, column in TABLES[table].columns.items()}
        self._columns = [name for name, kind in kinds.items() if kind not in (KEYS, TRUTH)]

    def filter(self) -> Filter:
        name = self._random.choice(self._columns)
        kind = self._random.choice([*COMPARE, IsNull, IsNotNull, Not])
        if kind in (IsNull, IsNotNull):
            return kind((name,))
        if kind is Not:
            return Not(EqualTo((name,), self._value(name)))
        if kind is In:
            return In((name,), tuple(self._value(name) for _ in range(self._random.randint(1, 4))))
        return kind((name,), self._value(name))

    def _value(self, name: str) -> Any:
        there = [row[name] for row in self._rows if row[name] is not None]
        value = self._random.choice(there or [0])
        if not isinstance(value, (int, datetime)) or self._random.random() < 0.6:
            return value
        if isinstance(value, datetime):
            return value + self._random.choice([-1, 1]) * timedelta(microseconds=1)
        return self._random.choice([value - 1, value + 1, 0])


@pytest.mark.parametrize("table", TABLES)
def test_with_filters_the_same_rows_pass_whoever_looks_at_them(stories: Broker, table: str, seed: int) -> None:
    asked = asking(stories.store.address, table)
    rows = read(asked)
    chance = Chance(seed, table, rows)
    for round_ in range(12):
        filters = [chance.filter() for _ in range(1 + round_ % 3)]
        its = PushingReader(asked)
        left = its.pushFilters(filters)
        ours = [row for row in rows_of(its) if all(passes(it, row) for it in left)]
        theirs = [row for row in rows if all(passes(it, row) for it in filters)]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), filters
