"""Rows: one Arrow batch of events as plain Python lists, read column by column.

Strings that repeat (names, processes, tenants) are decoded once each. The batch itself is kept beside the lists, so
that what a message carried along never becomes a Python object. A slot that no table fills is not in the batch.
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.policies import Policy
from conjoin.pipeline.correlate.shape import INTERRUPTING_GIVEN, KIND, NOT_INTERRUPTING, REPEATED

DEFAULT_TENANT = "<default>"
MOST_VARIABLES_BYTES = 4 * 1024 * 1024


class _Object(msgspec.Struct):
    """Any JSON object: what is in it is looked over and not kept."""


_decoder = msgspec.json.Decoder(_Object)
read_object, read_objects = _decoder.decode, _decoder.decode_lines
read_texts = msgspec.json.Decoder(list[str]).decode


class Rows:
    """The columns of a batch that the walk reads, each a list with one entry a row."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        flags = np.abs(batch.column("kind").to_numpy()).astype(np.int64)
        self.kind = (np.sign(batch.column("kind").to_numpy()) * (flags & KIND)).tolist()
        self.interrupting = (flags & NOT_INTERRUPTING == 0).tolist()
        self.repeated = (flags & REPEATED != 0).tolist()
        self.at = _numbers(batch, "at")
        self.until = _numbers(batch, "until")
        self.position = _numbers(batch, "position")
        self.kept = _numbers(batch, "kept")
        self.name = _repeated(batch, "name")
        self.tenant = _repeated(batch, "tenant", DEFAULT_TENANT)
        self.process = _repeated(batch, "process")
        self.element = _repeated(batch, "element")
        self.business = _texts(batch, "business")
        self.id = _texts(batch, "id")
        self.instance = _texts(batch, "instance")
        self.taken_by = [None if text is None else read_texts(text) for text in _texts(batch, "taken_by")]
        self._variables = _texts(batch, "variables")
        starts, keys = runs_of(batch)
        self.starts, self.keys = starts.tolist(), keys.to_pylist()

    def terms(self, row: int, policy: Policy) -> tuple[Policy, int]:
        """The policy of a message, and its deadline."""
        return policy, deadline_of(self.at[row], self.until[row], policy)

    def problem_of_variables(self, row: int) -> str | None:
        variables = self._variables[row]
        return None if variables is None else problem_of_variables(variables)

    def taken_before(self, row: int) -> int:
        """How many receivers a message of an earlier run had."""
        if "prior_correlated_to" in self.batch.schema.names:
            before = self.batch.column("prior_correlated_to")[row].as_py()
            if before is not None:
                return len(read_texts(before))
        return len(self.taken_by[row] or ())


def interrupting_of(kind: int) -> bool | None:
    """As the flags of a row have it; None: nothing was given."""
    return not abs(kind) & NOT_INTERRUPTING if abs(kind) & INTERRUPTING_GIVEN else None


NO_OBJECT = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
"""What `read_object` raises where a text is no JSON object."""


def problem_of_variables(variables: str) -> str | None:
    """Why a text is not the variables of a message; None when it is."""
    if len(variables) > MOST_VARIABLES_BYTES:
        return "too_large"
    try:
        read_object(variables)
    except NO_OBJECT:
        return "bad_variables"
    return None


def filled(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """A column with something in it, or None."""
    place = batch.schema.get_field_index(name)
    if place < 0:
        return None
    column = batch.column(place)
    return None if column.null_count == len(column) else column


def _numbers(batch: pa.RecordBatch, name: str) -> list[Any]:
    column = filled(batch, name)
    if column is None:
        return [None] * batch.num_rows
    if column.null_count == 0:
        return column.to_numpy().tolist()
    values: list[Any] = pc.fill_null(column, 0).to_numpy().tolist()
    for index in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
        values[index] = None
    return values


def _texts(batch: pa.RecordBatch, name: str) -> list[Any]:
    column = filled(batch, name)
    return [None] * batch.num_rows if column is None else column.to_numpy(zero_copy_only=False).tolist()


def _repeated(batch: pa.RecordBatch, name: str, default: str | None = None) -> list[Any]:
    """Each text decoded once; a blank one is as good as none."""
    column = filled(batch, name)
    if column is None:
        return [default] * batch.num_rows
    encoded = column.dictionary_encode()
    values = [text if text and not text.isspace() else default for text in encoded.dictionary.to_pylist()]
    values.append(default)
    codes = pc.fill_null(encoded.indices, len(values) - 1).to_numpy()
    return list(map(values.__getitem__, codes.tolist()))


def runs_of(batch: pa.RecordBatch) -> tuple[np.ndarray, pa.Array]:
    """Where each run of rows with one correlation key starts, and its key; a null key is the empty one."""
    key = pc.fill_null(batch.column("key"), "")
    changes = pc.not_equal(key.slice(1), key.slice(0, len(key) - 1)).to_numpy(zero_copy_only=False)
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    return starts, key.take(pa.array(starts))
