"""Writing a run: fold into staged files, and commit them. Where pyarrow cannot write, Spark writes what was folded."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.utils import is_remote

from conjoin.errors import InputError
from conjoin.pipeline.correlate.columns import Types
from conjoin.pipeline.correlate.fold.counts import merged
from conjoin.pipeline.correlate.fold.fold import BATCH_ROWS, PartitionFold
from conjoin.pipeline.correlate.near.writing import near_reports
from conjoin.pipeline.correlate.results import NAMES, NEAR, OPENED, VERDICTS, schema_of
from conjoin.pipeline.correlate.writing.by_spark import Do, write_by_spark
from conjoin.pipeline.correlate.writing.parquet_sink import REPORT, ParquetSink, PartitionReport, WrittenFile
from conjoin.pipeline.correlate.writing.run_folder import STAGING, RunFolder, filesystem_of
from conjoin.pipeline.correlate.writing.run_record import RunRecord, WrittenRun
from conjoin.pipeline.files.output_files import OutputPlace, write_table
from conjoin.pipeline.session.session import path_of
from conjoin.pipeline.session.temporarily import FEW_TASKS, temporarily
from conjoin.pipeline.session.worker import in_worker

if TYPE_CHECKING:
    from conjoin.pipeline.correlate.correlated import Correlated

_UNLIMITED = 2**31 - 1
_MOST_BATCH_BYTES = 256 * 1024 * 1024
_BESIDE = 1_000
"""A row without its variables, about."""
_ROWS_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BYTES_A_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"
_TOGETHER = 3
"""So many tables are converted at a time: each alone leaves a core idle while its job is planned and committed."""
_NOT_IN_FILES = ("variant", "interval", "void", "udt")


def write(
    result: "Correlated", out: OutputPlace, tables: frozenset[str]
) -> tuple[WrittenRun, dict[str, Callable[[], DataFrame]]]:
    """The run, and the outputs as they are read back from the files."""
    strange = sorted(tables.difference(NAMES))
    if strange:
        raise InputError([f"tables: {strange[0]} is none of {', '.join(NAMES)}"])
    inputs = result.inputs
    where = out.address if out.by_name else path_of(inputs.spark, out.address)
    place = None if out.by_name else filesystem_of(where)
    home = None if place is None else RunFolder(*place, run=uuid.uuid4().hex[:16])
    do = _on_the_cluster(inputs.spark) if is_remote() else _here
    if home is None or out.partition_by or out.file_format == "delta" or not _can_be_written(inputs.types["messages"]):
        run, written = write_by_spark(result, replace(out, address=where), tables, home, do)
    else:
        run, written = _write_by_workers(result, replace(out, address=where), tables, home, do)
    return replace(run, folder=out.address), written


def _write_by_workers(
    result: "Correlated", out: OutputPlace, tables: frozenset[str], home: RunFolder, do: Do
) -> tuple[WrittenRun, dict[str, Callable[[], DataFrame]]]:
    inputs, where, file_format = result.inputs, out.address, out.file_format
    record = RunRecord(result.first_pass.as_of, inputs.since, inputs.policies, file_format, "spark")
    do(lambda: home.begin(out.overwrite))
    try:
        # The near misses are found in what these two hold, be they wanted or not.
        of_fold = tables - {NEAR} | ({VERDICTS, OPENED} if NEAR in tables else set())
        reports = _folded_into(result, home, of_fold, out.file_bytes)
        folded_at = time.monotonic()
        if NEAR in tables:
            reports += near_reports(inputs, home, where, reports, do)
        near_s = time.monotonic() - folded_at
        files: dict[str, list[Any]] = {
            table: [file for r in reports for file in r.files if file.table == table] for table in sorted(tables)
        }
        counts = merged([report.counts for report in reports])
        rows = {table: sum(file.rows for file in some) for table, some in files.items()}
        for table in tables:
            if not files[table]:
                files[table] = [_empty_file(result, home, table, do)]
        if file_format != "parquet":
            home = _converted(result, home, where, files, file_format)
            files = {table: do(partial(home.staged_files, table)) for table in files}
        described = record.described(rows, counts, files) | {"near_seconds": round(near_s, 3)}
        do(lambda: home.commit(described))
    except BaseException:  # whatever it was, nothing staged is left behind
        with suppress(Exception):
            do(home.abandon)
        raise
    return WrittenRun(out.address, result.first_pass.as_of, rows, counts), _read_back(
        result, where, file_format, tables
    )


def _can_be_written(messages: Types) -> bool:
    return not any(word in kind.simpleString() for kind in messages.values() for word in _NOT_IN_FILES)


def _folded_into(
    result: "Correlated", home: RunFolder, tables: frozenset[str], file_bytes: int
) -> list[PartitionReport]:
    first = result.first_pass
    plan, filesystem, staged = result.inputs.plan(first), home.filesystem, home.staged

    @in_worker
    def fold(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        task = TaskContext.get()
        sink = ParquetSink(filesystem, staged, tables, task.partitionId() if task else 0, file_bytes)
        return PartitionFold(plan, sink, run=staged).take(batches)

    with temporarily(result.inputs.spark, batch_size(first.longest) | FEW_TASKS):
        rows = result.rows.mapInArrow(fold, REPORT).collect()
    return [msgspec.json.decode(row[0], type=PartitionReport) for row in rows]


def batch_size(longest: int | None) -> dict[str, str]:
    """How many rows go to Python at once. Where a bound for a batch is known, Spark need not add up the bytes of each
    row, a quarter of its way into Arrow."""
    wanted = {_ROWS_A_BATCH: str(BATCH_ROWS)}
    if longest is not None and (longest + _BESIDE) * BATCH_ROWS <= _MOST_BATCH_BYTES:
        wanted[_BYTES_A_BATCH] = str(_UNLIMITED)
    return wanted


def _here(work: Callable[[], Any]) -> Any:
    return work()


def _on_the_cluster(spark: SparkSession) -> Do:
    """The client of Spark Connect may not see the folder: its files are looked after by a task."""

    def do(work: Callable[[], Any]) -> Any:
        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                pass
            try:
                answer: tuple[str, Any] = "done", work()
            except InputError as error:
                answer = "refused", error.problems
            yield pa.RecordBatch.from_arrays([pa.array([msgspec.json.encode(answer)], pa.binary())], names=["answer"])

        [row] = spark.range(1, numPartitions=1).mapInArrow(task, "answer binary").collect()
        outcome, value = msgspec.json.decode(row[0])
        if outcome == "refused":
            raise InputError(value)
        return value

    return do


def _empty_file(result: "Correlated", home: RunFolder, table: str, do: Do) -> WrittenFile:
    """A table without rows has its columns all the same."""
    schema = to_arrow_schema(schema_of(table, result.inputs.types["messages"], result.inputs.layout))
    name = "part-00000-empty.parquet"

    def make() -> None:
        pq.write_table(schema.empty_table(), f"{home.staged}/{table}/{name}", filesystem=home.filesystem)

    do(make)
    return WrittenFile(table, name, 0, 0)


def _converted(
    result: "Correlated", home: RunFolder, where: str, staged: dict[str, list[WrittenFile]], file_format: str
) -> RunFolder:
    """The staged files in another format, by Spark, as a run of their own."""
    other = RunFolder(home.filesystem, home.path, f"{home.run}-{file_format}")

    def convert(table: str) -> None:
        schema = schema_of(table, result.inputs.types["messages"], result.inputs.layout)
        paths = [f"{where}/{STAGING}/{home.run}/{table}/{file.name}" for file in staged[table]]
        frame = result.inputs.spark.read.schema(schema).parquet(*paths)
        write_table(frame, f"{where}/{STAGING}/{other.run}/{table}", file_format)

    with ThreadPoolExecutor(_TOGETHER) as pool:
        list(pool.map(convert, staged))
    return other


def _read_back(
    result: "Correlated", where: str, file_format: str, tables: frozenset[str]
) -> dict[str, Callable[[], DataFrame]]:
    """Each when it is asked for: Spark lists the files of a table as soon as it is named."""
    if file_format != "parquet":
        return {}
    inputs = result.inputs

    def read(table: str) -> DataFrame:
        schema = schema_of(table, inputs.types["messages"], inputs.layout)
        return inputs.spark.read.schema(schema).parquet(f"{where}/{table}")

    return {table: cache(partial(read, table)) for table in tables}
