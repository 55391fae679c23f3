"""Carriers: who brings the rows of a batch to the folds of their buckets. Spark's tasks, or this process."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.shape import START
from conjoin.pipeline.correlate.writing.parquet_sink import REPORT
from conjoin.pipeline.session.temporarily import temporarily
from conjoin.pipeline.session.worker import in_worker
from conjoin.pipeline.streaming.bucket_fold import BatchTask, BucketTask, TaskReport
from conjoin.pipeline.streaming.state_rows import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterable[pa.RecordBatch]

START_SLOTS = ["process", "name", "tenant", "element", "at", "until"]
_IS_START = f"(kind = {START})"


class LookedOver(NamedTuple):
    """How many rows there are for the folds, their latest instant that is not after now, the bytes of the longest
    variables, and the start events, which are told to every fold."""

    rows: int
    latest: int | None
    longest: int | None
    starts: list[dict[str, Any]]


class RowCarrier(Protocol):
    """The rows of one batch. `fold` without `arrive` is for what falls due although nothing arrives."""

    def schema(self) -> pa.Schema: ...
    def tasks(self) -> int: ...
    def look_over(self, now: int | None) -> LookedOver: ...
    def fold(self, task: BatchTask, looked_over: LookedOver | None) -> list[TaskReport]: ...


class SparkCarrier:
    """Two jobs a batch: one that looks over the instants, and one that folds."""

    def __init__(self, rows: "DataFrame", has_starts: bool) -> None:
        self._rows = rows
        self._has_starts = has_starts
        self._spark: SparkSession = rows.sparkSession

    def schema(self) -> pa.Schema:
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(self._rows.schema)

    def tasks(self) -> int:
        from pyspark.sql.utils import is_remote

        if is_remote():
            return int(self._spark.conf.get("spark.sql.shuffle.partitions") or 1)
        return self._spark.sparkContext.defaultParallelism

    def look_over(self, now: int | None) -> LookedOver:
        # Starts have their times from long ago or from a day to come: none of them is when something happens.
        instant = f"if({_IS_START}, null, at)" if self._has_starts else "at"
        count = f"count_if(not {_IS_START})" if self._has_starts else "count(*)"
        wanted = [count, f"max({instant})", "max(octet_length(variables))"]
        if self._has_starts:
            wanted.append(f"collect_list(if({_IS_START}, struct({', '.join(START_SLOTS)}), null))")
        [found] = self._rows.selectExpr(*wanted).collect()
        starts = [row.asDict() for row in found[3]] if self._has_starts else []
        latest = found[1]
        if now is not None and latest is not None and latest > now:
            # Seldom, and so in a job of its own: a number becomes part of the code that Spark makes for each batch.
            [[latest]] = self._rows.selectExpr(f"max(if({instant} <= {now}L, {instant}, null))").collect()
        return LookedOver(found[0], latest, found[2], starts)

    def fold(self, task: BatchTask, looked_over: LookedOver | None) -> list[TaskReport]:
        from pyspark.sql import functions as F

        from conjoin.pipeline.correlate.writing.writing import batch_size

        if looked_over is None or not looked_over.rows:
            # Of no rows Spark would make no tasks.
            frame, longest, work = self._spark.range(0, task.tasks, 1, task.tasks), None, _of_numbers
        else:
            rows = self._rows.where(f"not {_IS_START}") if self._has_starts else self._rows
            placed = rows.repartitionById(task.tasks, F.expr(f"{BUCKET} % {task.tasks}"))
            frame, longest, work = placed.sortWithinPartitions(BUCKET), looked_over.longest, _of_rows
        with temporarily(self._spark, batch_size(longest)):
            found = frame.mapInArrow(in_worker(partial(work, task)), REPORT).collect()
        return [msgspec.json.decode(row[0], type=TaskReport) for row in found]


class LocalCarrier:
    """Small batches, in this process: the same rows, one task after the other."""

    def __init__(self, rows: LocalFrame) -> None:
        batch = rows.batch()
        is_start = pc.equal(batch.column("kind"), START)
        self._rows = batch.filter(pc.invert(is_start))
        self._starts = batch.filter(is_start).select(START_SLOTS).to_pylist()

    def schema(self) -> pa.Schema:
        return self._rows.schema

    def tasks(self) -> int:
        return 1

    def look_over(self, now: int | None) -> LookedOver:
        at, longest = self._rows.column("at"), pc.max(pc.binary_length(self._rows.column("variables"))).as_py()
        in_time = at if now is None else at.filter(pc.less_equal(at, now))
        return LookedOver(self._rows.num_rows, pc.max(in_time).as_py(), longest, self._starts)

    def fold(self, task: BatchTask, looked_over: LookedOver | None) -> list[TaskReport]:
        reports: list[pa.RecordBatch] = []
        buckets = self._rows.column(BUCKET).to_numpy()
        for number in range(task.tasks):
            mine = np.flatnonzero(buckets % task.tasks == number) if looked_over is not None else np.zeros(0, np.int64)
            rows = self._rows.take(pa.array(mine[np.argsort(buckets[mine], kind="stable")]))
            reports += BucketTask(task, number).take([rows])
        return [msgspec.json.decode(one.column("report")[0].as_py(), type=TaskReport) for one in reports]


def rows_in(frame: "DataFrame | LocalFrame") -> list[dict[str, Any]]:
    """Of a small frame."""
    if isinstance(frame, LocalFrame):
        found: list[dict[str, Any]] = frame.batch().to_pylist()
        return found
    return [row.asDict() for row in frame.collect()]


def _of_numbers(task: BatchTask, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Nothing arrives: a row is the number of a task."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from BucketTask(task, number).take(())


def _of_rows(task: BatchTask, batches: Batches) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "in a task"
    yield from BucketTask(task, context.partitionId()).take(batches)
