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
from conjoin.kernel.policies import Policies, Policy
from conjoin.pipeline.correlate.fold.deadlines import BEYOND, deadlines_of, filled
from conjoin.pipeline.correlate.fold.variables import leave_out_bad_variables, problem_of_variables
from conjoin.pipeline.correlate.shape import KIND, NOT_INTERRUPTING, PUBLISH, REPEATED

DEFAULT_TENANT = "<default>"

_texts_in = msgspec.json.Decoder(list[str | None]).decode


class Rows:
    """The columns of a batch that the walk reads, each a list with one entry a row."""

    def __init__(self, batch: pa.RecordBatch, policies: Policies) -> None:
        self.batch = batch
        kinds = batch.column("kind").to_numpy()
        flags = np.abs(kinds).astype(np.int64)
        self.kind = (np.sign(kinds) * (flags & KIND)).tolist()
        self.interrupting = (flags & NOT_INTERRUPTING == 0).tolist()
        self.repeated = (flags & REPEATED != 0).tolist()
        self.at = _numbers(batch, "at")
        self.until = _numbers(batch, "until")
        self.position = _numbers(batch, "position")
        self.kept = _numbers(batch, "kept")
        names, codes = _coded(batch, "name")
        self.name = _picked(names, codes)
        self.tenant = _picked(*_coded(batch, "tenant", DEFAULT_TENANT))
        self.process = _picked(*_coded(batch, "process"))
        self.element = _picked(*_coded(batch, "element"))
        self.business = _texts(batch, "business")
        self.id = _texts(batch, "id")
        self.instance = _texts(batch, "instance")
        self.taken_by = [None if text is None else read_texts(text) for text in _texts(batch, "taken_by")]
        publish = kinds & KIND == PUBLISH
        publish &= kinds > 0
        by_name = [policies.default if name is None else policies.of(name) for name in names]
        self.policy = _picked(by_name, codes)
        self.deadline = self._deadlines(publish, codes, by_name)
        self.plain = self._plain(publish & np.array([name is not None for name in names])[codes]).tolist()
        """Messages with a name and variables, new in this run, whose position is no other's."""
        starts, keys = runs_of(batch)
        self.starts, self.keys = starts.tolist(), keys.to_pylist()

    def _deadlines(self, publish: np.ndarray, codes: np.ndarray, by_name: list[Policy]) -> list[int]:
        found = np.zeros(len(publish), dtype=np.int64)
        at = np.array(pc.fill_null(self.batch.column("at"), 0).to_numpy(), dtype=np.int64)
        found[publish] = deadlines_of(self.batch, publish, at, codes, by_name)
        deadlines: list[int] = found.tolist()
        for row in np.flatnonzero(found == BEYOND).tolist():
            deadlines[row] = deadline_of(self.at[row], self.until[row], self.policy[row])
        return deadlines

    def _plain(self, plain: np.ndarray) -> np.ndarray:
        plain &= ~np.array(self.repeated)
        for slot in ("kept", "taken_by"):
            column = filled(self.batch, slot)
            if column is not None:
                plain &= column.is_null().to_numpy(zero_copy_only=False)
        variables = filled(self.batch, "variables")
        if variables is not None and variables.type == pa.string():
            leave_out_bad_variables(variables, plain.copy(), plain)
        elif variables is not None:
            plain &= variables.is_null().to_numpy(zero_copy_only=False)
        return plain

    def problem_of_variables(self, row: int) -> str | None:
        variables = _value_of(self.batch, "variables", row)
        return None if variables is None else problem_of_variables(variables)

    def taken_before(self, row: int) -> int:
        """How many receivers a message of an earlier run had."""
        before = _value_of(self.batch, "prior_correlated_to", row)
        return len(self.taken_by[row] or ()) if before is None else len(read_texts(before))


def read_texts(array: str) -> list[str]:
    """The texts of a JSON array; a null is none."""
    return [text for text in _texts_in(array) if text is not None]


def _value_of(batch: pa.RecordBatch, name: str, row: int) -> Any:
    return batch.column(name)[row].as_py() if name in batch.schema.names else None


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


def _coded(batch: pa.RecordBatch, name: str, default: str | None = None) -> tuple[list[Any], np.ndarray]:
    """Each text decoded once, and which of them each row has; a blank one is as good as none."""
    column = filled(batch, name)
    if column is None:
        return [default], np.zeros(batch.num_rows, dtype=np.int64)
    encoded = column.dictionary_encode()
    values = [text if text and not text.isspace() else default for text in encoded.dictionary.to_pylist()]
    return [*values, default], pc.fill_null(encoded.indices, len(values)).to_numpy().astype(np.int64)


def _picked(values: list[Any], codes: np.ndarray) -> list[Any]:
    if len(values) == 1:
        return values * len(codes)
    return list(map(values.__getitem__, codes.tolist()))


def runs_of(batch: pa.RecordBatch) -> tuple[np.ndarray, pa.Array]:
    """Where each run of rows with one correlation key starts, and its key; a null key is the empty one."""
    key = pc.fill_null(batch.column("key"), "")
    changes = pc.not_equal(key.slice(1), key.slice(0, len(key) - 1)).to_numpy(zero_copy_only=False)
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    return starts, key.take(pa.array(starts))
