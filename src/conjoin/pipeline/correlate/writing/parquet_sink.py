"""In a worker: outputs become Parquet files as they are decided, one a table and task, opened with its first row.
One that has grown to its target is closed, and another begun.

Files lie in the staging folder of their run. The last value of a partition names them: what is not named there (by a
task that was tried twice) is no part of the run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from conjoin.fault_points import passing
from conjoin.pipeline.correlate.fold.counts import PartitionCounts

REPORT = "report binary"
GROUP_ROWS, GROUP_BYTES = 100_000, 32 * 1024 * 1024
"""A row group is written when it has as much."""
FILE_BYTES = 256 * 1024 * 1024
"""A file gets no further row group when it is as large: what reads it wants files of some hundred megabytes."""

_LOOKED_AT, _FEW = 2_000, 500
"""A column with so few different values among its first is written with a dictionary."""


class WrittenFile(msgspec.Struct, array_like=True):
    table: str
    name: str
    rows: int
    bytes: int


class PartitionReport(msgspec.Struct):
    files: list[WrittenFile]
    counts: PartitionCounts


@dataclass(slots=True)
class _OpenFile:
    name: str
    stream: pa.NativeFile | None = None
    writer: pq.ParquetWriter | None = None
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    """Those that wait, and `written` those in the file."""
    bytes: int = 0
    written: int = 0


class ParquetSink:
    """Writes to `folder`/table/name on a file system that pyarrow knows."""

    def __init__(
        self,
        filesystem: fs.FileSystem,
        folder: str,
        tables: frozenset[str],
        partition: int,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self.tables = tables
        self._filesystem = filesystem
        self._folder = folder
        self._partition = partition
        self._file_bytes = file_bytes
        self._files: dict[str, _OpenFile] = {}
        self._done: list[WrittenFile] = []

    def put(self, table: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        file = self._files.get(table)
        if file is None:
            file = self._files[table] = _OpenFile(f"part-{self._partition:05d}-{uuid4().hex[:16]}.parquet")
        file.waiting.append(batch)
        file.rows += batch.num_rows
        file.bytes += batch.nbytes
        if file.rows >= GROUP_ROWS or file.bytes >= min(GROUP_BYTES, self._file_bytes):
            self._write(table, file)
            assert file.stream is not None, "it has a row"
            if file.stream.tell() >= self._file_bytes:
                self._close(table)
        return iter(())

    def finish(self, counts: PartitionCounts) -> Iterator[pa.RecordBatch]:
        for table, file in list(self._files.items()):
            self._write(table, file)
            self._close(table)
        report = msgspec.json.encode(PartitionReport(self._done, counts))
        yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], names=["report"])

    def _write(self, table: str, file: _OpenFile) -> None:
        if not file.waiting:
            return
        group = pa.Table.from_batches(file.waiting)
        if file.writer is None:
            file.stream = self._filesystem.open_output_stream(f"{self._folder}/{table}/{file.name}")
            file.writer = open_writer(file.stream, group)
        file.writer.write_table(group, row_group_size=max(1, group.num_rows))
        file.written += group.num_rows
        file.waiting, file.rows, file.bytes = [], 0, 0

    def _close(self, table: str) -> None:
        file = self._files.pop(table)
        assert file.writer is not None, "it has a row"
        assert file.stream is not None, "it has a row"
        file.writer.close()
        size = file.stream.tell()
        file.stream.close()
        passing("file_written")
        self._done.append(WrittenFile(table, file.name, file.written, size))


def open_writer(stream: pa.NativeFile, first: pa.Table) -> pq.ParquetWriter:
    few = [name for name, column in zip(first.column_names, first.columns, strict=True) if _has_few_values(column)]
    return pq.ParquetWriter(stream, first.schema, use_dictionary=few, store_schema=False)


def _has_few_values(column: pa.ChunkedArray) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(pc.count_distinct(column.slice(0, _LOOKED_AT)).as_py() <= _FEW * min(1, len(column) / _LOOKED_AT))
