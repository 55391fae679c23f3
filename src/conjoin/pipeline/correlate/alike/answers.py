"""Answers: what the kernel says of a pattern, asked once, with symbols in the place of the values that differ.

A history of symbols is walked like any other. Its ids are texts that stand for a row's own, and its instants are
chosen so that every difference between two of them occurs once: so each value in the answer names where it comes from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import Policies, Policy
from conjoin.pipeline.correlate.alike.patterns import Pattern
from conjoin.pipeline.correlate.alike.traits import Trait, Words
from conjoin.pipeline.correlate.fold.detail import encode, shown
from conjoin.pipeline.correlate.fold.row_buffers import LAST_DAY, Gathered, Row
from conjoin.pipeline.correlate.fold.rows import Rows
from conjoin.pipeline.correlate.fold.walk import FoldSetting, Walk

_SIGN, _STOP = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f'"{_SIGN}([0-9]+){_STOP}"')


@dataclass(frozen=True, slots=True)
class Text:
    """The text in a slot of a row of the history."""

    slot: str
    row: int


@dataclass(frozen=True, slots=True)
class Started:
    """The name of an instance that a message of the history starts: the so-manieth."""

    number: int


@dataclass(frozen=True, slots=True)
class Instant:
    """One of the pattern's instants, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Iso:
    """An instant as people write it."""

    place: int


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The milliseconds from one instant to another."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Start:
    """Which message of the history starts an instance of which process."""

    row: int
    start: StartSubscription


@dataclass(frozen=True, slots=True)
class MessageAnswer:
    """Of one message of the history. `detail` alternates texts and symbols; the rows of `pairs` hold symbols."""

    row: int
    verdict: str
    reason: str
    detail: tuple[Any, ...]
    decided_at: Instant
    marks: list[str] | None
    """None: it is not offered any more."""
    pairs: list[Row]


@dataclass(frozen=True, slots=True)
class PatternAnswer:
    """What becomes of every history of a pattern."""

    length: int
    said: list[MessageAnswer]
    kept: dict[int, list[Row]]
    starts: list[Start]


class NotShareable(Exception):  # noqa: N818 - it says what is the matter
    """The answer holds something that cannot be told for all histories of the pattern."""


class _SymbolRows(Rows):
    """The history of a pattern, with symbols for ids and chosen instants."""

    def __init__(self, pattern: Pattern, traits: list[Trait], instants: list[int]) -> None:
        length = len(traits)
        ids = pattern.first_equal(pattern.equal_ids)
        businesses = pattern.first_equal(pattern.equal_business_ids)
        self.kind = [trait.kind for trait in traits]
        self.at = instants[:length]
        self._ends = instants[length : 2 * length]
        self.until = [end if trait.has_end else None for end, trait in zip(self._ends, traits, strict=True)]
        self.name = [trait.name for trait in traits]
        self.process = [trait.process for trait in traits]
        self.tenant = [trait.tenant for trait in traits]
        self.interrupting = [trait.interrupting for trait in traits]
        self.element = [_symbol("element", row) if trait.has_element else None for row, trait in enumerate(traits)]
        self.instance = [_symbol("instance", row) if trait.has_instance else None for row, trait in enumerate(traits)]
        self.id = [_symbol("id", ids[row]) if trait.has_id else None for row, trait in enumerate(traits)]
        self.business = [
            _symbol("business", businesses[row]) if trait.has_business else None for row, trait in enumerate(traits)
        ]
        self.position = self.kept = self.repeated = self.taken_by = [None] * length
        self.starts, self.keys = [0], [_symbol("key", 0) if traits[0].has_key else ""]

    def deadline(self, row: int, policy: Policy) -> int:
        return self._ends[row]

    def problem_of_variables(self, row: int) -> str | None:
        return None


class _Recorder(Gathered):
    """A sink that keeps what it is told."""

    def finished(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def dead(self, rows: Rows, row: int, table: str, reason: str, told: dict[str, Any]) -> None:
        raise NotShareable(reason)

    def faulty(self, rows: Rows, row: int, table: str) -> None:
        raise NotShareable("fault")

    def later(self, rows: Rows, row: int, table: str) -> None:
        raise NotShareable("later")


class Inquiry:
    """Asks the kernel about patterns. `fixed` are the instants that hold for all histories, `as_of` the first."""

    def __init__(self, policies: Policies, starts: list[StartSubscription], fixed: list[int], words: Words) -> None:
        self._policies = policies
        self._starts = starts
        self._fixed = fixed
        self._words = words

    def answer(self, pattern: Pattern, tenants: Words) -> PatternAnswer:
        """Raises NoAnswer where the histories of the pattern have to be walked one by one."""
        traits = [Trait(code, self._words, tenants) for code in pattern.traits]
        self._check_words(traits)
        count = 2 * len(traits) + len(self._fixed)
        instants = self._instants(pattern, count)
        rows = _SymbolRows(pattern, traits, instants)
        starts: list[Start] = []
        recorder = _Recorder()

        def name_instance(tenant_id: str, key: str, message: Message, start: StartSubscription) -> str:
            starts.append(Start(message.payload, start))
            return f"{_SIGN}{len(starts) - 1}"

        moved = dict(zip(self._fixed, instants[2 * len(traits) :], strict=True))
        catalog = Catalog([_moved(start, moved) for start in self._starts], self._policies, name_instance)
        walk = Walk(FoldSetting(self._policies, catalog, moved[self._fixed[0]]), recorder, lambda: None)
        list(walk.take(rows))
        list(walk.finish())
        return _SymbolReader(instants).answer(len(traits), recorder, starts)

    def _check_words(self, traits: list[Trait]) -> None:
        words = [word for trait in traits for word in (trait.name, trait.process, trait.tenant)]
        words += [word for start in self._starts for word in (start.process_id, start.element_id)]
        if any(word is not None and word.startswith(_SIGN) for word in words):
            raise NotShareable("a word that looks like a symbol")

    def _instants(self, pattern: Pattern, count: int) -> list[int]:
        """Equal ranks, equal instants; the difference of any two ranks occurs once. The end of time stays there."""
        never = next((r for r, at in self._ranked(pattern, count) if at == NEVER), None)
        ranks = [pattern.rank(place) for place in range(count)]
        return [NEVER if rank == never else 1_000 << rank for rank in ranks]

    def _ranked(self, pattern: Pattern, count: int) -> Iterator[tuple[int, int]]:
        first = count - len(self._fixed)
        return ((pattern.rank(first + number), at) for number, at in enumerate(self._fixed))


def _symbol(slot: str, row: int) -> str:
    return f"{_SIGN}{slot}{_STOP}{row}"


def _moved(start: StartSubscription, moved: dict[int, int]) -> StartSubscription:
    return replace(
        start, from_at=moved.get(start.from_at, start.from_at), until_at=moved.get(start.until_at, start.until_at)
    )


class _SymbolReader:
    """Reads symbols back out of the rows of an answer."""

    def __init__(self, instants: list[int]) -> None:
        self._place_of = {at: place for place, at in enumerate(instants)}
        self._span_of = {
            (end - start) // 1_000: Elapsed(self._place_of[start], self._place_of[end])
            for start in self._place_of
            for end in self._place_of
            if start < end < NEVER
        }

    def answer(self, length: int, gathered: Gathered, starts: list[Start]) -> PatternAnswer:
        pairs = iter(gathered.pairs)
        said = []
        told = zip(gathered.references, gathered.said, gathered.marks, gathered.pair_counts, strict=True)
        for row, (verdict, reason, detail, decided_at, *_), marks, count in told:
            own = [self._row(next(pairs)) for _ in range(count)]
            at = self._instant(decided_at)
            said.append(MessageAnswer(row, verdict, reason, self._detail(verdict, detail), at, marks, own))
        kept = {table: [self._row(row) for row in rows] for table, rows in gathered.kept.items() if rows}
        return PatternAnswer(length, said, kept, starts)

    def _row(self, values: Row) -> Row:
        return tuple(self._value(value) for value in values)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith(_SIGN):
            return _read_symbol(value)
        is_instant = isinstance(value, int) and not isinstance(value, bool)
        return self._instant(value) if is_instant and value not in (1, LAST_DAY) else value

    def _instant(self, at: int) -> Instant:
        if at not in self._place_of:
            raise NotShareable(f"the instant {at} is none of the history's")
        return Instant(self._place_of[at])

    def _detail(self, verdict: str, told: dict[str, Any]) -> tuple[Any, ...]:
        symbols: list[Any] = []

        def put(symbol: Any) -> str:
            symbols.append(symbol)
            return f"{_SIGN}{len(symbols) - 1}{_STOP}"

        if verdict != "correlated":
            told = shown(told, lambda at: put(Iso(self._instant(at).place)))
        text = encode(self._marked(told, put)).decode()
        parts = _PLACEHOLDER.split(text)
        for place in range(1, len(parts), 2):
            symbol = symbols[int(parts[place])]
            parts[place] = symbol
            if not isinstance(symbol, Elapsed):
                parts[place - 1] += '"'
                parts[place + 1] = '"' + parts[place + 1]
        return tuple(part for part in parts if part != "")

    def _marked(self, told: Any, put: Any, name: str = "") -> Any:
        if isinstance(told, dict):
            return {key: self._marked(value, put, key) for key, value in told.items()}
        if isinstance(told, (list, tuple)):
            return [self._marked(value, put) for value in told]
        if isinstance(told, str) and told.startswith(_SIGN) and not told.endswith(_STOP):
            return put(_read_symbol(told))
        if name.endswith(("_ms", "_ms_before")) and told != 0:
            if told not in self._span_of:
                raise NotShareable(f"{name} {told} is no span of the history's")
            return put(self._span_of[told])
        return told


def _read_symbol(text: str) -> Text | Started:
    slot, stop, row = text.removeprefix(_SIGN).partition(_STOP)
    return Text(slot, int(row)) if stop else Started(int(slot))
