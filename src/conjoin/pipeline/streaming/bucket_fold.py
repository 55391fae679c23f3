"""In a task: buckets, one group after the other: read what they hold, fold what is touched, write what they hold then.

It decides nothing. A key is touched when a row of it arrives or one that it holds is due; all its rows go through the
fold then, as those of a chained run do. The rows of other keys stay as they are. What is held is a group of buckets.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from conjoin.kernel.instants import ALWAYS
from conjoin.pipeline.correlate.fold.counts import PartitionCounts, merged
from conjoin.pipeline.correlate.fold.fold import BATCH_ROWS, FoldPlan, PartitionFold
from conjoin.pipeline.correlate.fold.utf8 import readable
from conjoin.pipeline.correlate.results import DEAD, PAIRS, VERDICTS
from conjoin.pipeline.correlate.writing.parquet_sink import ParquetSink, PartitionReport
from conjoin.pipeline.streaming.bucket_files import BucketFiles, by_bucket
from conjoin.pipeline.streaming.closings import one_row_a_subscription
from conjoin.pipeline.streaming.manifest import BUCKETS, BucketFile
from conjoin.pipeline.streaming.state_rows import BUCKET, STATE_TABLES, due_of, in_order, rows_of, with_due

OUTPUTS = (VERDICTS, PAIRS, DEAD)
GROUP_ROWS = 200_000
"""So many rows, old and new, are taken at a time: what is done once a group is then done seldom."""
GROUP_BYTES = 256 * 1024 * 1024
"""Or so many bytes in memory, if its rows are long: a column of texts has room for 2 GiB."""


@dataclass(frozen=True)
class BatchTask:
    """What all tasks of a batch know. `whole`: every row goes through the fold, for the rules have changed."""

    filesystem: fs.FileSystem
    state: str
    out_filesystem: fs.FileSystem
    staged: str
    schema: pa.Schema
    plan: FoldPlan
    files: dict[int, BucketFile]
    tasks: int
    run: str
    whole: bool = False
    file_bytes: int = 256 * 1024 * 1024

    def due_buckets(self, task: int) -> list[int]:
        """Those in which something happens although nothing may arrive."""
        as_of = self.plan.as_of
        return sorted(
            number
            for number, file in self.files.items()
            if number % self.tasks == task and (self.whole or file.due <= as_of)
        )


class TaskReport(msgspec.Struct):
    """`buckets` that were written anew; None: nothing is left in it. The rest is as in a run of tables."""

    written: PartitionReport
    buckets: dict[int, BucketFile | None]
    rows: int
    touched: int
    closings_ignored: int


@dataclass
class _Group:
    """Some buckets and the rows that arrived in them, one bucket after the other."""

    buckets: list[int] = field(default_factory=list)
    arrived: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0

    def is_full(self, file: BucketFile | None) -> bool:
        """Is there no room for another bucket with this file?"""
        more = file.unpacked if file else 0
        return bool(self.buckets) and (self.rows >= GROUP_ROWS or self.bytes + more > GROUP_BYTES)

    def add(self, number: int, file: BucketFile | None) -> None:
        self.buckets.append(number)
        if file is not None:
            self.rows += file.rows
            self.bytes += file.unpacked


class BucketTask:
    """One task of a batch; `number` is its place among them."""

    def __init__(self, task: BatchTask, number: int) -> None:
        self._task = task
        self._number = number
        self._files = BucketFiles(task.filesystem, f"{task.state}/{BUCKETS}", task.schema, task.run)
        self._out = ParquetSink(task.out_filesystem, task.staged, frozenset(OUTPUTS), number, task.file_bytes)
        self._written: dict[int, BucketFile | None] = {}
        self._counts: list[PartitionCounts] = []
        self._rows = 0
        self._touched_buckets = 0
        self._closings_ignored = 0

    def take(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, one bucket after the other; what it hands back is a `TaskReport`."""
        for group in self._groups(batches):
            self._fold(group)
        [batch] = self._out.finish(merged(self._counts))
        written = msgspec.json.decode(batch.column("report")[0].as_py(), type=PartitionReport)
        report = msgspec.json.encode(TaskReport(written, self._written, *self._figures()))
        yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], names=["report"])

    def _figures(self) -> tuple[int, int, int]:
        return self._rows, self._touched_buckets, self._closings_ignored

    def _groups(self, batches: Iterable[pa.RecordBatch]) -> Iterator[_Group]:
        due = self._task.due_buckets(self._number)
        group = _Group()
        for number, rows in _runs(batches):
            while due and due[0] < number:
                group = yield from self._next(group, due.pop(0))
            if due and due[0] == number:
                due.pop(0)
            group = yield from self._next(group, number)
            group.arrived.append(rows)
            group.rows += rows.num_rows
            group.bytes += rows.nbytes
        for number in due:
            group = yield from self._next(group, number)
        if group.buckets:
            yield group

    def _next(self, group: _Group, number: int) -> Generator[_Group, None, _Group]:
        """The group to which a bucket belongs; before another one begins a full one is handed on."""
        if group.buckets and group.buckets[-1] == number:
            return group
        file = self._task.files.get(number)
        if group.is_full(file):
            yield group
            group = _Group()
        group.add(number, file)
        return group

    def _fold(self, group: _Group) -> None:
        task, schema = self._task, self._task.schema
        held = self._files.read({number: task.files[number] for number in group.buckets if number in task.files})
        arrived = pa.Table.from_batches([self._read(batch) for batch in group.arrived], _with_faults(schema))
        self._rows += arrived.num_rows
        self._touched_buckets += len(group.buckets)
        as_of = task.plan.as_of
        kinds, at = arrived.column("kind").to_numpy(), _instants(arrived)
        later = (at > as_of) & (kinds > 0)
        pending = arrived.filter(pa.array(later)).select(schema.names)
        arrived = arrived.filter(pa.array(~later))
        touched = self._touched(held, arrived)
        rows = pa.concat_tables(
            [arrived, held.filter(pa.array(touched)).append_column("fault", pa.nulls(int(touched.sum()), pa.string()))]
        )
        kept = self._kept(rows) if rows.num_rows else schema.empty_table()
        if not touched.any() and not kept.num_rows and not pending.num_rows:
            return
        pending = with_due(pending, _instants(pending))
        changed = pa.concat_tables([kept, pending]).combine_chunks()
        changed = changed.take(pa.array(np.argsort(changed.column(BUCKET).to_numpy(), kind="stable")))
        stays = held.filter(pa.array(~touched))
        both = zip(by_bucket(stays, group.buckets), by_bucket(changed, group.buckets), strict=True)
        tables = ((number, pa.concat_tables(some)) for number, some in zip(group.buckets, both, strict=True))
        self._written |= self._files.write(tables)

    def _read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What arrived, with every slot of the state; what is no text is a fault from here on."""
        batch = readable(batch, self._task.plan.layout)
        schema = _with_faults(self._task.schema)
        columns = [
            pa.nulls(batch.num_rows, one.type)
            if (place := batch.schema.get_field_index(one.name)) < 0
            else _as(batch.column(place), one.type)
            for one in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _touched(self, held: pa.Table, arrived: pa.Table) -> np.ndarray:
        """The rows of keys in which something happens. What is pending stays so until its time comes."""
        in_time: np.ndarray = _instants(held) <= self._task.plan.as_of
        if self._task.whole:
            return in_time
        keys = pc.fill_null(held.column("key"), "")
        due = pc.less_equal(held.column("due"), self._task.plan.as_of)
        wanted = pa.chunked_array(
            [*pc.fill_null(arrived.column("key"), "").chunks, *keys.filter(due).chunks], pa.string()
        )
        return pc.is_in(keys, value_set=pc.unique(wanted)).to_numpy() & in_time

    def _kept(self, rows: pa.Table) -> pa.Table:
        """Through the fold: what is left of these rows, as rows of the state."""
        task = self._task
        batch, ignored = one_row_a_subscription(in_order(rows), task.plan.since)
        self._closings_ignored += ignored
        sink = _GroupSink(self._out)
        batches = (batch.slice(at, BATCH_ROWS) for at in range(0, batch.num_rows, BATCH_ROWS))
        for _ in PartitionFold(task.plan, sink, run=task.run).take(batches):
            pass
        self._counts.append(sink.counts)
        parts = []
        keys = pc.fill_null(batch.column("key"), "")
        for table, some in sink.kept:
            found = rows_of(table, some, task.schema)
            place = pc.index_in(pc.fill_null(found.column("key"), ""), value_set=keys)
            bucket = batch.column(BUCKET).take(place.combine_chunks())
            found = found.set_column(found.schema.get_field_index(BUCKET), task.schema.field(BUCKET), bucket)
            [one] = found.combine_chunks().to_batches()
            parts.append(with_due(found, due_of(one, task.plan.policies)))
        return pa.concat_tables([task.schema.empty_table(), *parts])


class _GroupSink:
    """What is final goes to the files of the batch; what is kept stays here."""

    tables = frozenset((*OUTPUTS, *STATE_TABLES))

    def __init__(self, out: ParquetSink) -> None:
        self.kept: list[tuple[str, pa.RecordBatch]] = []
        self.counts = PartitionCounts()
        self._out = out

    def put(self, table: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if table in OUTPUTS:
            return self._out.put(table, batch)
        if batch.num_rows:
            self.kept.append((table, batch))
        return iter(())

    def finish(self, counts: PartitionCounts) -> Iterator[pa.RecordBatch]:
        self.counts = counts
        return iter(())


def _runs(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each bucket; one that goes on in the next batch comes again."""
    for batch in batches:
        if not batch.num_rows:
            continue
        numbers = batch.column(BUCKET).to_numpy()
        starts = np.concatenate(([0], np.flatnonzero(np.diff(numbers)) + 1)).tolist()
        for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            yield int(numbers[start]), batch.slice(start, end - start)


def _with_faults(schema: pa.Schema) -> pa.Schema:
    return schema.append(pa.field("fault", pa.string()))


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def _instants(rows: pa.Table) -> np.ndarray:
    found: np.ndarray = pc.fill_null(rows.column("at"), ALWAYS).to_numpy()
    return found
