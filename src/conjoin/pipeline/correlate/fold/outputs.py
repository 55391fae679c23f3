"""Outputs: what the walk says of each row, gathered into Arrow batches that are ready to be written.

A message's own columns are taken from the batch in which they came and never become Python objects. Rows whose
verdict is not final when their batch ends are kept in chunks of their own until it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.correlation.state import KeySpace
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.fold.detail import detail_text, encode
from conjoin.pipeline.correlate.fold.row_buffers import Gathered
from conjoin.pipeline.correlate.fold.rows import Rows, read_texts
from conjoin.pipeline.correlate.fold.taken import TakenMessages
from conjoin.pipeline.correlate.fold.walk import NO_ROW
from conjoin.pipeline.correlate.results import (
    BUFFERED,
    CARRIED,
    DEAD,
    IDENTITY,
    INSTANT,
    KEPT,
    LATER,
    PAIR,
    PAIRS,
    SAID,
    TEXTS,
    VERDICTS,
    arrow_types,
)
from conjoin.pipeline.correlate.row_texts import row_texts
from conjoin.pipeline.correlate.shape import KIND, TABLE_OF, Layout
from conjoin.pipeline.session.arrow_rows import to_arrays

_INSTANCE = list(PAIR).index("instance_id")
_CHUNK = 32
_ROW = (1 << _CHUNK) - 1
_PRIOR = ("verdict", "reason", "detail", "decided_at", "correlated_to")


class DeadRow(NamedTuple):
    """A row of the current batch that cannot be used."""

    table: str
    row: int
    reason: str
    detail: bytes


class OutputSink(Protocol):
    """Where finished batches go: back into Spark, or into files. What `put` and `finish` return is handed to Spark."""

    tables: frozenset[str]
    """The outputs that are wanted. With `CARRIED` among them the next fold goes on from what this one keeps, and a
    message is told of once, when nobody can take it any more."""

    def put(self, table: str, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]: ...
    def finish(self, counts: PartitionCounts) -> Iterable[pa.RecordBatch]: ...


class Outputs(Gathered):
    """Collects finished rows; `finished()` hands them over as batches and forgets them."""

    def __init__(self, layout: Layout, sink: OutputSink, as_of: int) -> None:
        super().__init__()
        self.detail = detail_text
        self.layout = layout
        self.counts = PartitionCounts()
        self._sink = sink
        self._as_of = as_of
        self._chunks: dict[int, pa.RecordBatch] = {}
        self._living: dict[int, int] = {}
        self._chunk = 0
        self._taken = TakenMessages()
        self._dead: list[DeadRow] = []

    def message(
        self, message: Message, space: KeySpace, as_of: int, catalog: Catalog, other_tenants: tuple[KeySpace, ...]
    ) -> None:
        if not self._taken.take(message):
            super().message(message, space, as_of, catalog, other_tenants)

    def begin_batch(self, batch: pa.RecordBatch) -> None:
        self._chunk += 1
        self._chunks[self._chunk] = batch
        self.base = self._chunk << _CHUNK

    def identity(self, message: Message) -> tuple[Any, ...]:
        """What tells a message from others with the same name, key, time and id."""
        chunk = self._chunks[message.payload >> _CHUNK]
        row = message.payload & _ROW
        return tuple(_value(chunk, slot, row) for slot in ("position", "variables"))

    def faulty(self, rows: Rows, row: int, table: str) -> None:
        """A row that could not be read; the plan has said why, and how the row looked."""
        reason, about, raw = rows.batch.column("fault")[row].as_py().split("\n", 2)
        if about.startswith("{"):
            detail: str | bytes = about
        else:
            raw = raw or row_texts(rows.batch, np.array([row]), table, self.layout)[0].as_py()
            value = msgspec.json.decode(raw).get(about)
            detail = encode({"column": about} if value is None else {"column": about, "value": str(value)[:200]})
        self.kept[DEAD].append((table, raw, reason, detail))
        self.counts.add_dead(table, reason)

    def dead(self, rows: Rows, row: int, table: str, reason: str, told: dict[str, Any]) -> None:
        self._dead.append(DeadRow(table, row, reason, encode(told)))
        self.counts.add_dead(table, reason)

    def late(self, batch: pa.RecordBatch, rows: np.ndarray) -> Iterator[pa.RecordBatch]:
        """Dead letters all of them; no row of the batch has been told of yet."""
        for table, some in _by_table(batch, rows):
            self.counts.add_dead(table, "late", len(some))
            told = [table, row_texts(batch, some, table, self.layout), "late", "{}"]
            arrays = [one if isinstance(one, pa.Array) else pa.repeat(one, len(some)) for one in told]
            yield from self.of_kept(DEAD, arrays)

    def later(self, batch: pa.RecordBatch, rows: np.ndarray) -> Iterator[pa.RecordBatch]:
        for table, some in _by_table(batch, rows):
            self.counts.later[table] = self.counts.later.get(table, 0) + len(some)
            texts = row_texts(batch, some, table, self.layout)
            yield from self.of_kept(LATER, [pa.repeat(table, len(some)), texts])

    def _tell_dead(self) -> None:
        batch = self._chunks[self._chunk]
        for table in {one.table for one in self._dead}:
            of_table = [one for one in self._dead if one.table == table]
            texts = row_texts(batch, np.array([one.row for one in of_table]), table, self.layout).to_pylist()
            self.kept[DEAD] += [(table, text, it.reason, it.detail) for it, text in zip(of_table, texts, strict=True)]
        self._dead = []

    def finished(self) -> Iterator[pa.RecordBatch]:
        if self._dead:
            self._tell_dead()
        if self.references:
            yield from self._messages()
        if self._taken.rows:
            yield from self._taken_messages()
        for table, rows in self.kept.items():
            if rows:
                yield from self.of_kept(table, to_arrays(rows, arrow_types(KEPT[table]).values()))
                self.kept[table] = []

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The partition has ended."""
        yield from self.finished()
        self.counts.ends_ignored = self.ends_ignored
        yield from self._sink.finish(self.counts)

    def _messages(self) -> Iterator[pa.RecordBatch]:
        said = SaidColumns(
            dict(zip(SAID, to_arrays(self.said, arrow_types(SAID).values()), strict=True)),
            pa.array(self.marks, TEXTS),
            np.array(self.pair_counts),
            to_arrays(self.pairs, arrow_types(PAIR).values()),
        )
        yield from self._by_chunk(self.references, said)
        self.references, self.said, self.marks, self.pair_counts, self.pairs = [], [], [], [], []

    def _taken_messages(self) -> Iterator[pa.RecordBatch]:
        rows, count = self._taken.rows, len(self._taken.rows)
        columns, pairs = self._taken.columns()
        yield from self._by_chunk(rows, SaidColumns(columns, pa.nulls(count, TEXTS), np.ones(count, np.int64), pairs))
        self._taken = TakenMessages()

    def _by_chunk(self, named: list[int], said: "SaidColumns") -> Iterator[pa.RecordBatch]:
        """Each beside the columns of its message, which may have come in an earlier batch."""
        references = np.array(named, dtype=np.int64)
        chunks = references >> _CHUNK
        for chunk in np.unique(chunks).tolist():
            picked = np.flatnonzero(chunks == chunk)
            some = said if len(picked) == len(references) else said.picked(picked)
            yield from self.of_messages(self._chunks[chunk], references[picked] & _ROW, some)
            self._release(chunk, len(picked))

    def of_messages(self, source: pa.RecordBatch, rows: np.ndarray, said: "SaidColumns") -> Iterator[pa.RecordBatch]:
        """What was said of these rows of a batch, beside their own columns; those still offered; and their pairs."""
        wanted, taken = self._sink.tables, pa.array(rows)
        columns = dict(said.columns)
        columns["correlated_to"] = said.instances()
        if self.layout.prior:
            columns |= _with_prior(columns, source, taken)
        if CARRIED in wanted:
            if PAIRS in wanted and len(said.pairs[0]):
                yield from self._sink.put(PAIRS, self._pairs_of(source, np.repeat(rows, said.pair_counts), said))
            yield from self._carry_on(source, rows, columns, said.marks)
            return
        self.counts.add_messages(columns, source, rows)
        offered = columns.pop("offered")
        self.counts.still_offered += pc.and_(offered, pc.equal(columns["verdict"], "correlated")).true_count
        del columns["nearest"]
        if VERDICTS in wanted or (BUFFERED in wanted and offered.true_count):
            own = {name: _own_column(source, slot).take(taken) for name, slot in self.layout.slots.items()}
            if VERDICTS in wanted:
                yield from self._sink.put(VERDICTS, _batch_of(own | columns))
            if BUFFERED in wanted and offered.true_count:
                own.pop("taken_by", None)
                kept_at = pa.repeat(pa.scalar(self._as_of, pa.int64()).cast(INSTANT), len(rows))
                all_of_it = _batch_of(own | columns | {"taken_by": said.marks, "kept_at": kept_at})
                yield from self._sink.put(BUFFERED, all_of_it.filter(offered))
        if PAIRS in wanted and len(said.pairs[0]):
            yield from self._sink.put(PAIRS, self._pairs_of(source, np.repeat(rows, said.pair_counts), said))

    def _carry_on(
        self, source: pa.RecordBatch, rows: np.ndarray, columns: dict[str, pa.Array], marks: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """Those still offered as rows that the next fold takes, and the verdicts of the others."""
        offered = columns["offered"]
        if offered.true_count:
            carried = {name: source.column(name).take(pa.array(rows)) for name in source.schema.names}
            carried |= {"taken_by": texts_of_lists(marks), "kept": pa.repeat(pa.scalar(self._as_of), len(rows))}
            carried |= {f"prior_{name}": columns[name] for name in _PRIOR if name != "correlated_to"}
            carried["prior_correlated_to"] = texts_of_lists(columns["correlated_to"])
            yield from self._sink.put(CARRIED, _batch_of(carried).filter(offered))
        final = pc.invert(offered)
        columns = {name: values.filter(final) for name, values in columns.items()}
        rows = rows[final.to_numpy(zero_copy_only=False)]
        self.counts.add_messages(columns, source, rows)
        if len(rows):
            own = {name: _own_column(source, slot).take(pa.array(rows)) for name, slot in self.layout.slots.items()}
            told = {name: columns[name] for name in columns if name not in ("offered", "nearest")}
            yield from self._sink.put(VERDICTS, _batch_of(own | told))

    def _pairs_of(self, source: pa.RecordBatch, rows: np.ndarray, said: "SaidColumns") -> pa.RecordBatch:
        columns, taken = {}, pa.array(rows)
        for name, kind in arrow_types(IDENTITY).items():
            slot = self.layout.slots.get(name)
            columns[name] = pa.nulls(len(rows), kind) if slot is None else _own_column(source, slot).take(taken)
        return _batch_of(columns | dict(zip(PAIR, said.pairs, strict=True)))

    def of_kept(self, table: str, arrays: list[pa.Array]) -> Iterator[pa.RecordBatch]:
        if table in self._sink.tables:
            yield from self._sink.put(table, pa.RecordBatch.from_arrays(arrays, names=list(KEPT[table])))

    def end_batch(self, arrived: list[Message]) -> None:
        """Keep of the batch only the rows of messages without a final verdict, in a chunk of their own."""
        pending = [message for message in arrived if message.payload != NO_ROW]
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


@dataclass(frozen=True, slots=True)
class SaidColumns:
    """What was said of some messages: an entry each in `columns`, `marks` and `pair_counts`; their pairs in a row."""

    columns: dict[str, pa.Array]
    marks: pa.Array
    pair_counts: np.ndarray
    pairs: list[pa.Array]

    def instances(self) -> pa.Array:
        """Of each message the instances that have it."""
        offsets = np.concatenate(([0], np.cumsum(self.pair_counts))).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), self.pairs[_INSTANCE])

    def picked(self, rows: np.ndarray) -> "SaidColumns":
        counts = self.pair_counts[rows]
        firsts = (np.cumsum(self.pair_counts) - self.pair_counts)[rows]
        # Each pair counted from the first of its message.
        pairs = pa.array(np.repeat(firsts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum()), pa.int64())
        chosen = pa.array(rows)
        return SaidColumns(
            {name: values.take(chosen) for name, values in self.columns.items()},
            self.marks.take(chosen),
            counts,
            [values.take(pairs) for values in self.pairs],
        )


def _batch_of(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _own_column(batch: pa.RecordBatch, slot: str) -> pa.Array:
    column = batch.column(slot)
    if slot == "taken_by":
        return _lists_of(column)
    return column.cast(INSTANT) if slot == "at" else column


def _lists_of(column: pa.Array) -> pa.Array:
    """Lists of texts travel as JSON; the same one is read once."""
    encoded = column.dictionary_encode()
    lists = pa.array([read_texts(text) for text in encoded.dictionary.to_pylist()], TEXTS)
    return lists.take(encoded.indices)


def texts_of_lists(lists: pa.Array) -> pa.Array:
    """The other way round: each list of texts as JSON."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    if not pc.any(pc.greater(lengths, 0)).as_py():
        return pc.if_else(lists.is_valid(), "[]", pa.scalar(None, pa.string()))
    texts = [None if some is None else msgspec.json.encode(some).decode() for some in lists.to_pylist()]
    return pa.array(texts, pa.string())


def _with_prior(columns: dict[str, pa.Array], source: pa.RecordBatch, rows: pa.Array) -> dict[str, pa.Array]:
    """A verdict of an earlier run that correlated stays the first, and its receivers come before the new ones."""
    prior = {name: source.column(f"prior_{name}").take(rows) for name in _PRIOR}
    correlated = pc.equal(columns["verdict"], "correlated")
    before = pc.fill_null(pc.and_(pc.equal(prior["verdict"], "correlated"), correlated), False)
    prior["decided_at"] = prior["decided_at"].cast(INSTANT)
    changed = {name: pc.if_else(before, prior[name], columns[name]) for name in ("reason", "detail", "decided_at")}
    earlier, now = prior["correlated_to"], columns["correlated_to"]
    had = pc.fill_null(pc.not_equal(earlier, "[]"), False)
    if had.true_count:
        lists = _lists_of(earlier)
        if pc.any(pc.and_(had, pc.greater(pc.list_value_length(now), 0))).as_py():
            both = zip(lists.to_pylist(), now.to_pylist(), strict=True)
            changed["correlated_to"] = pa.array([(before or []) + after for before, after in both], TEXTS)
        else:
            changed["correlated_to"] = pc.if_else(had, lists, now)
    return changed


def _value(batch: pa.RecordBatch, slot: str, row: int) -> Any:
    return batch.column(slot)[row].as_py() if slot in batch.schema.names else None


def _by_table(batch: pa.RecordBatch, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    kinds = batch.column("kind").to_numpy()[rows] & KIND
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        yield TABLE_OF[kind], rows[kinds == kind]
