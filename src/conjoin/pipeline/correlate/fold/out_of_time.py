"""Rows that are not decided on: those after `as_of`, and those before `since` that no earlier run has kept."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.pipeline.correlate.fold.deadlines import filled
from conjoin.pipeline.correlate.fold.variables import leave_out_bad_variables
from conjoin.pipeline.correlate.shape import END, KIND, OPEN, PUBLISH


def later_rows(batch: pa.RecordBatch, as_of: int) -> np.ndarray:
    return _usable(batch) & (_instants(batch) > as_of)


def late_rows(batch: pa.RecordBatch, since: int | None) -> np.ndarray:
    """But for those that cannot be used for another reason, which the walk finds."""
    if since is None:
        return np.zeros(batch.num_rows, dtype=bool)
    kinds = batch.column("kind").to_numpy() & KIND
    late = _usable(batch) & (_instants(batch) < since) & np.isin(kinds, (END, OPEN, PUBLISH))
    for slot in ("kept", "taken_by"):
        column = filled(batch, slot)
        if column is not None:
            late &= column.is_null().to_numpy(zero_copy_only=False)
    if late.any():
        late &= (kinds == END) | _has_text(batch, "name")
        late &= (kinds != OPEN) | _has_text(batch, "process")
        leave_out_bad_variables(filled(batch, "variables"), late & (kinds == PUBLISH), late)
    return late


def _usable(batch: pa.RecordBatch) -> np.ndarray:
    usable: np.ndarray = batch.column("kind").to_numpy() > 0
    return usable


def _instants(batch: pa.RecordBatch) -> np.ndarray:
    instants: np.ndarray = pc.fill_null(batch.column("at"), 0).to_numpy()
    return instants


def _has_text(batch: pa.RecordBatch, slot: str) -> np.ndarray:
    """Blank is as good as none."""
    column = filled(batch, slot)
    if column is None:
        return np.zeros(batch.num_rows, dtype=bool)
    encoded = column.dictionary_encode()
    told = [bool(text) and not text.isspace() for text in encoded.dictionary.to_pylist()]
    return np.array([*told, False])[pc.fill_null(encoded.indices, len(told)).to_numpy()]
