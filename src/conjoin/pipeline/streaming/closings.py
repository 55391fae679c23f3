"""Closings: in a stream a subscription comes when it opens, and again, with `closed_at`, when it is closed.

A table has both in one row (docs/decisions/0003), and so has the fold: rows of one subscription become one, with the
earliest closing. A closing that finds no subscription is one of a subscription that is gone, which is no fault. Rows
without ids are of one subscription if they differ in `closed_at` alone.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.pipeline.correlate.shape import KIND, OPEN

_SAME = ("key", "id", "process", "name", "tenant")


def one_row_a_subscription(batch: pa.RecordBatch, since: int | None) -> tuple[pa.RecordBatch, int]:
    """The rows in their order; how many closings came for nothing. Rows of a subscription stand side by side: they have
    the same key, the same opening and the same id."""
    kinds = batch.column("kind").to_numpy().astype(np.int64)
    opens = (kinds > 0) & (kinds & KIND == OPEN)
    if not opens.any():
        return batch, 0
    at = pc.fill_null(batch.column("at"), ALWAYS).to_numpy()
    until = pc.fill_null(batch.column("until"), NEVER).to_numpy().copy()
    repeats = _repeats(batch, opens, at)
    stays = ~repeats
    if repeats.any():
        first = np.flatnonzero(stays)
        earliest = np.minimum.reduceat(until, first)
        merged = first[opens[first] & (earliest != until[first])]
        until[merged] = earliest[np.isin(first, merged)]
        nothing = batch.column("until").is_null().to_numpy(zero_copy_only=False).copy()
        nothing[merged] = False
        place = batch.schema.get_field_index("until")
        batch = batch.set_column(place, "until", pa.array(until, mask=nothing))
    ignored = np.zeros(len(kinds), dtype=bool)
    if since is not None:
        fresh = batch.column("kept").is_null().to_numpy(zero_copy_only=False)
        ignored = opens & stays & fresh & (at < since) & (until != NEVER)
        stays &= ~ignored
    return (batch if stays.all() else batch.filter(pa.array(stays))), int(ignored.sum())


def _repeats(batch: pa.RecordBatch, opens: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Is the row one of the same subscription as the row before it?"""
    found = np.zeros(len(at), dtype=bool)
    found[1:] = opens[1:] & opens[:-1] & (at[1:] == at[:-1])
    for slot in _SAME:
        rows = np.flatnonzero(found)
        if not len(rows):
            break
        column = pc.fill_null(batch.column(slot), "<default>" if slot == "tenant" else "")
        found[rows] = pc.equal(column.take(pa.array(rows)), column.take(pa.array(rows - 1))).to_numpy(False)
    return found
