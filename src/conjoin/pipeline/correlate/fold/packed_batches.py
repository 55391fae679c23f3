"""Packed: rows of several tables on their way out of the fold, each batch as one value tagged with its table.

Spark keeps such values as they are: no row is taken apart and put together again before somebody asks for it.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from conjoin.pipeline.session.worker import make_ready

PACKED = "table tinyint, rows binary"

MOST_BYTES = 16 * 1024 * 1024
"""A larger batch is packed in parts."""


def packed(table: int, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    parts = max(1, -(-batch.nbytes // MOST_BYTES))
    step = max(1, -(-batch.num_rows // parts))
    for start in range(0, batch.num_rows, step):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch.slice(start, step))
        columns = [pa.array([table], pa.int8()), _one_value(sink.getvalue())]
        yield pa.RecordBatch.from_arrays(columns, names=["table", "rows"])


def _one_value(content: pa.Buffer) -> pa.Array:
    """A column with one row, without a copy."""
    bounds = pa.py_buffer(np.array([0, content.size], dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, bounds, content])


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    make_ready()
    for batch in batches:
        for rows in batch.column("rows"):
            with pa.ipc.open_stream(rows.as_buffer()) as stream:
                yield from stream
