"""Rows: one Arrow batch of events as plain Python lists, read column by column.

Strings that repeat (names, processes, tenants) are decoded once each. The batch itself is kept beside the lists, so
that what a message carried along never becomes a Python object.
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_read_texts = msgspec.json.Decoder(list[str]).decode


class Rows:
    """The columns of a batch that the fold reads, each a list with one entry a row."""

    __slots__ = (
        "at",
        "batch",
        "business",
        "element",
        "id",
        "instance",
        "interrupting",
        "keys",
        "kept",
        "kind",
        "name",
        "position",
        "process",
        "repeated",
        "starts",
        "taken_by",
        "tenant",
        "ttl",
        "until",
        "variables",
    )

    def __init__(self, batch: pa.RecordBatch, default_tenant: str) -> None:
        self.batch = batch
        self.kind = _numbers(batch, "kind")
        self.at = _numbers(batch, "at")
        self.until = _numbers(batch, "until")
        self.ttl = _numbers(batch, "ttl")
        self.position = _numbers(batch, "position")
        self.kept = _numbers(batch, "kept")
        self.name = _repeated(batch, "name")
        self.tenant = _repeated(batch, "tenant", default_tenant)
        self.process = _repeated(batch, "process")
        self.element = _repeated(batch, "element")
        self.business = _texts(batch, "business")
        self.id = _texts(batch, "id")
        self.instance = _texts(batch, "instance")
        self.interrupting = _plain(batch, "interrupting")
        self.repeated = _plain(batch, "repeated")
        self.taken_by = [None if text is None else _read_texts(text) for text in _texts(batch, "taken_by")]
        self.variables = _texts(batch, "variables")
        self.starts, self.keys = _runs(batch)

    def taken_before(self, row: int) -> int:
        """How many receivers a message of an earlier run had."""
        if "prior_correlated_to" in self.batch.schema.names:
            before = self.batch.column("prior_correlated_to")[row].as_py()
            if before is not None:
                return len(_read_texts(before))
        return len(self.taken_by[row] or ())


def _numbers(batch: pa.RecordBatch, name: str) -> list[Any]:
    column = batch.column(name)
    if column.null_count == 0:
        return column.to_numpy().tolist()
    if column.null_count == len(column):
        return [None] * len(column)
    values: list[Any] = pc.fill_null(column, 0).to_numpy().tolist()
    for index in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
        values[index] = None
    return values


def _texts(batch: pa.RecordBatch, name: str) -> list[Any]:
    column = batch.column(name)
    if column.null_count == len(column):
        return [None] * len(column)
    return column.to_numpy(zero_copy_only=False).tolist()


def _plain(batch: pa.RecordBatch, name: str) -> list[Any]:
    column = batch.column(name)
    return [None] * len(column) if column.null_count == len(column) else column.to_pylist()


def _repeated(batch: pa.RecordBatch, name: str, default: str | None = None) -> list[Any]:
    """Each text decoded once; a blank one is as good as none."""
    column = batch.column(name)
    if column.null_count == len(column):
        return [default] * len(column)
    encoded = column.dictionary_encode()
    values = [text if text and not text.isspace() else default for text in encoded.dictionary.to_pylist()]
    values.append(default)
    codes = pc.fill_null(encoded.indices, len(values) - 1).to_numpy()
    return list(map(values.__getitem__, codes.tolist()))


def _runs(batch: pa.RecordBatch) -> tuple[list[int], list[str]]:
    """Where each run of rows with one correlation key starts, and its key; a null key is the empty one."""
    key = pc.fill_null(batch.column("key"), "")
    changes = pc.not_equal(key.slice(1), key.slice(0, len(key) - 1)).to_numpy(zero_copy_only=False)
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    return starts.tolist(), key.take(pa.array(starts)).to_pylist()
