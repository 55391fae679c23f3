"""The data source in a session: the same rows in DataFrames, its filters in the store, and its errors."""

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from conjoin.pipeline import register
from conjoin.runtime.broker import Broker
from tests.pipeline.source.stories import asking, read

KEYS = range(20)
PUBLISHED = datetime(2030, 1, 1, 0, 0, 1, tzinfo=UTC)
"""All messages of the stories."""

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module", autouse=True)
def registered(spark: "SparkSession") -> None:
    register(spark)


def frame(spark: "SparkSession", broker: Broker, table: str, **options: Any) -> "DataFrame":
    address = broker.store.address
    place = "url" if address.startswith("postgresql://") else "path"
    return spark.read.format("conjoin").options(**{place: address}, table=table, **options).load()


def told(found: list[dict[str, Any]]) -> Counter[str]:
    """Rows in any order. Spark gives instants in the zone of the session, which is UTC, and does not say so."""
    return Counter(repr({name: _plain(value) for name, value in row.items()}) for row in found)


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.mark.parametrize("table", ["messages", "correlations", "events", "dead_letters"])
def test_a_table_is_a_dataframe_with_the_same_rows(spark: "SparkSession", sqlite_stories: Broker, table: str) -> None:
    found = [row.asDict() for row in frame(spark, sqlite_stories, table).collect()]
    assert told(found) == told(read(asking(sqlite_stories.store.address, table)))


def test_a_store_on_postgresql_is_read_part_by_part(spark: "SparkSession", stories: Broker) -> None:
    parts = frame(spark, stories, "correlations", partitions_per_shard=2)
    found = [row.asDict() for row in parts.collect()]
    assert told(found) == told(read(asking(stories.store.address, "correlations")))


def plan_of(asked: "DataFrame") -> str:
    """The plan as it is carried out."""
    return str(asked._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("table", "condition", "is_left"),
    [
        ("messages", "name = 'paid' and tenant_id = '<default>' and verdict in ('correlated', 'expired')", False),
        ("messages", "published_at >= '2030-01-01' and deadline_at < '2030-01-01 00:00:01.000001'", False),
        ("messages", f"deadline_at is null and shard in (0, 1, 2) and not key in ({', '.join(map(str, KEYS))})", True),
        ("subscriptions", "state = 'open' and process_id = 'order' and correlation_key like '%2'", True),
        ("instances", "ended_at is not null and state != 'active'", False),
    ],
)
def test_filters_of_a_query_go_to_the_store_if_it_was_asked_for(
    spark: "SparkSession", sqlite_stories: Broker, table: str, condition: str, is_left: bool
) -> None:
    pushed = frame(spark, sqlite_stories, table, push_filters="true").filter(condition)
    assert ("Filter " in plan_of(pushed)) == is_left
    whole = frame(spark, sqlite_stories, table).collect()
    expected = spark.createDataFrame(whole, pushed.schema).filter(condition).collect()
    assert 0 < len(expected) < len(whole)
    assert sorted(map(repr, pushed.collect())) == sorted(map(repr, expected))


def test_many_values_and_instants_of_python_go_to_the_store(spark: "SparkSession", sqlite_stories: Broker) -> None:
    whole = frame(spark, sqlite_stories, "messages", columns="key,published_at", push_filters="true")
    [_, *others] = [row["key"] for row in read(asking(sqlite_stories.store.address, "messages"))]
    asked = whole.filter(whole.key.isin([*KEYS, *others]) & (whole.published_at == PUBLISHED))
    assert "Filter " not in plan_of(asked)
    assert {row.key for row in asked.collect()} == set(others)


def test_a_dataframe_can_be_used_again_with_other_filters(spark: "SparkSession", sqlite_stories: Broker) -> None:
    """Spark keeps what a source has planned for a filter, and takes it for the next query of the same DataFrame."""
    whole = frame(spark, sqlite_stories, "instances", columns="key,state")
    states = [row["state"] for row in read(asking(sqlite_stories.store.address, "instances"))]
    ended, active = whole.filter("state <> 'active'"), whole.filter("state = 'active'")
    assert ended.count() == len(states) - states.count("active") > 0
    assert whole.count() == len(states)
    assert ended.union(active).count() == len(states)


def test_where_leaves_out_rows_before_they_come_to_spark(spark: "SparkSession", sqlite_stories: Broker) -> None:
    where = "state = 'buffered' and published_at = '2030-01-01T00:00:01Z'"
    found = frame(spark, sqlite_stories, "messages", where=where, columns="key,state").collect()
    rows = read(asking(sqlite_stories.store.address, "messages"))
    assert {row.key for row in found} == {row["key"] for row in rows if row["state"] == "buffered"} != set()


def test_no_shard_at_all_gives_no_rows(spark: "SparkSession", sqlite_stories: Broker) -> None:
    assert frame(spark, sqlite_stories, "messages").filter("shard = 9").collect() == []


def test_a_schema_of_the_users_own_chooses_the_columns(spark: "SparkSession", sqlite_stories: Broker) -> None:
    asked = spark.read.schema("name string, key bigint").format("conjoin").option("table", "messages")
    found = asked.load(sqlite_stories.store.address)
    assert found.columns == ["name", "key"]
    assert found.count() == len(read(asking(sqlite_stories.store.address, "messages")))


def test_a_view_in_sql_reads_the_store(spark: "SparkSession", sqlite_stories: Broker) -> None:
    place = f"path '{sqlite_stories.store.address}', table 'incidents'"
    spark.sql(f"create or replace temporary view incidents_here using conjoin options ({place})")
    [row] = spark.sql("select process_id, error_type from incidents_here where tenant_id = '<default>'").collect()
    assert tuple(row) == ("stuck-order", "EXTRACT_VALUE_ERROR")


def test_a_session_that_hands_no_filters_over_reads_all_the_same(spark: "SparkSession", sqlite_stories: Broker) -> None:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        assert frame(spark, sqlite_stories, "incidents").filter("tenant_id = '<default>'").count() == 1
    finally:
        register(spark)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": "/nowhere at all", "table": "messages"}, "StoreMissing: there is no store in /nowhere at all"),
        ({"path": "/nowhere at all", "table": "mesages"}, "InputError: there is no table 'mesages', but messages,"),
    ],
)
def test_what_is_wrong_is_said_when_the_table_is_loaded(
    spark: "SparkSession", options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(AnalysisException, match=sentence):
        spark.read.format("conjoin").options(**options).load()
