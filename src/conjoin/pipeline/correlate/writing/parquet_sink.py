"""In a worker: outputs become Parquet files as they are decided, one a table and task, opened with its first row.

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
    writer: pq.ParquetWriter | None = None
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    """Those that wait, and `written` those in the file."""
    bytes: int = 0
    written: int = 0


class ParquetSink:
    """Writes to `folder`/table/name on a file system that pyarrow knows."""

    def __init__(self, filesystem: fs.FileSystem, folder: str, tables: frozenset[str], partition: int) -> None:
        self.tables = tables
        self._filesystem = filesystem
        self._folder = folder
        self._partition = partition
        self._files: dict[str, _OpenFile] = {}

    def put(self, table: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        file = self._files.get(table)
        if file is None:
            file = self._files[table] = _OpenFile(f"part-{self._partition:05d}-{uuid4().hex[:16]}.parquet")
        file.waiting.append(batch)
        file.rows += batch.num_rows
        file.bytes += batch.nbytes
        if file.rows >= GROUP_ROWS or file.bytes >= GROUP_BYTES:
            self._write(table, file)
        return iter(())

    def finish(self, counts: PartitionCounts) -> Iterator[pa.RecordBatch]:
        files = []
        for table, file in self._files.items():
            self._write(table, file)
            assert file.writer is not None, "it has a row"
            file.writer.close()
            passing("file_written")
            [info] = self._filesystem.get_file_info([f"{self._folder}/{table}/{file.name}"])
            files.append(WrittenFile(table, file.name, file.written, info.size or 0))
        report = msgspec.json.encode(PartitionReport(files, counts))
        yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], names=["report"])

    def _write(self, table: str, file: _OpenFile) -> None:
        if not file.waiting:
            return
        group = pa.Table.from_batches(file.waiting)
        if file.writer is None:
            file.writer = open_writer(self._filesystem, f"{self._folder}/{table}/{file.name}", group)
        file.writer.write_table(group, row_group_size=max(1, group.num_rows))
        file.written += group.num_rows
        file.waiting, file.rows, file.bytes = [], 0, 0


def open_writer(filesystem: fs.FileSystem, path: str, first: pa.Table) -> pq.ParquetWriter:
    few = [name for name, column in zip(first.column_names, first.columns, strict=True) if _has_few_values(column)]
    return pq.ParquetWriter(path, first.schema, filesystem=filesystem, use_dictionary=few, store_schema=False)


def _has_few_values(column: pa.ChunkedArray) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(pc.count_distinct(column.slice(0, _LOOKED_AT)).as_py() <= _FEW * min(1, len(column) / _LOOKED_AT))
