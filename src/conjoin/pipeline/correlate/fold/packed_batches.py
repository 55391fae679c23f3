"""Packed batches: outputs on their way back into Spark, each batch as one value tagged with its table.

Spark keeps such values as they are: no row is taken apart and put together again before somebody asks for it. Columns
go by number: Spark looks a column up by its name, and cannot when there is a dot or a backtick in it.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.results import FOLDED
from conjoin.pipeline.session.worker import in_worker

PACKED = "table string, rows binary"
COUNTS = "counts"
"""The tag of the last value of a partition: what was counted in it, as JSON."""

MOST_BYTES = 16 * 1024 * 1024
"""A larger batch is packed in parts."""


class PackedSink:
    """Hands every batch on at once."""

    tables = frozenset(FOLDED)

    def put(self, table: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        numbered = batch.rename_columns([f"c{number}" for number in range(batch.num_columns)])
        parts = max(1, -(-batch.nbytes // MOST_BYTES))
        step = max(1, -(-batch.num_rows // parts))
        for start in range(0, batch.num_rows, step):
            content = pa.BufferOutputStream()
            with pa.ipc.new_stream(content, numbered.schema) as stream:
                stream.write_batch(numbered.slice(start, step))
            yield _tagged(table, content.getvalue())

    def finish(self, counts: PartitionCounts) -> Iterator[pa.RecordBatch]:
        yield _tagged(COUNTS, pa.py_buffer(counts.to_json()))


def _tagged(table: str, content: pa.Buffer) -> pa.RecordBatch:
    """One row, without a copy of its content."""
    bounds = pa.py_buffer(np.array([0, content.size], dtype=np.int32))
    value = pa.Array.from_buffers(pa.binary(), 1, [None, bounds, content])
    return pa.RecordBatch.from_arrays([pa.array([table]), value], names=["table", "rows"])


@in_worker
def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for rows in batch.column("rows"):
            with pa.ipc.open_stream(rows.as_buffer()) as stream:
                yield from stream
