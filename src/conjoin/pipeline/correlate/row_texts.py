"""Rows as JSON objects, as they came: what `later` and `dead_letters` hold. Column by column, as there may be many."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.pipeline.correlate.fold.deadlines import filled
from conjoin.pipeline.correlate.fold.detail import are_written_as_they_are, isos
from conjoin.pipeline.correlate.fold.utf8 import is_utf8
from conjoin.pipeline.correlate.shape import INTERRUPTING_GIVEN, NOT_INTERRUPTING, Layout, columns_of

_INSTANT_SLOTS = ("at", "until", "kept")


def row_texts(batch: pa.RecordBatch, rows: np.ndarray, table: str, layout: Layout) -> pa.Array:
    """Nulls are left out."""
    taken = pa.array(rows)
    fields = []
    for name, slot in columns_of(table, layout).items():
        column = filled(batch, slot)
        if column is not None:
            head = msgspec.json.encode(name).decode() + ":"
            fields.append(pc.binary_join_element_wise(head, _values(name, slot, column.take(taken)), ""))
    if not fields:
        return pa.repeat("{}", len(rows))
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*fields, ",", null_handling="skip"), "}", "")


def _values(name: str, slot: str, column: pa.Array) -> pa.Array:
    if slot == "kind":
        return _interrupting(column)
    if slot in _INSTANT_SLOTS and name.endswith("_at"):
        return _quoted(pc.if_else(column.is_valid(), isos(pc.fill_null(column, 0).to_numpy()), None))
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.string())
    if column.type == pa.string() and is_utf8(column) and are_written_as_they_are(column, len(column)).all():
        return _quoted(column)
    values = (_value(one) for one in column)
    texts = [None if value is None else msgspec.json.encode(value, enc_hook=str) for value in values]
    return pa.array(texts, pa.binary()).cast(pa.string())


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _interrupting(kinds: pa.Array) -> pa.Array:
    """Null where nothing was given."""
    flags = np.abs(kinds.to_numpy())
    given = pa.array(flags & INTERRUPTING_GIVEN != 0)
    return pc.if_else(given, pa.array(flags & NOT_INTERRUPTING == 0).cast(pa.string()), pa.scalar(None, pa.string()))


def _value(value: pa.Scalar) -> Any:
    """As Python has it, or as text where Python has none (a year after 9999, bytes that are no UTF-8)."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_timestamp(value.type):
            return str(value.cast(pa.int64()).as_py())
        if pa.types.is_string(value.type):
            return value.as_buffer().to_pybytes().decode(errors="replace")
        return f"<{value.type}>"
