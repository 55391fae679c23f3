"""Outputs: what the fold says of each row, gathered into Arrow batches of one shape.

A message's own columns are taken from the batch in which they came and never become Python objects. Rows whose
verdict is not final when their batch ends are kept in chunks of their own until it is.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation.events import InstanceStarted
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace, Lock
from conjoin.kernel.correlation.verdicts import parameters, verdict_of
from conjoin.pipeline.detail import detail_of, detail_text, iso
from conjoin.pipeline.rows import Rows
from conjoin.pipeline.shape import COLUMNS_OF, PRIOR_SLOTS, SLOT_OF, Layout

MESSAGE, OPENED, LOCKED, REMEMBERED, DEAD, LATER, ENDS_IGNORED = range(7)

_INSTANT = pa.timestamp("us", tz="UTC")
_TEXT = pa.string()
_PAIR = {
    "kind": _TEXT,
    "process_id": _TEXT,
    "subscription_id": _TEXT,
    "instance_id": _TEXT,
    "element_id": _TEXT,
    "correlated_at": _INSTANT,
}
_SAID = {
    "verdict": _TEXT,
    "reason": _TEXT,
    "detail": _TEXT,
    "decided_at": _INSTANT,
    "offered": pa.bool_(),
    "kept_at": _INSTANT,
}
_KEPT = {
    OPENED: {
        "process_id": _TEXT,
        "name": _TEXT,
        "correlation_key": _TEXT,
        "opened_at": _INSTANT,
        "closed_at": _INSTANT,
        "subscription_id": _TEXT,
        "instance_id": _TEXT,
        "element_id": _TEXT,
        "interrupting": pa.bool_(),
        "tenant_id": _TEXT,
        "business_id": _TEXT,
        "kept_at": _INSTANT,
    },
    LOCKED: {
        "process_id": _TEXT,
        "correlation_key": _TEXT,
        "tenant_id": _TEXT,
        "instance_id": _TEXT,
        "locked_at": _INSTANT,
    },
    REMEMBERED: {
        "name": _TEXT,
        "correlation_key": _TEXT,
        "tenant_id": _TEXT,
        "message_id": _TEXT,
        "published_at": _INSTANT,
        "until_at": _INSTANT,
    },
    DEAD: {"table": _TEXT, "row": _TEXT, "reason": _TEXT, "detail": _TEXT},
    LATER: {"table": _TEXT, "row": _TEXT},
    ENDS_IGNORED: {"count": pa.int64()},
}
KEPT_COLUMN = {
    OPENED: "open",
    LOCKED: "lock",
    REMEMBERED: "id",
    DEAD: "dead",
    LATER: "later",
    ENDS_IGNORED: "ends_ignored",
}

_LAST_DAY = 253_402_300_799_999_999
"""The end of the year 9999: what "never" looks like in a table of timestamps."""

_CHUNK = 32
_ROW = (1 << _CHUNK) - 1


class Outputs:
    """Collects finished rows; `finished()` hands them over as batches and forgets them."""

    NO_ROW = -1

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.base = 0
        """`base | row` names a row of the current batch for as long as its message lives."""
        self._chunks: dict[int, pa.RecordBatch] = {}
        self._living: dict[int, int] = {}
        self._types: dict[str, pa.DataType] = {}
        self._chunk = 0
        self._references: list[int] = []
        self._said: list[tuple[Any, ...]] = []
        self._marks: list[Any] = []
        self._pair_counts: list[int] = []
        self._pairs: list[tuple[Any, ...]] = []
        self._kept: dict[int, list[tuple[Any, ...]]] = {table: [] for table in _KEPT}

    def begin_batch(self, batch: pa.RecordBatch) -> None:
        self._chunk += 1
        self._chunks[self._chunk] = batch
        self._types = self._types or self._types_of(batch)
        self.base = self._chunk << _CHUNK

    def identity(self, message: Message) -> tuple[Any, ...]:
        """What tells a message from others with the same name, key, time and id."""
        chunk = self._chunks[message.payload >> _CHUNK]
        row = message.payload & _ROW
        return chunk.column("position")[row].as_py(), chunk.column("variables")[row].as_py()

    def message(
        self,
        message: Message,
        space: KeySpace,
        as_of: int,
        catalog: Catalog,
        other_tenants: tuple[KeySpace, ...],
    ) -> None:
        verdict, reason, decided_at, _ = whole = verdict_of(space, message, as_of, catalog)
        told = parameters(space, message, whole, as_of, catalog, other_tenants)
        stored = message.stored and message.deadline > as_of
        self._references.append(message.payload)
        self._said.append((verdict, reason, detail_of(verdict, told), decided_at, stored, as_of if stored else None))
        self._marks.append(list(message.marks) if stored else None)
        targets = message.targets
        self._pair_counts.append(len(targets))
        for target in targets:
            self._pairs.append(_pair_of(target))
        message.payload = self.NO_ROW
        message.targets = ()
        message.ended = None

    def open(self, space: KeySpace, it: Subscription, as_of: int) -> None:
        who = (it.process_id, it.name, space.key, it.opened_at, it.payload, it.key, it.instance_id)
        rest = (it.element_id, it.interrupting, space.tenant_id, it.business_id or None, as_of)
        self._kept[OPENED].append((*who, *rest))

    def lock(self, space: KeySpace, it: Lock) -> None:
        row = (it.process_id, space.key, space.tenant_id, it.instance_id, it.since)
        self._kept[LOCKED].append(row)

    def id(self, space: KeySpace, it: Message, until_at: int) -> None:
        until = min(until_at, _LAST_DAY)
        row = (it.name, space.key, space.tenant_id, it.message_id, it.published_at, until)
        self._kept[REMEMBERED].append(row)

    def faulty(self, rows: Rows, row: int, table: str) -> None:
        """A row that could not be read; the plan has said why."""
        reason, _, column = rows.batch.column("fault")[row].as_py().partition(":")
        raw = rows.batch.column("raw")[row].as_py()
        value = msgspec.json.decode(raw).get(column)
        told = {"column": column} if value is None else {"column": column, "value": str(value)[:200]}
        self._kept[DEAD].append((table, raw, reason, detail_text(told)))

    def dead(self, rows: Rows, row: int, table: str, reason: str, told: dict[str, Any]) -> None:
        self._kept[DEAD].append((table, self._text_of(rows, row, table), reason, detail_text(told)))

    def later(self, rows: Rows, row: int, table: str) -> None:
        self._kept[LATER].append((table, self._text_of(rows, row, table)))

    def end_ignored(self) -> None:
        self._kept[ENDS_IGNORED].append((1,))

    def _text_of(self, rows: Rows, row: int, table: str) -> str:
        """The row as a JSON object, as it came."""
        slots = self.layout.slots if table == "messages" else {c: SLOT_OF[c] for c in COLUMNS_OF[table]}
        values = {name: _plain(rows.batch.column(slot)[row]) for name, slot in slots.items()}
        for name, value in values.items():
            if name.endswith("_at") and isinstance(value, int):
                values[name] = iso(value)
        present = {name: value for name, value in values.items() if value is not None}
        return msgspec.json.encode(present, enc_hook=str).decode()

    def finished(self) -> Iterator[pa.RecordBatch]:
        if self._references:
            yield from self._message_batches()
        for table, rows in self._kept.items():
            if rows:
                yield self._batch(table, len(rows), {KEPT_COLUMN[table]: _struct_of(rows, _KEPT[table])})
                self._kept[table] = []

    def _message_batches(self) -> Iterator[pa.RecordBatch]:
        references = np.array(self._references, dtype=np.int64)
        said = dict(zip(_SAID, _arrays_of(self._said, _SAID), strict=True))
        said["taken_by"] = pa.array(self._marks, pa.list_(_TEXT))
        said["pairs"] = self._pair_lists()
        chunks = references >> _CHUNK
        for chunk in np.unique(chunks).tolist():
            picked = np.flatnonzero(chunks == chunk)
            rows = pa.array(references[picked] & _ROW)
            columns = {"row": self._own_columns(self._chunks[chunk], rows)}
            whole = len(picked) == len(references)
            for name, values in said.items():
                columns[name] = values if whole else values.take(pa.array(picked))
            if self.layout.prior:
                columns["prior"] = self._prior_columns(self._chunks[chunk], rows)
            yield self._batch(MESSAGE, len(picked), columns)
            self._release(chunk, len(picked))
        self._forget_said()

    def _forget_said(self) -> None:
        self._references = []
        self._said = []
        self._marks = []
        self._pair_counts = []
        self._pairs = []

    def _pair_lists(self) -> pa.Array:
        pairs = pa.StructArray.from_arrays(_arrays_of(self._pairs, _PAIR), names=list(_PAIR))
        offsets = np.concatenate(([0], np.cumsum(self._pair_counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pairs)

    def _own_columns(self, batch: pa.RecordBatch, rows: pa.Array) -> pa.Array:
        arrays = [_own_column(batch, self.layout.slots[name], name).take(rows) for name in self.layout.columns]
        return pa.StructArray.from_arrays(arrays, names=list(self.layout.columns))

    def _prior_columns(self, batch: pa.RecordBatch, rows: pa.Array) -> pa.Array:
        arrays = [batch.column(slot).take(rows) for slot, _ in PRIOR_SLOTS]
        return pa.StructArray.from_arrays(arrays, names=[slot.removeprefix("prior_") for slot, _ in PRIOR_SLOTS])

    def _batch(self, table: int, count: int, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        tag = pa.array(np.full(count, table, dtype=np.int8))
        arrays = [tag]
        names = ["table"]
        for name, kind in self._types.items():
            names.append(name)
            arrays.append(columns[name] if name in columns else pa.nulls(count, kind))
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _types_of(self, batch: pa.RecordBatch) -> dict[str, pa.DataType]:
        none = pa.array([], pa.int64())
        types = {"row": self._own_columns(batch, none).type}
        types |= _SAID | {"taken_by": pa.list_(_TEXT), "pairs": pa.list_(pa.struct(_PAIR))}
        if self.layout.prior:
            types["prior"] = self._prior_columns(batch, none).type
        types |= {KEPT_COLUMN[table]: pa.struct(kinds) for table, kinds in _KEPT.items()}
        return types

    def end_batch(self, arrived: list[Message]) -> None:
        """Keep of the batch only the rows of messages without a final verdict, in a chunk of their own."""
        pending = [message for message in arrived if message.payload != self.NO_ROW]
        arrived.clear()
        batch = self._chunks.pop(self._chunk)
        if pending:
            rows = pa.array([message.payload & _ROW for message in pending], pa.int64())
            for place, message in enumerate(pending):
                message.payload = self.base | place
            self._chunks[self._chunk] = pa.RecordBatch.from_struct_array(batch.to_struct_array().take(rows))
            self._living[self._chunk] = len(pending)

    def _release(self, chunk: int, count: int) -> None:
        if chunk in self._living:
            self._living[chunk] -= count
            if not self._living[chunk]:
                del self._living[chunk], self._chunks[chunk]


def _own_column(batch: pa.RecordBatch, slot: str, name: str) -> pa.Array:
    column = batch.column(slot)
    return column.cast(_INSTANT) if slot == "at" else column


def _plain(value: pa.Scalar) -> Any:
    """The value as Python has it, or as text where Python has none (a year after 9999)."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return str(value.cast(pa.int64()).as_py() if pa.types.is_timestamp(value.type) else value)


def _pair_of(target: Any) -> tuple[Any, ...]:
    if type(target) is InstanceStarted:
        start = target.start
        return ("start", start.process_id, None, target.instance_id, start.element_id, target.at)
    it = target.subscription
    return ("subscription", it.process_id, it.key, it.instance_id, it.element_id, target.at)


def _arrays_of(rows: list[tuple[Any, ...]], kinds: dict[str, pa.DataType]) -> list[pa.Array]:
    columns = zip(*rows, strict=True) if rows else ([] for _ in kinds)
    return [pa.array(values, kind) for values, kind in zip(columns, kinds.values(), strict=True)]


def _struct_of(rows: list[tuple[Any, ...]], kinds: dict[str, pa.DataType]) -> pa.Array:
    return pa.StructArray.from_arrays(_arrays_of(rows, kinds), names=list(kinds))
