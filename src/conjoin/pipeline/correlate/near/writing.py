"""Near misses of a run that is being written: found in its staged files, staged beside them, part of the same commit.

A small run is looked at in this process, any other by Spark. Nothing is done where nobody waits, or nobody was missed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from conjoin.kernel.policies import Policies
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.near import in_memory
from conjoin.pipeline.correlate.results import NEAR, OPENED, VERDICTS, schema_of
from conjoin.pipeline.correlate.writing.parquet_sink import REPORT, ParquetSink, PartitionReport
from conjoin.pipeline.correlate.writing.run_folder import STAGING, RunFolder
from conjoin.pipeline.session.worker import in_worker

if TYPE_CHECKING:
    from conjoin.pipeline.correlate.correlated import CorrelateInputs

Do = Callable[[Callable[[], Any]], Any]


def near_reports(
    inputs: "CorrelateInputs", home: RunFolder, where: str, folded: Sequence[PartitionReport], do: Do
) -> list[PartitionReport]:
    """`where`: the folder as Spark knows it. `do` does something where the folder can be seen."""
    files, read, held = _to_compare(folded)
    if not read:
        return []
    if read > in_memory.MOST_READ or held > in_memory.MOST_HELD:
        return _by_spark(inputs, home, where, files)
    policies = inputs.policies
    return [msgspec.convert(do(lambda: msgspec.to_builtins(_here(home, files, policies))), PartitionReport)]


def near_reports_here(home: RunFolder, folded: Sequence[PartitionReport], policies: Policies) -> list[PartitionReport]:
    """Without Spark, however many there are."""
    files, read, _ = _to_compare(folded)
    return [_here(home, files, policies)] if read else []


def _to_compare(folded: Sequence[PartitionReport]) -> tuple[dict[str, list[str]], int, int]:
    """The files of verdicts and of who still waits; how many rows are to be read and kept: none if none are found."""
    left = sum(t.count for report in folded for t in report.counts.tallies if t.reason in FOR_WANT_OF_RECEIVERS)
    named = {
        table: [file for report in folded for file in report.files if file.table == table and file.rows]
        for table in (VERDICTS, OPENED)
    }
    rows = {table: sum(file.rows for file in files) for table, files in named.items()}
    files = {table: [file.name for file in some] for table, some in named.items()}
    there_is_any = left and rows[OPENED]
    return (files, rows[VERDICTS], left + rows[OPENED]) if there_is_any else (files, 0, 0)


def _here(home: RunFolder, files: dict[str, list[str]], policies: Any) -> PartitionReport:
    opened = pa.Table.from_batches(_read(home, OPENED, files[OPENED]))
    found = in_memory.near_misses(_read(home, VERDICTS, files[VERDICTS], in_memory.COLUMNS), opened, policies)
    return _sunk(ParquetSink(home.filesystem, home.staged, frozenset({NEAR}), 0), found)


def _read(
    home: RunFolder, table: str, names: list[str], columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    for name in names:
        with pq.ParquetFile(f"{home.staged}/{table}/{name}", filesystem=home.filesystem) as file:
            there = None if columns is None else [column for column in columns if column in file.schema_arrow.names]
            yield from file.iter_batches(columns=there)


def _by_spark(
    inputs: "CorrelateInputs", home: RunFolder, where: str, files: dict[str, list[str]]
) -> list[PartitionReport]:
    from pyspark import TaskContext

    from conjoin.pipeline.correlate.near.on_spark import meetings, near_of

    spark, types = inputs.spark, inputs.types["messages"]
    frames = {
        table: spark.read.schema(schema_of(table, types, inputs.layout)).parquet(
            *(f"{where}/{STAGING}/{home.run}/{table}/{name}" for name in names)
        )
        for table, names in files.items()
    }
    filesystem, staged = home.filesystem, home.staged

    @in_worker
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        sink = ParquetSink(filesystem, staged, frozenset({NEAR}), task.partitionId() if task else 0)
        report = _sunk(sink, map(near_of, batches))
        yield pa.RecordBatch.from_arrays([pa.array([msgspec.json.encode(report)], pa.binary())], names=["report"])

    met = meetings(frames[VERDICTS], frames[OPENED], types, inputs.policies)
    rows = met.mapInArrow(write, REPORT).collect()
    return [msgspec.json.decode(row[0], type=PartitionReport) for row in rows]


def _sunk(sink: ParquetSink, found: Any) -> PartitionReport:
    counts = PartitionCounts(near={})
    for near, differences in found:
        if near.num_rows:
            list(sink.put(NEAR, near))
        for differs, count in differences.items():
            counts.near[differs] = counts.near.get(differs, 0) + count
    [told] = sink.finish(counts)
    return msgspec.json.decode(told.column("report")[0].as_py(), type=PartitionReport)
