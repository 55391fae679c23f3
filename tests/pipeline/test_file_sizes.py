"""A task writes files of about a target size: a further one when the last has it, and one where there is little."""

import json
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from conjoin import correlate
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.writing import parquet_sink
from conjoin.pipeline.correlate.writing.parquet_sink import ParquetSink, PartitionReport


def sunk(folder: Path, file_bytes: int, batches: int) -> PartitionReport:
    (folder / "verdicts").mkdir(parents=True)
    sink = ParquetSink(fs.LocalFileSystem(), str(folder), frozenset({"verdicts"}), 3, file_bytes)
    for number in range(batches):
        list(sink.put("verdicts", pa.record_batch({"position": list(range(number * 1000, number * 1000 + 1000))})))
    [report] = sink.finish(PartitionCounts())
    return msgspec.json.decode(report.column("report")[0].as_py(), type=PartitionReport)


def test_a_file_that_has_its_size_is_followed_by_another(tmp_path: Path) -> None:
    report = sunk(tmp_path, 20_000, 20)
    assert len(report.files) > 2
    assert sum(file.rows for file in report.files) == 20_000
    for file in report.files:
        path = tmp_path / "verdicts" / file.name
        assert (file.bytes, file.rows) == (path.stat().st_size, pq.read_metadata(path).num_rows)
    assert all(20_000 <= file.bytes < 40_000 for file in report.files[:-1])
    assert {path.name for path in (tmp_path / "verdicts").iterdir()} == {file.name for file in report.files}
    found = pq.read_table(tmp_path / "verdicts").column("position").to_pylist()
    assert sorted(found) == list(range(20_000))


def test_little_is_one_file_however_many_batches(tmp_path: Path) -> None:
    [file] = sunk(tmp_path, parquet_sink.FILE_BYTES, 10).files
    assert (file.rows, pq.read_metadata(tmp_path / "verdicts" / file.name).num_row_groups) == (10_000, 1)


def test_run_on_spark_keeps_to_the_size(spark: SparkSession, tmp_path: Path) -> None:
    messages = spark.sql("""
        select id as position, 'Paid' as name, uuid() as correlation_key, repeat(uuid(), 10) as note,
            timestamp '2026-01-31 08:00:00Z' as published_at from range(0, 20000, 1, 1)""")
    waiting = spark.sql("""
        select 'order' as process_id, 'Paid' as name, 'o-1' as correlation_key,
            timestamp '2026-01-31 07:00:00Z' as opened_at""")
    with pytest.warns(UserWarning, match="note"):
        result = correlate(messages, waiting, as_of="2026-02-01", unique_positions=True, near=False)
    result.write(str(tmp_path / "out"), tables=("verdicts", "open"), file_bytes=500_000)
    files = json.loads((tmp_path / "out" / "_run.json").read_bytes())["files"]
    assert len(files["open"]) == 1
    assert len(files["verdicts"]) > 1
    assert result.verdicts.count() == 20_000
