"""Readable: Spark lets any bytes pass as a string, Python does not. What is no UTF-8 makes its row a dead letter."""

import numpy as np
import pyarrow as pa

from conjoin.pipeline.correlate.columns import UNREADABLE
from conjoin.pipeline.correlate.shape import KIND, SHAPE, TABLE_OF, Layout, columns_of

_NOT_ASCII = 0x80
_TEXT_SLOTS = [slot for slot, kind in SHAPE if kind == "string" and slot != "fault"]


def readable(batch: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """The batch itself, if all its texts can be read; else one in which the other rows are faulty."""
    for slot in _TEXT_SLOTS:
        place = batch.schema.get_field_index(slot)
        if place >= 0 and not is_utf8(batch.column(place)):
            batch = _without_unreadable(batch, slot, layout)
    return batch


def is_utf8(column: pa.Array) -> bool:
    if _is_ascii(column):
        return True
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(column: pa.Array) -> bool:
    """Nearly every column is, and this is seen at a tenth of the cost."""
    if column.type != pa.string():
        return False
    _, offsets, content = column.buffers()
    if content is None:
        return True
    first, last = np.frombuffer(offsets, dtype=np.int32)[[column.offset, column.offset + len(column)]]
    return bool(np.frombuffer(content, dtype=np.uint8)[first:last].max(initial=0) < _NOT_ASCII)


def _without_unreadable(batch: pa.RecordBatch, slot: str, layout: Layout) -> pa.RecordBatch:
    octets = batch.column(slot).cast(pa.binary()).to_pylist()
    texts = [None if one is None else one.decode(errors="replace") for one in octets]
    bad = [text is not None and text.encode() != one for text, one in zip(texts, octets, strict=True)]
    kinds = batch.column("kind").to_numpy().copy()
    faults = batch.column("fault").to_pylist()
    for row in np.flatnonzero(np.array(bad) & (kinds > 0)).tolist():
        faults[row] = f"{UNREADABLE}\n{_column_in(slot, kinds[row], layout)}\n"
        kinds[row] = -kinds[row]
    changed = {"kind": pa.array(kinds), "fault": pa.array(faults, pa.string()), slot: pa.array(texts, pa.string())}
    arrays = [changed.get(name, batch.column(name)) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _column_in(slot: str, kind: int, layout: Layout) -> str:
    """What the slot is called in the table that the row came from."""
    slots = columns_of(TABLE_OF[int(kind) & KIND], layout)
    return next((name for name, own in slots.items() if own == slot), slot)
