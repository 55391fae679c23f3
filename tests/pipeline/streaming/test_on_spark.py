"""Streams of files on Spark: taken once, gone on with, advanced to their end; what is refused; what a state holds."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from conjoin import correlate, correlate_stream
from conjoin.errors import InputError
from conjoin.pipeline.streaming import BatchReport, CorrelateStream
from tests.pipeline.many import AS_OF, SCHEMAS, Many, frame_of
from tests.pipeline.streaming.cuttings import KEPT, TIME, Row, Tables, one_run, tables_of
from tests.pipeline.streaming.test_any_cutting import check

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
ORDER = {"process_id": "order", "name": "Paid", "element_id": "wait"}


def at(second: float) -> str:
    return (BEGIN + timedelta(seconds=second)).isoformat()


def message(number: int, key: str, second: float, **more: Any) -> Row:
    return {"position": number, "name": "Paid", "correlation_key": key, "published_at": at(second)} | more


def waiting(key: str, second: float, **more: Any) -> Row:
    who = {"subscription_id": f"s-{key}", "instance_id": f"i-{key}", "correlation_key": key, "opened_at": at(second)}
    return ORDER | who | more


class Feed:
    """A folder of JSON lines for each table, and the streams of them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder
        self._files = 0
        for table in SCHEMAS:
            (folder / table).mkdir(parents=True)

    def __call__(self, **tables: list[Row]) -> None:
        self._files += 1
        for table, rows in tables.items():
            text = "".join(f"{json.dumps(row, default=str)}\n" for row in rows)
            (self.folder / table / f"{self._files:03}.jsonl").write_text(text)

    def stream(self, *tables: str, **options: Any) -> CorrelateStream:
        given: dict[str, DataFrame] = {table: self._stream_of(table) for table in tables or SCHEMAS}
        places = {"state": str(self.folder / "state"), "out": str(self.folder / "out")}
        return correlate_stream(**given, **(places | {"buckets": 4} | options))

    def _stream_of(self, table: str) -> DataFrame:
        return self._spark.readStream.schema(SCHEMAS[table]).json(str(self.folder / table))

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        found = self._spark.read.parquet(str(self.folder / "out" / table))
        return sorted(tuple(row) for row in found.select(*columns).collect())


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path / "stream")


def run(stream: CorrelateStream, **options: Any) -> list[BatchReport]:
    reports: list[BatchReport] = []
    query = stream.start(once=True, on_batch=reports.append, **options)
    query.awaitTermination()
    return reports


def test_streams_of_files_say_what_one_run_of_tables_says(spark: SparkSession, seed: int, feed: Feed) -> None:
    rng = Random(f"{seed}/files")
    many = Many(seed + 77, 30)
    tables = tables_of(many, rng)
    one_run(feed.folder / "one", tables, many.policies())
    stream = feed.stream(policies=many.policies(), lateness=timedelta(milliseconds=3), ignores_future_times=False)
    feed(starts=_texts(tables["starts"]))
    for batch in _in_three(tables, rng):
        feed(**{name: _texts(rows) for name, rows in batch.items()})
        run(stream)
    stream.advance(AS_OF)
    check(feed.folder, f"seed {seed}")
    kept = stream.tables()
    for name in KEPT:
        expected = spark.read.parquet(str(feed.folder / "one" / name))
        assert {field.name: field.dataType for field in kept[name].schema} == {
            field.name: field.dataType for field in expected.schema
        }
        some = [
            column for column in expected.columns if column not in ("kept_at", "detail", "reason", "subscription_id")
        ]
        assert _texts_of(kept[name], some) == _texts_of(expected, some), name


def _in_three(tables: Tables, rng: Random) -> list[Tables]:
    """Up to the instant of judgement, in the order of time, each row late by less than 3 ms."""
    rows = [(name, row) for name in TIME for row in tables[name] if row[TIME[name]] <= AS_OF]
    rows.sort(key=lambda one: one[1][TIME[one[0]]] + rng.randrange(3_000))
    third = len(rows) // 3
    parts = rows[:third], rows[third : 2 * third], rows[2 * third :]
    return [{name: [row for table, row in part if table == name] for name in TIME} for part in parts]


def _texts(rows: list[Row]) -> list[Row]:
    """Instants as JSON has them."""
    return [{name: _instant(value) if name.endswith("_at") else value for name, value in row.items()} for row in rows]


def _instant(value: int | None) -> str | None:
    return None if value is None else (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)).isoformat()


def _texts_of(rows: DataFrame, columns: list[str]) -> list[str]:
    return sorted(str(tuple(row)) for row in rows.select(*columns).collect())


def test_a_subscription_that_comes_again_is_closed_and_time_decides(feed: Feed) -> None:
    stream = feed.stream("messages", "subscriptions", lateness="10s", profile="zeebe")
    feed(
        subscriptions=[waiting(key, 0) for key in ("open", "closed", "late", "taken")],
        messages=[message(1, "taken", 1), message(2, "nobody", 2, ttl_ms=30_000)],
    )
    [first] = run(stream)
    assert (first.rows, first.held.pending) == (6, 6)
    feed(
        subscriptions=[waiting("closed", 0, closed_at=at(20)), waiting("clock", 50)],
        messages=[message(3, "open", 21), message(4, "closed", 22), message(5, "clock", 55)],
    )
    [second] = run(stream)
    assert second.out == {"verdicts": 4, "correlations": 2, "dead_letters": 0}
    # Of the one that was taken a closing comes as well, and a message that everybody has overtaken.
    feed(
        subscriptions=[waiting("taken", 0, closed_at=at(2))],
        messages=[message(6, "late", 30), message(7, "clock", 100), {"position": 8, "published_at": at(90)}],
    )
    [third] = run(stream)
    assert third.closings_ignored == 1
    assert third.dead_letters == {"messages late": 1, "messages missing_name": 1}
    stream.advance(at(200))
    assert feed.rows("verdicts", "position", "verdict", "reason") == [
        (1, "correlated", "waiting_instance"),
        (2, "expired", "nobody_waited"),
        (3, "correlated", "waiting_instance"),
        (4, "discarded", "ttl_zero"),
        (5, "correlated", "waiting_instance"),
        (7, "discarded", "ttl_zero"),
    ]
    held = stream.batches.last.held() if stream.batches.last else None
    assert held is not None
    assert (held.open, held.pending) == (1, 0)
    assert [row.correlation_key for row in stream.tables()["open"].collect()] == ["late"]


def test_a_row_of_the_future_waits_and_makes_no_other_late(feed: Feed) -> None:
    stream = feed.stream("messages", "subscriptions")
    feed(subscriptions=[waiting("a", 0)], messages=[message(1, "a", 10**9), message(2, "a", 5)])
    run(stream)
    feed(messages=[message(3, "a", 10)])
    [report] = run(stream)
    assert report.dead_letters == {}
    assert report.as_of is not None
    assert report.as_of == round(BEGIN.timestamp() + 10) * 1_000_000 - 1
    assert report.held.pending == 2


def test_a_batch_of_nothing_but_starts_judges_what_is_held_by_new_policies(feed: Feed) -> None:
    tables = "messages", "subscriptions", "starts"
    feed(messages=[message(1, "a", 1), message(2, "b", 20)])
    [first] = run(feed.stream(*tables, policies={"*": {"time_to_live": "1h"}}))
    assert (first.held.buffered, first.held.pending) == (1, 1)
    feed(starts=[{"process_id": "order", "name": "Placed"}])
    [second] = run(feed.stream(*tables, policies={"*": {"time_to_live": "10s"}}))
    assert (second.rows, second.held.buffered) == (0, 0)
    assert feed.rows("verdicts", "position", "verdict") == [(1, "expired")]


def test_a_state_keeps_to_its_checkpoint_its_buckets_and_its_columns(spark: SparkSession, feed: Feed) -> None:
    feed(subscriptions=[waiting("a", 0)], messages=[message(1, "a", 10), message(2, "a", 20)])
    two = "messages", "subscriptions"
    [first] = run(feed.stream(*two))
    assert run(feed.stream(*two)) == []
    with pytest.raises(InputError, match="goes on from another checkpoint"):
        feed.stream(*two).start(str(feed.folder / "other"), once=True)
    empty = {name: frame_of(spark, name, []) for name in two}
    places = {"state": str(feed.folder / "state"), "out": str(feed.folder / "out")}
    with pytest.raises(InputError, match="has 4 buckets, not 8"):
        correlate_stream(**empty, **places, buckets=8).batches.take(9, empty)
    wide = empty | {"messages": empty["messages"].selectExpr("*", "1 as more")}
    with pytest.raises(InputError, match=r"holds messages with the columns name string.*more int"):
        correlate_stream(**wide, **places, buckets=4).batches.take(9, wide)
    assert first.sequence == 0


def test_everything_that_is_wrong_is_told_before_anything_runs(spark: SparkSession, feed: Feed) -> None:
    messages, subscriptions = (frame_of(spark, name, []) for name in ("messages", "subscriptions"))
    places = {"state": str(feed.folder / "state"), "out": str(feed.folder / "out")}
    streams = feed.stream("messages", "subscriptions").shaped.frame
    with pytest.raises(InputError) as raised:
        correlate_stream(streams, subscriptions, **places, lateness="soon", buckets=0)
    assert raised.value.problems == [
        "buckets: 0 is no whole number above 0",
        "lateness: 'soon' is no duration such as 30s, 10m or 1h",
        "subscriptions: it is a table, and others are streams",
    ]
    with pytest.raises(InputError, match="messages: column verdict is written by the stream"):
        correlate_stream(messages.selectExpr("*", "'x' as verdict"), subscriptions, **places)
    with pytest.raises(InputError, match="it is no stream"):
        correlate_stream(messages, subscriptions, **places).start()
    assert not (feed.folder / "state").exists()


def test_a_run_of_tables_goes_on_from_a_state(spark: SparkSession, feed: Feed) -> None:
    stream = feed.stream("messages", "subscriptions", "ends", "starts")
    feed(
        starts=[{"process_id": "order", "name": "Placed"}],
        messages=[message(1, "a", 1, ttl_ms=3_600_000, message_id="m"), message(2, "b", 2) | {"name": "Placed"}],
        subscriptions=[waiting("c", 3)],
    )
    run(stream)
    stream.advance(at(4))
    kept = stream.tables()
    new = frame_of(spark, "messages", []), frame_of(spark, "subscriptions", [])
    after = spark.createDataFrame([("order", "Paid", "a", BEGIN + timedelta(seconds=5), "s-a")], _WAITING)
    with correlate(
        new[0].unionByName(kept["buffered"], allowMissingColumns=True),
        new[1].unionByName(kept["open"], allowMissingColumns=True).unionByName(after, allowMissingColumns=True),
        locks=kept["locks"],
        ids=kept["ids"],
        since=at(4),
        as_of=at(6),
    ) as day:
        assert [(row.position, row.verdict) for row in day.verdicts.collect()] == [(1, "correlated")]
        assert sorted(row.correlation_key for row in day.locks.collect()) == ["b"]


_WAITING = "process_id string, name string, correlation_key string, opened_at timestamp, subscription_id string"
