"""Columns of every type: those that can be read are, other columns travel along, and impossible ones are one error."""

import json
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.correlate import correlate
from tests.pipeline.test_bad_input import at

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MORNING = datetime(2026, 1, 31, 8, tzinfo=UTC)
EVENING = datetime(2026, 1, 31, 20, tzinfo=UTC)


PUBLISHED = "name string, correlation_key string, published_at timestamp, position long, ttl_ms long"


def waits(spark: SparkSession, *names_and_keys: tuple[str, str | None]) -> DataFrame:
    rows = [("p", name, key, MORNING) for name, key in names_and_keys]
    return spark.createDataFrame(rows, "process_id string, name string, correlation_key string, opened_at timestamp")


def test_a_position_that_occurs_twice_counts_once(spark: SparkSession) -> None:
    rows = [
        ("copy", "a", NOON, 1, 0),
        ("copy", "a", NOON, 1, 0),
        ("two keys", "a", NOON, 2, 0),
        ("two keys", "b", NOON, 2, 0),
        ("null or text", None, NOON, 3, 0),
        ("null or text", "null or text", NOON, 3, 0),
        ("differ", "a", NOON, 4, 1),
        ("differ", "a", NOON, 4, 2),
        ("alone", "a", NOON, 5, 0),
        ("none", "a", NOON, None, 0),
        ("none", "a", NOON, None, 0),
        (None, "a", NOON, 6, 0),
    ]
    messages = spark.createDataFrame(rows, PUBLISHED).withColumn("place", F.lit("here"))
    with pytest.warns(UserWarning, match="place"):
        result = correlate(messages, waits(spark), partitions=2)
    with result:
        verdicts = Counter(row.position for row in result.verdicts.collect())
        dead = [(json.loads(row.row), row.reason) for row in result.dead_letters.collect()]
    assert verdicts == {1: 1, 2: 1, 3: 1, 4: 1, 5: 1, None: 2}
    assert Counter(reason for _, reason in dead) == {"duplicate_position": 4, "missing_name": 1}
    assert len(rows) == verdicts.total() + len(dead)
    assert {name for row, _ in dead for name in row} == {*messages.columns}


def test_keys_of_integers_and_times_without_a_zone_are_read(spark: SparkSession) -> None:
    keys = [42, -7, None]
    schema = "name string, correlation_key int, published_at timestamp_ntz, position short"
    messages = spark.createDataFrame([("n", key, datetime(2026, 1, 31, 12), 1) for key in keys], schema)
    messages = messages.withColumn("position", F.col("correlation_key").cast("short"))
    receivers = waits(spark, ("n", "42"), ("n", "-7"), ("n", ""))
    with correlate(messages, receivers, as_of=EVENING, partitions=1) as result:
        verdicts = result.verdicts.collect()
        assert result.dead_letters.count() == 0
    assert [row.verdict for row in verdicts] == ["correlated"] * 3
    assert {row.correlation_key for row in verdicts} == set(keys)
    assert {at(row.decided_at) for row in verdicts} == {NOON}


def test_keys_of_decimals_and_a_ttl_of_doubles_are_read_and_nan_is_none(spark: SparkSession) -> None:
    rows = {"hour": 3.6e6, "nan": float("nan"), "half": 0.5, "endless": float("inf"), "null": None, "waits": 1.0}
    schema = (
        "name string, published_at date, ttl_ms double, correlation_key decimal(10,0), variables map<string, string>"
    )
    data = [(name, date(2026, 2, 1), ttl, Decimal(42), {"a": "1"}) for name, ttl in rows.items()]
    messages = spark.createDataFrame(data, schema)
    with correlate(messages, waits(spark, ("waits", "42")), as_of="2026-02-01T00:30", partitions=1) as result:
        verdicts = {row.name: row.verdict for row in result.verdicts.collect()}
        dead = {json.loads(row.row)["name"]: row.reason for row in result.dead_letters.collect()}
        assert {row.variables["a"] for row in result.verdicts.collect()} == {"1"}
    assert verdicts == {"hour": "buffered", "nan": "discarded", "null": "discarded", "waits": "correlated"}
    assert dead == {"half": "bad_ttl", "endless": "bad_ttl"}


OTHERS = """name, correlation_key, published_at,
    named_struct('a', 1, 'b', array('x')) as variables, named_struct('in', named_struct('deep', 1.5d)) as a_struct,
    array(1, null, 3) as an_array, map('k', array(1)) as a_map, X'00ff' as some_bytes, 12.340bd as a_decimal,
    published_at as a_time, timestamp_ntz'2026-01-31 12:00:00' as local_time, date'2026-01-31' as a_date,
    true as a_truth, 1.5f as a_float, cast(null as void) as nothing, interval 1 day as an_interval,
    'y' as `with.dot`, 'z' as `back``tick`, 'w' as `place`, 1y as chosen, 'v' as repeated, 'u' as m_name"""


def test_other_columns_of_every_type_travel_along_with_one_warning(spark: SparkSession) -> None:
    rows = [("n", "k", NOON), ("n", "late", datetime(2026, 2, 1, tzinfo=UTC)), (None, "nameless", NOON)]
    plain = spark.createDataFrame(rows, "name string, correlation_key string, published_at timestamp")
    messages = plain.selectExpr(*_split(OTHERS))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = correlate(messages, waits(spark, ("n", "k")), as_of=EVENING, partitions=1)
        said = [str(one.message) for one in seen if "travel along" in str(one.message)]
    with result:
        verdicts = result.verdicts
        assert verdicts.columns[: len(messages.columns)] == messages.columns
        assert verdicts.select(*(F.col(_quoted(name)) for name in messages.columns)).schema.simpleString() == (
            messages.schema.simpleString()
        )
        (row,) = verdicts.collect()
        (later,) = result.later.collect()
        (dead,) = result.dead_letters.collect()
    (original,) = messages.where("correlation_key = 'k'").collect()
    assert tuple(row)[: len(messages.columns)] == tuple(original)
    assert len(said) == 1
    assert all(name in said[0] for name in ("a_struct", "with.dot"))
    assert json.loads(later.row)["a_struct"] == {"in": {"deep": 1.5}}
    assert json.loads(dead.row)["a_decimal"] == 12.34


def _split(columns: str) -> list[str]:
    """At the commas outside parentheses."""
    parts, depth = [""], 0
    for character in columns:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def test_bytes_that_are_no_text_are_unreadable(spark: SparkSession) -> None:
    columns = ["name", "correlation_key", "message_id", "business_id", "tenant_id", "variables"]
    broken = "cast(X'61ff62' as string)"
    wholes = {"name": "'n'", "correlation_key": "'k'", "variables": "'{}'"}
    queries = []
    for bad in (*columns, "none"):
        values = [broken if name == bad else wholes.get(name, "null") for name in columns]
        named = [f"{value} as {name}" for name, value in zip(columns, values, strict=True)]
        queries.append(f"select {', '.join(named)}, timestamp'2026-01-31 12:00:00' as published_at, {broken} as more")
    messages = spark.sql(" union all ".join(queries))
    with pytest.warns(UserWarning, match="more"):
        result = correlate(messages, waits(spark, ("n", "k")), partitions=1)
    with result:
        dead = [(row.reason, json.loads(row.detail)["column"]) for row in result.dead_letters.collect()]
        assert result.verdicts.count() == 1
    assert sorted(dead) == sorted(("unreadable", name) for name in columns)


@pytest.mark.parametrize("empty", ["messages starts", "subscriptions ends", "messages subscriptions starts ends"])
def test_empty_tables_are_tables(spark: SparkSession, empty: str) -> None:
    tables = {
        "messages": spark.createDataFrame([("n", "k", NOON, 1, 0)], PUBLISHED),
        "subscriptions": waits(spark, ("n", "k")),
        "starts": spark.createDataFrame([("q", "n")], "process_id string, name string"),
        "ends": spark.createDataFrame(
            [("q", "k", MORNING)], "process_id string, correlation_key string, ended_at timestamp"
        ),
    }
    given = {name: frame.where("false") if name in empty.split() else frame for name, frame in tables.items()}
    with correlate(**given, partitions=2) as result:
        counts = [result.verdicts.count(), result.correlations.count(), result.open.count(), result.locks.count()]
        ignored = result.ends_ignored.collect()[0]["count"]
    expected = {"messages starts": ([0, 0, 1, 0], 1), "subscriptions ends": ([1, 1, 0, 1], 0)}
    assert (counts, ignored) == expected.get(empty, ([0, 0, 0, 0], 0))


Change = Callable[[DataFrame], DataFrame]
IMPOSSIBLE: dict[str, tuple[Change, list[str]]] = {
    "a double key and a missing time": (
        lambda f: f.withColumn("correlation_key", F.lit(1.5)).drop("published_at"),
        ["column correlation_key is double", "column published_at is missing"],
    ),
    "nothing at all": (lambda f: f.select(), ["column name is missing", "column published_at is missing"]),
    "fractions": (
        lambda f: f.withColumn("correlation_key", F.lit(1).cast("decimal(10,2)")).withColumn("ttl_ms", F.array()),
        ["column correlation_key is decimal(10,2)", "column ttl_ms is array<void>"],
    ),
    "names of ours": (
        lambda f: f.withColumn("verdict", F.lit("")).withColumn("Reason", F.lit("")),
        ["column verdict would be overwritten", "column Reason would be overwritten"],
    ),
    "names that differ in case": (
        lambda f: f.toDF("name", "NAME", "published_at", "position", "ttl_ms"),
        ["columns name and NAME are the same"],
    ),
    "variables and time of strange types": (
        lambda f: f.withColumn("variables", F.lit(1)).withColumn("published_at", F.lit(True)),
        ["column variables is int", "column published_at is boolean"],
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_columns_are_one_error_before_any_job(spark: SparkSession, case: str) -> None:
    change, expected = IMPOSSIBLE[case]
    messages = change(spark.createDataFrame([], PUBLISHED))
    subscriptions = waits(spark).drop("opened_at", "name")
    with pytest.raises(InputError) as raised:
        correlate(messages, subscriptions, ends=spark.createDataFrame([], "ended_at binary"))
    expected = [f"messages: {words}" for words in expected]
    expected += ["subscriptions: column name is missing", "subscriptions: column opened_at is missing"]
    expected += ["ends: column process_id is missing", "ends: column ended_at is binary"]
    assert len(raised.value.problems) == len(expected)
    for words in expected:
        assert any(problem.startswith(words) for problem in raised.value.problems), words


@pytest.mark.parametrize("moment", ["noon", 1.5, True])
def test_an_instant_that_is_none_is_an_error(spark: SparkSession, moment: Any) -> None:
    with pytest.raises(InputError, match="as_of"):
        correlate(spark.createDataFrame([], PUBLISHED), waits(spark), as_of=moment)
