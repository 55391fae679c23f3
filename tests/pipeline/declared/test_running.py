"""Pipelines on Spark: streams and tables correlated, rows published into a store, results in sinks, each batch once."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conjoin.errors import InputError
from conjoin.pipeline.declared import Pipeline
from conjoin.pipeline.declared.file import DeclaredSource
from conjoin.pipeline.declared.pipeline import PipelineResult
from conjoin.pipeline.declared.sources import mapped
from conjoin.runtime.opening import create_broker
from tests.pipeline.streaming.test_on_spark import at, message, waiting

pytestmark = pytest.mark.spark

MESSAGES = "no long, order string, paid string"
COLUMNS = {
    "position": "no",
    "name": "'Paid'",
    "correlation_key": "order",
    "published_at": "paid",
    "ttl_ms": "60000L",
    "variables": "to_json(named_struct('no', no))",
}
WAITING = (
    "process_id string, name string, correlation_key string, opened_at string, closed_at string, "
    "subscription_id string, instance_id string, element_id string"
)


def lines(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def paid(number: int, order: str, second: float) -> dict[str, Any]:
    return {"no": number, "order": order, "paid": at(second)}


def declared(folder: Path, **more: Any) -> dict[str, Any]:
    messages = {"path": str(folder / "paid"), "format": "jsonl", "types": MESSAGES, "columns": COLUMNS}
    waits = {"path": str(folder / "waiting"), "format": "jsonl", "types": WAITING, "stream": False}
    it = {"state": str(folder / "state"), "out": str(folder / "out"), "buckets": 4}
    return {"sources": {"messages": messages, "subscriptions": waits}, "correlate": it} | more


def test_stream_against_a_table_of_who_waits_goes_to_its_sinks_once(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0), waiting("b", 0), waiting("c", 5)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "x", 11), paid(3, "c", 200)])
    sinks = [
        {"rows": "correlations", "format": "jsonl", "path": str(tmp_path / "pairs")},
        {"rows": "notices", "format": "parquet", "path": str(tmp_path / "lost")},
    ]
    pipeline = Pipeline.of(declared(tmp_path, sinks=sinks))
    told: list[int] = []
    first = pipeline.run(spark, once=True, on_batch=lambda done: told.append(done.rows))
    # The first batch is what there was before.
    assert (first.rows, told, first.out["correlations"]) == (6, [3, 6], 1)
    assert first.held["open"] == 2
    lines(tmp_path / "paid", "2.jsonl", [paid(4, "b", 210), paid(5, "b", 300)])
    again = Pipeline.of(declared(tmp_path, sinks=sinks))
    second = again.run(spark, once=True)
    assert (second.rows, second.out["correlations"]) == (2, 2)
    assert again.run(spark, once=True).rows == 0
    pairs = spark.read.json(str(tmp_path / "pairs")).select("batch", "correlation_key").collect()
    assert sorted(tuple(row) for row in pairs) == [(1, "a"), (2, "b"), (2, "c")]
    lost = spark.read.parquet(str(tmp_path / "lost")).select("kind", "position").collect()
    assert [tuple(row) for row in lost] == [("expired", 2)]


def test_sink_that_failed_gets_its_batch_when_the_pipeline_starts_again(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "b", 20)])
    blocked = tmp_path / "pairs"
    blocked.write_text("a file where a folder should be")
    sinks = [{"rows": "correlations", "format": "parquet", "path": str(blocked)}]
    with pytest.raises(Exception, match="pairs"):
        Pipeline.of(declared(tmp_path, sinks=sinks)).run(spark, once=True)
    blocked.unlink()
    Pipeline.of(declared(tmp_path, sinks=sinks)).run(spark, once=True)
    assert spark.read.parquet(str(blocked)).count() == 1


def test_tables_are_correlated_in_one_run(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "b", 20)])
    written = declared(tmp_path)
    written["sources"]["messages"]["stream"] = False
    pipeline = Pipeline.of(written)
    for _ in range(2):
        result = pipeline.run(spark)
        assert (pipeline.does, result.rows, result.out["verdicts"]) == ("correlate tables", 3, 2)
    assert spark.read.parquet(str(tmp_path / "out" / "verdicts")).count() == 2


def publishing(folder: Path, **source: Any) -> Pipeline:
    create_broker(folder / "data", 2).close()
    mapping = {"name": "Paid", "key": "= order", "ttl": "1h"}
    to = {"store": str(folder / "data"), "source": "payments", "mapping": mapping}
    if "table" in source:
        to["position"] = "no"
    return Pipeline.of({"sources": {"messages": source}, "publish": to})


def counted(result: PipelineResult) -> tuple[int, int, int]:
    return result.out["messages"], result.out["dead_letters"], result.out["repeated"]


def test_files_and_tables_are_published_into_a_store(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), {"no": 2, "order": ["b"]}])
    files = publishing(tmp_path / "one", path=str(tmp_path / "paid"), format="jsonl")
    assert counted(files.run(spark, once=True)) == (1, 1, 0)
    assert files.run(spark, once=True).rows == 0
    spark.createDataFrame([(1, "a"), (2, "b")], "no long, order string").createOrReplaceTempView("paid_orders")
    table = publishing(tmp_path / "two", table="paid_orders", stream=False)
    assert [counted(table.run(spark, once=True)) for _ in range(2)] == [(2, 0, 0), (0, 0, 2)]


def test_files_that_are_no_stream_and_files_with_positions_are_published(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "b", 20)])
    files = {"path": str(tmp_path / "paid"), "format": "jsonl"}
    table = publishing(tmp_path / "one", **files, stream=False)
    assert counted(table.run(spark)) == (2, 0, 0)
    assert table.run(spark).rows == 0
    create_broker(tmp_path / "two" / "data", 2).close()
    mapping = {"name": "Paid", "key": "= order", "ttl": "1h"}
    to = {"store": str(tmp_path / "two" / "data"), "source": "payments", "mapping": mapping, "position": "no"}
    some = files | {"types": MESSAGES, "where": "no > 1"}
    by_number = Pipeline.of({"sources": {"messages": some}, "publish": to})
    assert counted(by_number.run(spark, once=True)) == (1, 0, 0)


def test_records_of_kafka_without_columns_are_messages_and_nothing_else(spark: SparkSession) -> None:
    record = "cast('k' as binary) as key, cast('{\"name\": \"Paid\"}' as binary) as value, 'paid' as topic"
    records = spark.sql(f"select {record}, 0 as partition, 7L as offset, timestamp '2026-01-01' as timestamp, 0 as t")
    options = {"kafka.bootstrap.servers": "nowhere:1", "subscribe": "paid"}
    source = DeclaredSource(format="kafka", options=options, types="name string, order string")
    assert mapped(records, source).columns == ["name", "order"]
    with_columns = DeclaredSource(format="kafka", options=options, types="name string", columns={"n": "kafka.offset"})
    assert [tuple(row) for row in mapped(records, with_columns).collect()] == [(7,)]


def test_what_spark_finds_wrong_with_sources_is_told_together(spark: SparkSession, tmp_path: Path) -> None:
    written = declared(tmp_path)
    written["sources"]["messages"]["columns"] = {"name": "no_such_column"}
    (tmp_path / "paid").mkdir()
    written["sources"]["subscriptions"] = {"table": "nowhere", "stream": False}
    with pytest.raises(InputError) as raised:
        Pipeline.of(written).run(spark, once=True)
    assert [problem.split(":")[0] for problem in raised.value.problems] == ["sources.messages", "sources.subscriptions"]
    assert message(1, "a", 1)["name"] == "Paid"
