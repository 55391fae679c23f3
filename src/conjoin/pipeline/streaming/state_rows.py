"""State rows: what a fold keeps becomes rows of the one shape again, each with the instant at which it falls due.

Nothing is decided here. A row that no instant concerns and whose key nobody writes to stays as it is.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.errors import InputError
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.fold.deadlines import deadlines_of, filled
from conjoin.pipeline.correlate.results import CARRIED, KEPT, LOCKED, OPENED, REMEMBERED
from conjoin.pipeline.correlate.shape import (
    ID,
    INTERRUPTING_GIVEN,
    KIND,
    LOCK,
    NOT_INTERRUPTING,
    OPEN,
    PUBLISH,
    SLOT_OF,
)
from conjoin.pipeline.streaming.manifest import Held

TIE, DUE, BUCKET = "tie", "due", "bucket"
BESIDE = ((TIE, "bigint"), (BUCKET, "int"))
"""Slots that only streams have: what tells a row without a position from others, and where it belongs."""
STATE_TABLES = (CARRIED, OPENED, LOCKED, REMEMBERED)

_KIND_OF = {OPENED: OPEN, LOCKED: LOCK, REMEMBERED: ID}


def rows_of(table: str, kept: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Rows of an output as `schema` has them; messages are of the shape already."""
    count = kept.num_rows
    if table == CARRIED:
        columns = {name: kept.column(name) for name in kept.schema.names}
    else:
        columns = {SLOT_OF[name]: kept.column(name) for name in KEPT[table] if name != "interrupting"}
        kind = pa.repeat(pa.scalar(_KIND_OF[table], pa.int8()), count)
        if table == OPENED:
            interrupting = kept.column("interrupting")
            flags = [pa.scalar(OPEN | INTERRUPTING_GIVEN | flag, pa.int8()) for flag in (0, NOT_INTERRUPTING)]
            kind = pc.if_else(interrupting, *flags)
        else:
            # Its own instant stands elsewhere: it comes before all others.
            columns["at"] = pa.repeat(pa.scalar(ALWAYS), count)
        if table == REMEMBERED:
            columns["kept"] = kept.column("published_at")
        columns["kind"] = kind
    arrays = [
        _as(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def with_due(rows: pa.Table, due: np.ndarray) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(DUE), DUE, pa.array(due, pa.int64()))


def due_of(batch: pa.RecordBatch, policies: Policies) -> np.ndarray:
    """When something happens to each row by itself: a message's deadline, a closing, the day an id is forgotten."""
    kinds = np.abs(batch.column("kind").to_numpy()) & KIND
    until = pc.fill_null(batch.column("until"), NEVER).to_numpy()
    due = np.where((kinds == OPEN) | (kinds == ID), until, NEVER)
    publish = kinds == PUBLISH
    if publish.any():
        names = pc.fill_null(batch.column("name"), "").dictionary_encode()
        by_name = [policies.of(name) for name in names.dictionary.to_pylist()]
        codes = names.indices.to_numpy().astype(np.int64)
        due[publish] = deadlines_of(batch, publish, batch.column("at").to_numpy(), codes, by_name)
    return due


def held_in(rows: pa.Table) -> Held:
    kinds = rows.column("kind").to_numpy() & KIND
    pending = pending_in(rows)
    counts = np.bincount(kinds[~pending], minlength=8)
    opened, buffered, locks, ids = (int(counts[kind]) for kind in (OPEN, PUBLISH, LOCK, ID))
    return Held(opened, buffered, locks, ids, int(pending.sum()))


def pending_in(rows: pa.Table) -> np.ndarray:
    """The rows that no fold has seen."""
    kinds = rows.column("kind").to_numpy() & KIND
    folded = rows.column("kept").is_valid().to_numpy() | (kinds == LOCK) | (kinds == ID)
    found: np.ndarray = ~folded
    return found


def in_order(rows: pa.Table) -> pa.RecordBatch:
    """One key after the other, each as the fold takes it (`correlate/events.py`): time, kind, position, id, tie."""
    batch = _as_one(rows)
    keys = pc.fill_null(batch.column("key"), "").dictionary_encode().indices.to_numpy()
    kinds = np.abs(batch.column("kind").to_numpy().astype(np.int64)) & KIND
    order = [_numbers(batch, "position"), kinds, _numbers(batch, "at"), keys]
    first = np.lexsort(order)
    if _has_ties(order, first):
        first = np.lexsort([_numbers(batch, TIE), _ranks(batch), *order])
    return batch.take(pa.array(first))


def _as_one(rows: pa.Table) -> pa.RecordBatch:
    """Of more than 2 GiB in a column of texts Arrow makes several."""
    found = rows.combine_chunks().to_batches()
    if len(found) > 1:
        told = f"one bucket has {rows.num_rows:,} rows and more than 2 GiB in a column of texts"
        raise InputError([f"{told}: begin a new state with more buckets"])
    return found[0]


def _numbers(batch: pa.RecordBatch, slot: str) -> np.ndarray:
    """Nothing comes first, as in SQL."""
    column = filled(batch, slot)
    if column is None:
        return np.zeros(batch.num_rows, dtype=np.int64)
    found: np.ndarray = pc.fill_null(column, ALWAYS).to_numpy()
    return found


def _has_ties(order: list[np.ndarray], first: np.ndarray) -> bool:
    same = np.ones(len(first) - 1, dtype=bool)
    for numbers in order:
        sorted_ = numbers[first]
        same &= sorted_[1:] == sorted_[:-1]
    return bool(same.any())


def _ranks(batch: pa.RecordBatch) -> np.ndarray:
    """Of ids, as their bytes are ordered."""
    encoded = batch.column("id").dictionary_encode()
    ranks = np.empty(len(encoded.dictionary) + 1, dtype=np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    ranks[-1] = -1
    found: np.ndarray = ranks[pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy()]
    return found
