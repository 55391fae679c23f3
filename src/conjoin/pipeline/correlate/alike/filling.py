"""Filling: the answer to a pattern, filled with the values of all histories that are alike, column by column."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.catalog import StartSubscription
from conjoin.pipeline.correlate.alike.answers import MessageAnswer, PatternAnswer
from conjoin.pipeline.correlate.alike.patterns import Alike
from conjoin.pipeline.correlate.alike.start_versions import StartVersions
from conjoin.pipeline.correlate.alike.symbols import ELEMENT, Elapsed, Instant, Iso, Started, Text
from conjoin.pipeline.correlate.alike.traits import Traits
from conjoin.pipeline.correlate.fold.deadlines import distinct
from conjoin.pipeline.correlate.fold.detail import isos
from conjoin.pipeline.correlate.fold.instance_names import Cause, InstanceNames
from conjoin.pipeline.correlate.fold.outputs import Outputs, SaidColumns
from conjoin.pipeline.correlate.fold.row_buffers import Row
from conjoin.pipeline.correlate.results import KEPT, PAIR, SAID, TEXTS, Columns, arrow_types


class Histories:
    """All histories of one pattern in a batch: gives every symbol of the answer its values, one a history."""

    def __init__(self, batch: pa.RecordBatch, traits: Traits, alike: Alike, versions: StartVersions) -> None:
        self.batch = batch
        self.starts = alike.starts
        self._traits = traits
        self._fixed = versions.kinds[alike.pattern.meets].fixed
        self._meetings = alike.meetings
        self._elements = versions.elements
        self._length = alike.pattern.rows
        self._names: list[pa.Array] = []
        self._texts: dict[Text, pa.Array] = {}

    def name_instances(self, answer: PatternAnswer) -> None:
        """Give the instances that are started their names, history by history."""
        if not answer.starts:
            return
        names = InstanceNames()
        causes = zip(*(self._causes(start.row, start.start) for start in answer.starts), strict=True)
        rows = []
        for history in causes:
            rows.append([names.name(cause) for cause in history])
            names.end_key()
        self._names = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]

    def _causes(self, row: int, start: StartSubscription) -> list[Cause]:
        rows = pa.array(self.starts + row)
        columns = [self._column(slot, rows) for slot in ("key", "name", "id", "position", "variables")]
        at = self._traits.at[self.starts + row].tolist()
        who = (start.process_id, start.tenant_id)
        return [
            Cause(*who, key or "", name, published_at, message_id or "", position, variables)
            for published_at, key, name, message_id, position, variables in zip(at, *columns, strict=True)
        ]

    def _column(self, slot: str, rows: pa.Array) -> list[Any]:
        if slot not in self.batch.schema.names:
            return [None] * len(rows)
        values: list[Any] = self.batch.column(slot).take(rows).to_pylist()
        return values

    def values(self, symbol: Any, kind: pa.DataType) -> pa.Array:
        """One value a history."""
        if isinstance(symbol, Text):
            if symbol not in self._texts:
                self._texts[symbol] = self._text(symbol)
            return self._texts[symbol]
        if isinstance(symbol, Started):
            return self._names[symbol.number]
        if isinstance(symbol, Instant):
            return pa.array(self.instant(symbol.place)).cast(kind)
        if isinstance(symbol, Iso):
            return isos(self.instant(symbol.place))
        if isinstance(symbol, Elapsed):
            spans = self.instant(symbol.end) - self.instant(symbol.start)
            return pa.array(spans.clip(min=0) // 1_000).cast(pa.string())
        return (
            pa.nulls(len(self.starts), kind) if symbol is None else pa.repeat(pa.scalar(symbol, kind), len(self.starts))
        )

    def _text(self, symbol: Text) -> pa.Array:
        if symbol.slot != ELEMENT:
            return self.batch.column(symbol.slot).take(pa.array(self.starts + symbol.row))
        meetings, places = distinct(self._meetings)
        return pa.array([self._elements[one][symbol.row] for one in meetings.tolist()], pa.string()).take(
            pa.array(places)
        )

    def instant(self, place: int) -> Any:
        """One of the pattern's instants, a number a history."""
        column, row = divmod(place, self._length)
        if column < len(self._traits.instants):
            return self._traits.instants[column][self.starts + row]
        fixed = self._fixed[place - self._length * len(self._traits.instants)]
        return np.full(len(self.starts), fixed, dtype=np.int64)


class Filling:
    """Gathers the filled answers of a batch and hands them over at its end."""

    def __init__(self) -> None:
        self._rows: list[np.ndarray] = []
        self._said: dict[str, list[pa.Array]] = {name: [] for name in SAID}
        self._marks: list[pa.Array] = []
        self._pair_counts: list[np.ndarray] = []
        self._pairs: list[list[pa.Array]] = []
        self._kept: dict[str, list[list[pa.Array]]] = {table: [] for table in KEPT}
        self._ends_ignored = 0

    def add(self, answer: PatternAnswer, histories: Histories) -> None:
        for said in answer.said:
            self._add_said(said, histories)
        for table, rows in answer.kept.items():
            self._kept[table] += [_columns_of(row, KEPT[table], histories) for row in rows]
        self._ends_ignored += answer.ends_ignored * len(histories.starts)

    def _add_said(self, said: MessageAnswer, histories: Histories) -> None:
        count = len(histories.starts)
        offered = said.marks is not None
        self._rows.append(histories.starts + said.row)
        self._said["detail"].append(_joined(said.detail, histories))
        values = {"verdict": said.verdict, "reason": said.reason, "decided_at": said.decided_at, "offered": offered}
        values["nearest"] = said.nearest
        kinds = arrow_types(SAID)
        for name, value in values.items():
            self._said[name].append(histories.values(value, kinds[name]))
        self._marks.append(pa.nulls(count, TEXTS) if said.marks is None else _lists_of(said.marks, histories))
        self._pair_counts.append(np.full(count, len(said.pairs)))
        if said.pairs:
            self._pairs.append(_interleaved([_columns_of(pair, PAIR, histories) for pair in said.pairs], count))

    def finished(self, batch: pa.RecordBatch, outputs: Outputs) -> Iterator[pa.RecordBatch]:
        outputs.ends_ignored += self._ends_ignored
        if self._rows:
            said = SaidColumns(
                {name: pa.concat_arrays(parts) for name, parts in self._said.items()},
                pa.concat_arrays(self._marks),
                np.concatenate(self._pair_counts),
                _joined_columns(self._pairs, PAIR),
            )
            yield from outputs.of_messages(batch, np.concatenate(self._rows), said)
        for table, parts in self._kept.items():
            if parts:
                yield from outputs.of_kept(table, _joined_columns(parts, KEPT[table]))


def _joined_columns(parts: list[list[pa.Array]], columns: Columns) -> list[pa.Array]:
    if not parts:
        return [pa.array([], kind) for kind in arrow_types(columns).values()]
    return [pa.concat_arrays(column) for column in zip(*parts, strict=True)]


def _columns_of(row: Row, columns: Columns, histories: Histories) -> list[pa.Array]:
    kinds = arrow_types(columns).values()
    return [histories.values(value, kind) for value, kind in zip(row, kinds, strict=True)]


def _interleaved(pairs: list[list[pa.Array]], count: int) -> list[pa.Array]:
    """The first pair of each history, then its second: those of one history side by side."""
    if len(pairs) == 1:
        return pairs[0]
    order = pa.array(np.arange(len(pairs) * count).reshape(len(pairs), count).T.ravel())
    return [pa.concat_arrays(column).take(order) for column in zip(*pairs, strict=True)]


def _joined(parts: tuple[Any, ...], histories: Histories) -> pa.Array:
    """Texts and symbols, one after the other, as one text a history."""
    columns = [part if isinstance(part, str) else histories.values(part, pa.string()) for part in parts]
    if len(columns) == 1 and isinstance(columns[0], str):
        return pa.repeat(pa.scalar(columns[0]), len(histories.starts))
    return pc.binary_join_element_wise(*columns, "")


def _lists_of(marks: list[tuple[Any, ...]], histories: Histories) -> pa.Array:
    """A list of so many texts for each history."""
    count = len(histories.starts)
    texts = pa.array([], pa.string())
    if marks:
        [texts] = _interleaved([[_joined(mark, histories)] for mark in marks], count)
    return pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32) * len(marks)), texts)
