"""Answers: what the kernel says of a pattern, asked once, with symbols in the place of the values that differ.

A history of symbols is walked like any other. Its ids are texts that stand for a row's own, and its instants are
chosen so that every difference between two of them occurs once: so each value in the answer names where it comes from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.instants import ALWAYS, NEVER, elapsed_ms
from conjoin.kernel.policies import Policies, Policy
from conjoin.pipeline.correlate.alike.patterns import Pattern
from conjoin.pipeline.correlate.alike.start_versions import StartVersions
from conjoin.pipeline.correlate.alike.symbols import (
    SIGN,
    STOP,
    Elapsed,
    Instant,
    Iso,
    read_symbol,
    read_symbols,
    symbol,
)
from conjoin.pipeline.correlate.alike.traits import Trait, Words
from conjoin.pipeline.correlate.fold.deadlines import LAST_DAY
from conjoin.pipeline.correlate.fold.detail import encode, shown
from conjoin.pipeline.correlate.fold.row_buffers import Gathered, Row
from conjoin.pipeline.correlate.fold.rows import Rows
from conjoin.pipeline.correlate.fold.walk import FoldSetting, Walk
from conjoin.pipeline.correlate.shape import ID

_PLACEHOLDER = re.compile(f'"{SIGN}([0-9]+){STOP}"')


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
    nearest: str | None
    marks: list[tuple[Any, ...]] | None
    """Each alternates texts and symbols. None: it is not offered any more."""
    pairs: list[Row]


@dataclass(frozen=True, slots=True)
class PatternAnswer:
    """What becomes of every history of a pattern."""

    length: int
    said: list[MessageAnswer]
    kept: dict[str, list[Row]]
    starts: list[Start]
    ends_ignored: int


class NotShareable(Exception):  # noqa: N818 - it says what is the matter
    """The answer holds something that cannot be told for all histories of the pattern."""


class _SymbolRows(Rows):
    """The history of a pattern, with symbols for ids and chosen instants."""

    def __init__(self, pattern: Pattern, traits: list[Trait], instants: list[int], policies: Policies) -> None:
        rows = range(pattern.rows)
        ids, businesses, instances = (pattern.first_equal(which) for which in range(3))
        self.kind = [trait.kind for trait in traits]
        self.at = instants[: pattern.rows]
        self.deadline = instants[pattern.rows : 2 * pattern.rows]
        # Where no row has a third instant, nobody looks at it.
        thirds = instants[2 * pattern.rows : 3 * pattern.rows] if pattern.instants > 2 else self.at
        self.policy = [
            _with_dedup(policies.of(trait.name or ""), at, third)
            for trait, at, third in zip(traits, self.at, thirds, strict=True)
        ]
        self.until = [end if trait.has_end else None for end, trait in zip(self.deadline, traits, strict=True)]
        self.kept = [
            third if trait.is_kept or trait.kind == ID else None for third, trait in zip(thirds, traits, strict=True)
        ]
        self.plain = [not trait.is_kept and trait.taken_by is None for trait in traits]
        self.name = [trait.name for trait in traits]
        self.process = [trait.process for trait in traits]
        self.tenant = [trait.tenant for trait in traits]
        self.interrupting = [trait.interrupting for trait in traits]
        self.element = [symbol("element", row) if traits[row].has_element else None for row in rows]
        self.instance = [symbol("instance", instances[row]) if traits[row].has_instance else None for row in rows]
        self.id = [symbol("id", ids[row]) if traits[row].has_id else None for row in rows]
        self.business = [symbol("business", businesses[row]) if traits[row].has_business else None for row in rows]
        self.repeated = [False] * pattern.rows
        self.position = [None] * pattern.rows
        self.taken_by = [trait.taken_by for trait in traits]
        self.starts, self.keys = [0], [symbol("key", 0) if traits[0].has_key else ""]

    def problem_of_variables(self, row: int) -> str | None:
        return None

    def taken_before(self, row: int) -> int:
        return len(self.taken_by[row] or ())


def _with_dedup(policy: Policy, at: int, until: int) -> Policy:
    """A duration of its own for ids, as the instants of the history have it."""
    return policy if isinstance(policy.dedup, str) else replace(policy, dedup=elapsed_ms(at, until))


class _Recorder(Gathered):
    """A sink that keeps what it is told."""

    def finished(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def dead(self, rows: Rows, row: int, table: str, reason: str, told: dict[str, Any]) -> None:
        raise NotShareable(reason)

    def faulty(self, rows: Rows, row: int, table: str) -> None:
        raise NotShareable("fault")


class Inquiry:
    """Asks the kernel about patterns."""

    def __init__(
        self,
        setting: FoldSetting,
        starts: list[StartSubscription],
        versions: StartVersions,
        words: Words,
        tenants: Words,
    ) -> None:
        self._setting = setting
        self._timeless = [start for start in starts if (start.from_at, start.until_at) == (ALWAYS, NEVER)]
        self._versions = versions
        self._words = words
        self._tenants = tenants

    def answer(self, pattern: Pattern) -> PatternAnswer:
        """Raises NotShareable where the histories of the pattern have to be walked one by one."""
        traits = [Trait(code, self._words, self._tenants) for code in pattern.traits]
        names, processes = ({getattr(trait, word) for trait in traits} for word in ("name", "process"))
        met = [start for start in self._timeless if start.name in names or start.process_id in processes]
        _check_words(traits, met)
        at_times = self._versions.kinds[pattern.meets]
        fixed = at_times.fixed
        instants = pattern.symbolic_instants(fixed)
        starts: list[Start] = []
        recorder = _Recorder()

        def name_instance(tenant_id: str, key: str, message: Message, start: StartSubscription) -> str:
            starts.append(Start(message.payload, start))
            return f"{SIGN}{len(starts) - 1}"

        moved = dict(zip(fixed, instants[-len(fixed) :], strict=True))
        policies, since = self._setting.policies, self._setting.since
        catalog = Catalog([*met, *(_moved(start, moved) for start in at_times.starts)], policies, name_instance)
        as_of = moved[self._setting.as_of]
        setting = FoldSetting(policies, catalog, as_of, None if since is None else moved[since])
        walk = Walk(setting, recorder, lambda: None)
        list(walk.take(_SymbolRows(pattern, traits, instants, policies)))
        list(walk.finish())
        own = {at: place for place, at in enumerate(instants) if place < len(instants) - len(fixed)}
        of_the_run = {moved[at]: len(instants) - len(fixed) + fixed.index(at) for at in self._versions.kinds[0].fixed}
        return _SymbolReader(own | of_the_run).answer(pattern.rows, recorder, starts)


def _check_words(traits: list[Trait], starts: list[StartSubscription]) -> None:
    words = [word for trait in traits for word in (trait.name, trait.process, trait.tenant)]
    words += [word for start in starts for word in (start.process_id, start.element_id)]
    words += [mark for trait in traits for mark in trait.taken_by or ()]
    if any(word is not None and SIGN in word for word in words):
        raise NotShareable("a word that looks like a symbol")


def _moved(start: StartSubscription, moved: dict[int, int]) -> StartSubscription:
    return replace(
        start, from_at=moved.get(start.from_at, start.from_at), until_at=moved.get(start.until_at, start.until_at)
    )


class _SymbolReader:
    """Reads symbols back out of the rows of an answer."""

    def __init__(self, place_of: dict[int, int]) -> None:
        self._place_of = place_of

    @cached_property
    def _span_of(self) -> dict[int, Elapsed]:
        places = [(at, place) for at, place in self._place_of.items() if at < NEVER]
        return {
            elapsed_ms(start, end): Elapsed(first, last)
            for start, first in places
            for end, last in places
            if start < end
        }

    def answer(self, length: int, gathered: Gathered, starts: list[Start]) -> PatternAnswer:
        pairs = iter(gathered.pairs)
        said = []
        told = zip(gathered.references, gathered.said, gathered.marks, gathered.pair_counts, strict=True)
        for row, (verdict, reason, detail, decided_at, _, nearest), marks, count in told:
            own = [self._row(next(pairs)) for _ in range(count)]
            taken = None if marks is None else [read_symbols(mark) for mark in marks]
            what = verdict, reason, self._detail(verdict, detail), self._instant(decided_at), nearest
            said.append(MessageAnswer(row, *what, taken, own))
        kept = {table: [self._row(row) for row in rows] for table, rows in gathered.kept.items() if rows}
        return PatternAnswer(length, said, kept, starts, gathered.ends_ignored)

    def _row(self, values: Row) -> Row:
        return tuple(self._value(value) for value in values)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith(SIGN):
            return read_symbol(value)
        is_instant = isinstance(value, int) and not isinstance(value, bool)
        return self._instant(value) if is_instant and value != LAST_DAY else value

    def _instant(self, at: int) -> Instant:
        if at not in self._place_of:
            raise NotShareable(f"the instant {at} is none of the history's")
        return Instant(self._place_of[at])

    def _detail(self, verdict: str, told: dict[str, Any]) -> tuple[Any, ...]:
        symbols: list[Any] = []

        def put(one: Any) -> str:
            symbols.append(one)
            return f"{SIGN}{len(symbols) - 1}{STOP}"

        if verdict != "correlated":
            told = shown(told, lambda at: put(Iso(self._instant(at).place)))
        text = encode(self._marked(told, put)).decode()
        parts = _PLACEHOLDER.split(text)
        for place in range(1, len(parts), 2):
            parts[place] = one = symbols[int(parts[place])]
            if not isinstance(one, Elapsed):
                parts[place - 1] += '"'
                parts[place + 1] = '"' + parts[place + 1]
        return tuple(part for part in parts if part != "")

    def _marked(self, told: Any, put: Any, name: str = "") -> Any:
        if isinstance(told, dict):
            return {key: self._marked(value, put, key) for key, value in told.items()}
        if isinstance(told, (list, tuple)):
            return [self._marked(value, put) for value in told]
        if isinstance(told, str) and told.startswith(SIGN) and not told.endswith(STOP):
            return put(read_symbol(told))
        if name.endswith(("_ms", "_ms_before")) and told != 0:
            if told not in self._span_of:
                raise NotShareable(f"{name} {told} is no span of the history's")
            return put(self._span_of[told])
        return told
