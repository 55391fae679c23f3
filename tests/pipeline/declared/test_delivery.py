"""Results of batches in sinks: each batch in each sink once, in the columns it asks for; a store is a sink, too."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conjoin.errors import InputError
from conjoin.pipeline import Pipeline
from conjoin.pipeline.declared import delivery
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.store import tables as t
from tests.pipeline.declared.test_running import declared, lines, paid
from tests.pipeline.streaming.test_on_spark import waiting

pytestmark = pytest.mark.spark


def run(spark: SparkSession, folder: Path, *sinks: dict[str, Any]) -> Any:
    return Pipeline.of(declared(folder, sinks=list(sinks))).run(spark, once=True)


def die(*_: object) -> None:
    raise OSError("it died before the note")


def test_what_is_lost_is_published_into_a_store_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_broker(tmp_path / "store", 2).close()
    columns = {
        "name": "'PaymentLost'",
        "key": "correlation_key",
        "ttl": "'1h'",
        "variables": "to_json(struct(position))",
    }
    sink = {"rows": "notices", "format": "conjoin", "path": str(tmp_path / "store"), "columns": columns}
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "x", 11), paid(3, "a", 100)])
    run(spark, tmp_path, sink)
    for number in (2, 3):
        lines(tmp_path / "paid", f"{number}.jsonl", [paid(10 * number, "y", 100 * number)])
        with monkeypatch.context() as patch:
            patch.setattr(delivery.SinkDelivery, "_note", die)
            with pytest.raises(OSError, match="before the note"):
                run(spark, tmp_path, sink)
        run(spark, tmp_path, sink)
    with closing(open_broker(tmp_path / "store")) as broker:
        rows = list(broker.store.rows(t.MESSAGE, {}, None, 100))
    assert {row.name for row in rows} == {"PaymentLost"}
    # The last one is not decided yet.
    assert sorted(json.loads(row.variables)["position"] for row in rows) == [2, 3, 20]


def test_sinks_get_the_rows_and_columns_they_ask_for(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0), waiting("b", 0), {"process_id": "order"}])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "b", 11), paid(3, "c", 200)])
    pairs = {"rows": "correlations", "format": "jsonl", "where": "correlation_key <> 'a'"}
    one = pairs | {"path": str(tmp_path / "one"), "columns": {"who": "instance_id"}}
    dead = {"rows": "dead_letters", "format": "parquet", "path": str(tmp_path / "dead")}
    run(spark, tmp_path, one, dead)
    [row] = spark.read.json(str(tmp_path / "one")).collect()
    assert (row.who, row.batch) == ("i-b", 1)
    # What was wrong with the table of who waits is told, too.
    assert [row.reason for row in spark.read.parquet(str(tmp_path / "dead")).collect()] == ["missing_name"]


def test_two_sinks_that_look_alike_are_two(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(3, "c", 200)])
    sink = {"rows": "correlations", "format": "noop", "options": {"topic": "pairs"}}
    run(spark, tmp_path, sink, sink)
    noted = json.loads((tmp_path / "state" / "_delivered.json").read_text())
    name = "correlations noop pairs"
    assert noted == {name: 1, f"{name} 2": 1}


def test_a_new_state_and_other_rows_leave_what_is_in_the_folder_of_a_sink(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "b", 200), paid(3, "b", 300)])
    sink = {"rows": "correlations", "format": "parquet", "path": str(tmp_path / "sink")}
    run(spark, tmp_path, sink)
    run(spark, tmp_path, sink | {"path": f"{tmp_path}/../{tmp_path.name}/sink"})
    run(spark, tmp_path, sink | {"rows": "notices"})
    for place in ("state", "out"):
        (tmp_path / place).rename(tmp_path / f"old {place}")
    run(spark, tmp_path, sink)
    found = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "sink")).select("stream", "position")
    rows = [tuple(row) for row in found.collect()]
    assert sorted(position for _, position in rows) == [1, 1, 2]
    assert len({stream for stream, _ in rows}) == 3


def test_a_sink_that_cannot_be_written_is_named_and_its_batch_kept(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10), paid(2, "b", 20)])
    sink = {"rows": "correlations", "format": "parquet", "path": str(tmp_path / "pairs")}
    with pytest.raises(InputError, match=r"sink of correlations: .*nothing_like_it"):
        run(spark, tmp_path, sink | {"columns": {"who": "nothing_like_it"}})
    with pytest.raises(InputError, match=r"batch 1 is committed and not delivered to the sink 'correlations nonsense"):
        run(spark, tmp_path, sink | {"format": "nonsense"})
    assert run(spark, tmp_path, sink).rows == 0
    assert spark.read.parquet(str(tmp_path / "pairs")).count() == 1


def test_a_note_that_cannot_be_read_is_named(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "waiting", "1.jsonl", [waiting("a", 0)])
    lines(tmp_path / "paid", "1.jsonl", [paid(1, "a", 10)])
    sink = {"rows": "correlations", "format": "parquet", "path": str(tmp_path / "pairs")}
    run(spark, tmp_path, sink)
    (tmp_path / "state" / "_delivered.json").write_text("{")
    with pytest.raises(InputError, match=r"_delivered\.json does not say which sink has which batch"):
        run(spark, tmp_path, sink)
