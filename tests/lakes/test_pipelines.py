"""Pipelines from lakes into lakes, by Delta's and Iceberg's own connectors: each batch once, whatever dies."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conjoin.errors import InputError
from conjoin.pipeline import Pipeline
from conjoin.pipeline.declared import delivery

Row = tuple[Any, ...]
MESSAGES = "no long, order string, paid timestamp"
WAITING = "process_id string, name string, correlation_key string, opened_at timestamp, instance_id string"
COLUMNS = {"position": "no", "name": "'Paid'", "correlation_key": "order", "published_at": "paid"}


class Lake:
    """Tables of one kind: where one is, for a pipeline and for Spark."""

    def __init__(self, spark: SparkSession, kind: str, folder: Path) -> None:
        self.spark, self.kind, self.folder = spark, kind, folder
        self._names = folder.name.replace("-", "_")

    def place(self, table: str) -> dict[str, str]:
        if self.kind == "delta":
            return {"format": "delta", "path": str(self.folder / table)}
        return {"format": "iceberg", "table": f"ice.{self._names}.{table}"}

    def append(self, table: str, schema: str, rows: list[Row]) -> None:
        texts = self.spark.createDataFrame(rows, schema.replace("timestamp", "string"))
        names = [column.split() for column in schema.split(", ")]
        frame = texts.selectExpr(*(f"cast({name} as {kind}) as {name}" for name, kind in names))
        place = self.place(table)
        writer = frame.write.format(place["format"]).mode("append")
        writer.save(place["path"]) if "path" in place else writer.saveAsTable(place["table"])

    def rows(self, table: str, *columns: str) -> list[Row]:
        place = self.place(table)
        frame = self.spark.read.format(place["format"]).load(place.get("path") or place["table"])
        return sorted(tuple(row) for row in frame.select(*columns).collect())


@pytest.fixture(params=["delta", "iceberg"])
def lake(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    folder = tmp_path / f"lake_{tmp_path.name}"
    folder.mkdir()
    return Lake(spark, request.param, folder)


def at(minute: int) -> str:
    return f"2026-03-01T09:{minute:02}:00Z"


def waiting(key: str) -> Row:
    return "order", "Paid", key, at(0), f"i-{key}"


def pipeline(lake: Lake, *, stream: bool = True) -> Pipeline:
    sinks = [{"rows": rows, **lake.place(rows)} for rows in ("correlations", "notices")]
    messages = lake.place("paid") | {"columns": COLUMNS, "stream": stream}
    it = {"out": str(lake.folder / "out"), "buckets": 4} | ({"state": str(lake.folder / "state")} if stream else {})
    sources = {"messages": messages, "subscriptions": lake.place("waiting") | {"stream": False}}
    return Pipeline.of({"sources": sources, "correlate": it} | ({"sinks": sinks} if stream else {}))


def test_a_stream_of_a_lake_goes_into_the_lake_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.append("waiting", WAITING, [waiting("a"), waiting("b")])
    lake.append("paid", MESSAGES, [(1, "a", at(1)), (2, "x", at(2)), (3, "b", at(30))])
    first = pipeline(lake).run(lake.spark, once=True)
    assert (first.rows, first.out["correlations"], first.held["pending"]) == (5, 1, 1)
    lake.append("paid", MESSAGES, [(4, "y", at(40))])
    # It dies when the sinks have the batch, and before that is noted.
    monkeypatch.setattr(delivery.SinkDelivery, "_note", _die)
    with pytest.raises(OSError, match="no note"):
        pipeline(lake).run(lake.spark, once=True)
    monkeypatch.undo()
    assert pipeline(lake).run(lake.spark, once=True).rows == 0
    assert lake.rows("correlations", "position", "instance_id") == [(1, "i-a"), (3, "i-b")]
    assert lake.rows("notices", "position", "kind") == [(2, "discarded")]


def _die(*_: object) -> None:
    raise OSError("no note was made")


def test_a_state_that_begins_anew_is_not_taken_for_the_old_one(lake: Lake) -> None:
    lake.append("waiting", WAITING, [waiting("a")])
    lake.append("paid", MESSAGES, [(1, "a", at(1)), (2, "x", at(2))])
    pipeline(lake).run(lake.spark, once=True)
    (lake.folder / "state").rename(lake.folder / "old state")
    with pytest.raises(InputError, match="has the results of another state"):
        pipeline(lake).run(lake.spark, once=True)
    (lake.folder / "out").rename(lake.folder / "old out")
    pipeline(lake).run(lake.spark, once=True)
    # Both have told it: they are two streams of the same rows.
    assert lake.rows("correlations", "position") == [(1,), (1,)]


def test_tables_of_a_lake_are_correlated_in_one_run(lake: Lake) -> None:
    lake.append("waiting", WAITING, [waiting("a")])
    lake.append("paid", MESSAGES, [(1, "a", at(1)), (2, "x", at(2))])
    result = pipeline(lake, stream=False).run(lake.spark)
    assert result.verdicts == {("correlated", "waiting_instance"): 1, ("discarded", "ttl_zero"): 1}


def test_a_run_of_tables_is_written_as_delta(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, "delta", tmp_path)
    lake.append("waiting", WAITING, [waiting("a")])
    lake.append("paid", MESSAGES, [(1, "a", at(1))])
    sources: dict[str, Any] = {"messages": lake.place("paid") | {"columns": COLUMNS, "stream": False}}
    sources["subscriptions"] = lake.place("waiting") | {"stream": False}
    it = {"out": str(tmp_path / "out"), "format": "delta"}
    for _ in range(2):
        Pipeline.of({"sources": sources, "correlate": it}).run(spark)
    assert spark.read.format("delta").load(str(tmp_path / "out" / "verdicts")).count() == 1
