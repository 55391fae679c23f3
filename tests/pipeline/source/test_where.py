"""The option `where`: read as SQL would read it, asked of the store, and what the store cannot say looked at here."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from conjoin.pipeline.source.options import ReadOptions
from conjoin.pipeline.source.reader import ConjoinReader, PushingReader
from conjoin.pipeline.source.tables import TABLES
from conjoin.pipeline.source.where import Unreadable, read_where
from conjoin.runtime.broker import Broker
from tests.pipeline.source.stories import asking, read, rows_of
from tests.pipeline.source.test_filters import Chance, passes

MORNING = datetime(2026, 1, 31, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("name = 'paid'", [EqualTo(("name",), "paid")]),
        ("  name='it''s -- ; and' ", [EqualTo(("name",), "it's -- ; and")]),
        ("name <> ''", [Not(EqualTo(("name",), ""))]),
        ("name != 'a' AND key >= -7", [Not(EqualTo(("name",), "a")), GreaterThanOrEqual(("key",), -7)]),
        ("key<9223372036854775807", [LessThan(("key",), 2**63 - 1)]),
        ("published_at <= '2026-01-31T08:00:00Z'", [LessThanOrEqual(("published_at",), MORNING)]),
        ("published_at <= '2026-01-31 08:00'", [LessThanOrEqual(("published_at",), MORNING)]),
        ("published_at = '2026-01-31T09:00:00+01:00'", [EqualTo(("published_at",), MORNING)]),
        ("verdict in ('expired','discarded' )", [In(("verdict",), ("expired", "discarded"))]),
        (
            "deadline_at is null and decided_at Is Not NULL",
            [IsNull(("deadline_at",)), IsNotNull(("decided_at",))],
        ),
    ],
)
def test_it_is_read_as_sql_reads_it(text: str, filters: list[Any]) -> None:
    assert read_where(text, TABLES["messages"].columns) == filters


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the end stands where a column should be: shard, key, name"),
        ("nam = 'paid'", "nam stands where a column should be: shard, key, name"),
        ("name = 'paid' and", "the end stands where a column should be: shard"),
        ("name = 'paid' or key = 1", "or stands where and should be"),
        ("name like 'p%'", "like stands where = or <> or != or < or <= or > or >= or in or is should be"),
        ("name", "the end stands where = or"),
        ("name = ", "name can be compared with a text in single quotes, and not with the end"),
        ('name = "paid"', "'\"paid\"' cannot be read"),
        ("name = 'paid", '"\'paid" cannot be read'),
        ("key = '7'", "key can be compared with a whole number, and not with '7'"),
        ("key = 9223372036854775808", "key can be compared with a whole number"),
        ("key = 1.5", "'.5' cannot be read"),
        ("published_at > 7", "published_at can be compared with an instant such as '2026-01-31T08:00:00Z', and not"),
        ("published_at > 'yesterday'", "published_at can be compared with an instant"),
        ("verdict in ('expired'", "the end stands where , or ) should be"),
        ("verdict in ()", "verdict can be compared with a text in single quotes, and not with )"),
        ("verdict is 'expired'", "'expired' stands where not or null should be"),
        ("name = 'a'; drop table message", "'; drop table message' cannot be read"),
    ],
)
def test_what_it_cannot_say_is_said(text: str, problem: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read_where(text, TABLES["messages"].columns)
    assert str(raised.value).startswith(problem)


def test_receivers_cannot_be_compared_with_anything() -> None:
    with pytest.raises(Unreadable, match="correlated_to can be compared with nothing, and not with 7"):
        read_where("correlated_to = 7", TABLES["verdicts"].columns)


@pytest.mark.parametrize(
    ("table", "where", "asked", "count"),
    [
        ("messages", "state = 'buffered' and name = 'paid'", [("live", "=", 1), ("name", "=", "paid")], 2),
        ("messages", "state in ('expired')", [], 1),
        ("correlations", "process_id = 'journey' and name = 'left'", [("name", "=", "left")], 3),
        ("subscriptions", "interrupting = false", [], 0),
        ("events", "kind = 'InstanceTerminated'", [], 1),
        ("incidents", "tenant_id <> 'acme'", [], 1),
    ],
)
def test_what_the_store_cannot_answer_is_looked_at_in_the_task(
    stories: Broker, table: str, where: str, asked: list[Any], count: int
) -> None:
    asking_for = asking(stories.store.address, table, where=where, columns=next(iter(TABLES[table].columns)))
    its = ConjoinReader(asking_for)
    assert its.where == [*TABLES[table].where, *asked]
    assert len(rows_of(its)) == count


def test_columns_that_are_only_compared_do_not_come_along(stories: Broker) -> None:
    found = read(asking(stories.store.address, "events", where="kind = 'InstanceTerminated'", columns="version,shard"))
    assert [list(row) for row in found] == [["version", "shard"]]


@pytest.mark.parametrize("table", TABLES)
def test_the_same_rows_pass_whoever_looks_at_them(stories: Broker, table: str, seed: int) -> None:
    whole = asking(stories.store.address, table)
    rows = read(whole)
    chance = Chance(seed + 1, table, rows)
    for round_ in range(12):
        filters = [it for _ in range(1 + round_ % 3) if type(it := chance.filter()).__name__ != "EqualNullSafe"]
        ours = read(whole._replace(filters=tuple(filters)))
        theirs = [row for row in rows if all(passes(it, row) for it in filters)]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), filters


def test_filters_of_the_option_and_of_spark_go_together(sqlite_stories: Broker) -> None:
    asked: ReadOptions = asking(sqlite_stories.store.address, "events", where="kind = 'MessagePublished'")
    its = PushingReader(asked)
    left = EqualTo(("name",), "paid")
    assert its.pushFilters([left, GreaterThanOrEqual(("version",), 1)]) == [left]
    assert its.where == [("version", ">=", 1)]
    assert {row["kind"] for row in rows_of(its)} == {"MessagePublished"}
    assert {row["name"] for row in rows_of(its)} > {"paid"}
