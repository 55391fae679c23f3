"""Bucket files: a bucket's rows as one Parquet file, read and written by the task that folds it."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from conjoin.fault_points import passing
from conjoin.kernel.instants import NEVER
from conjoin.pipeline.correlate.writing.parquet_sink import open_writer
from conjoin.pipeline.streaming.manifest import BucketFile
from conjoin.pipeline.streaming.state_rows import BUCKET, DUE, held_in

_AT_ONCE = 16
"""Files of a store that answers slowly."""

One = TypeVar("One")
Other = TypeVar("Other")


class BucketFiles:
    """In `folder` of a file system; every file has the columns of `schema` that have a value in it."""

    def __init__(self, filesystem: fs.FileSystem, folder: str, schema: pa.Schema, run: str) -> None:
        self.schema = schema
        self._run = run
        self._filesystem = filesystem
        self._folder = folder

    def read(self, files: dict[int, BucketFile]) -> pa.Table:
        """The rows of some buckets, one bucket after the other."""
        return pa.concat_tables([self.schema.empty_table(), *self._each(self._read, files.items())])

    def write(self, tables: Iterable[tuple[int, pa.Table]]) -> dict[int, BucketFile | None]:
        """None: nothing is left in it."""
        return dict(self._each(self._write, tables))

    def _each(self, work: Callable[[One], Other], items: Iterable[One]) -> Iterator[Other]:
        if isinstance(self._filesystem, fs.LocalFileSystem):
            yield from map(work, items)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(work, items)

    def _read(self, item: tuple[int, BucketFile]) -> pa.Table:
        number, file = item
        with self._filesystem.open_input_file(f"{self._folder}/{file.name}") as stream:
            found = pq.ParquetFile(stream).read(use_threads=False)
        columns = []
        for field in self.schema:
            if field.name == BUCKET:
                columns.append(pa.repeat(pa.scalar(number, field.type), found.num_rows))
            elif (place := found.schema.get_field_index(field.name)) < 0:
                columns.append(pa.nulls(found.num_rows, field.type))
            else:
                column = found.column(place)
                columns.append(column if column.type == field.type else column.cast(field.type))
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _write(self, item: tuple[int, pa.Table]) -> tuple[int, BucketFile | None]:
        number, rows = item
        if not rows.num_rows:
            return number, None
        held, due = held_in(rows), pc.min(rows.column(DUE)).as_py()
        empty = [name for name, column in zip(rows.column_names, rows.columns, strict=True) if _is_empty(column)]
        rows = rows.drop_columns([BUCKET, *(name for name in empty if name != BUCKET)])
        name = f"{self._run}-{number:05}-{uuid4().hex[:16]}.parquet"
        with self._filesystem.open_output_stream(f"{self._folder}/{name}") as stream:
            with open_writer(stream, rows) as writer:
                writer.write_table(rows)
            size = stream.tell()
        passing("bucket_written")
        return number, BucketFile(name, rows.num_rows, size, NEVER if due is None else due, held, rows.nbytes)


def _is_empty(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count == len(column))


def by_bucket(rows: pa.Table, buckets: list[int]) -> list[pa.Table]:
    """The rows of each bucket; they stand one bucket after the other."""
    numbers = rows.column(BUCKET).to_numpy()
    wanted = np.array(buckets, dtype=numbers.dtype)
    starts, ends = np.searchsorted(numbers, wanted, "left"), np.searchsorted(numbers, wanted, "right")
    return [rows.slice(start, end - start) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
