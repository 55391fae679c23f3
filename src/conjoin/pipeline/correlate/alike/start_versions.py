"""Start versions: which start events a history meets, told so that it does not matter which of fifty they are.

A process that was deployed fifty times has fifty start events, one after the other. The rules ask which of them hold at
an instant, and never when one began. So a history is told by those alone that hold at one of its instants: in which
order they begin and end among its instants, with symbols for their elements.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.pipeline.correlate.alike.symbols import ELEMENT, SIGN, symbol
from conjoin.pipeline.correlate.alike.traits import Traits, same_rows, words_of
from conjoin.pipeline.correlate.fold.deadlines import distinct
from conjoin.pipeline.correlate.fold.detail import encode

MOST_FIXED = 10_000
"""With more instants of start events than this, a history is walked."""

_MOST_MET, _MOST_MEETINGS = 100, 100_000
_NOT_TOLD = -1


@dataclass(frozen=True, slots=True)
class MetStarts:
    """The start events that histories of one kind meet, with symbols for their elements, and all instants that are
    fixed for such a history; both as one of them has it."""

    fixed: list[int]
    starts: list[StartSubscription]


@dataclass(frozen=True, slots=True)
class _Competing:
    """Some start events, and their instants among those of the run; `begins` and `ends` are places in `fixed`."""

    starts: list[StartSubscription]
    fixed: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def valid_at(self, gap: int) -> np.ndarray:
        """Which hold in a gap between fixed instants, or at one of them (odd)."""
        place = gap >> 1
        if gap & 1:
            return (self.begins <= place) & (place < self.ends)
        return (self.begins < place) & (place <= self.ends)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """What histories meet whose instants lie in the same gaps: of which kind it is, and what the gaps are called then.
    `number` is that of its elements."""

    kind: int
    gaps: np.ndarray
    number: int


class StartVersions:
    """The start events that hold for a time. Numbers are those of a partition; 0 is a history that meets none."""

    def __init__(self, as_of: int, since: int | None, starts: list[StartSubscription]) -> None:
        self._as_of = as_of
        self._always = sorted({as_of, as_of if since is None else since, NEVER})
        self.kinds = [MetStarts(self._always, [])]
        self.elements: list[list[str]] = [[]]
        """For each meeting the elements that its symbols stand for."""
        timed = [start for start in starts if (start.from_at, start.until_at) != (ALWAYS, NEVER)]
        self._starts = sorted(timed, key=lambda start: start.age_order)
        self._brought_by: dict[tuple[str, str | None], set[int]] = {}
        for number, start in enumerate(self._starts):
            for word in (("name", start.name), ("process", start.process_id)):
                self._brought_by.setdefault(word, set()).add(number)
        self._sets: list[tuple[int, ...]] = [()]
        self._set_of: dict[int, int] = {}
        self._competing: dict[tuple[int, ...], _Competing] = {}
        self._meetings: dict[tuple[Any, ...], _Meeting | None] = {}
        self._kind_of: dict[tuple[Any, ...], int] = {}

    def of_rows(self, traits: Traits) -> np.ndarray | None:
        """For each row the number of the set of start events that its name and process bring; None: none brings any."""
        if not self._starts:
            return None
        found, places = distinct(words_of(traits.code))
        for word in found.tolist():
            if word not in self._set_of:
                name, process = traits.name_and_process(word)
                by_name, by_process = (self._brought_by.get(w, set()) for w in (("name", name), ("process", process)))
                brought = tuple(sorted(by_name | by_process))
                if brought not in self._sets:
                    self._sets.append(brought)
                self._set_of[word] = self._sets.index(brought)
        return np.array([self._set_of[word] for word in found.tolist()], dtype=np.int64)[places]

    def met(self, sets: tuple[int, ...], instants: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For histories (the columns of `instants`) that bring these sets of start events: the gap of each instant, the
        kind of what is met, and the number of the meeting. A kind below zero: it cannot be told."""
        numbers = np.zeros(instants.shape[1], dtype=np.int64)
        if not any(sets):
            return _gaps(instants, np.array(self._always)).astype(np.uint8), numbers, numbers
        competing = self._competing.get(sets) or self._compete(sets)
        kinds = np.full(instants.shape[1], _NOT_TOLD, dtype=np.int64)
        told = np.zeros(instants.shape, dtype=np.uint8)
        if len(competing.fixed) > MOST_FIXED:
            return told, kinds, numbers
        gaps = _gaps(instants, competing.fixed).T
        for members in same_rows(gaps):
            place = (sets, gaps[members[0]].tobytes())
            if place not in self._meetings and len(self._meetings) < _MOST_MEETINGS:
                self._meetings[place] = self._meet(competing, gaps[members[0]].tolist())
            meeting = self._meetings.get(place)
            if meeting is not None:
                told[:, members] = meeting.gaps[:, None]
                kinds[members], numbers[members] = meeting.kind, meeting.number
        return told, kinds, numbers

    def _compete(self, sets: tuple[int, ...]) -> _Competing:
        starts = [self._starts[number] for number in sorted({number for some in sets for number in self._sets[some]})]
        times = {at for start in starts for at in (start.from_at, start.until_at)} - {ALWAYS}
        fixed = np.array(sorted({*self._always, *times}), dtype=np.int64)
        begins = [-1 if s.from_at == ALWAYS else int(np.searchsorted(fixed, s.from_at)) for s in starts]
        ends = np.searchsorted(fixed, [s.until_at for s in starts])
        self._competing[sets] = found = _Competing(starts, fixed, np.array(begins), ends)
        return found

    def _meet(self, competing: _Competing, gaps: list[int]) -> _Meeting | None:
        fixed = competing.fixed
        as_of, never = (2 * int(np.searchsorted(fixed, at)) + 1 for at in (self._as_of, NEVER))
        # At a fixed instant the moment before it counts too: a message expires just before its deadline.
        looked_at = {gap - before for gap in {*gaps, as_of} - {never} for before in range(1 + (gap & 1))}
        holds = np.logical_or.reduce([competing.valid_at(gap) for gap in looked_at])
        starts = [competing.starts[number] for number in np.flatnonzero(holds).tolist()]
        times = {at for start in starts for at in (start.from_at, start.until_at)} - {ALWAYS}
        kept = sorted({*self._always, *times})
        if len(kept) > _MOST_MET:
            return None
        before = np.searchsorted(kept, fixed)
        renamed = []
        for gap in gaps:
            place = gap >> 1
            if gap & 1:
                renamed.append(2 * int(before[place]) + (kept[before[place]] == fixed[place]))
            else:
                renamed.append(2 * int(np.searchsorted(kept, fixed[place - 1], "right")) if place else 0)
        elements = sorted({s.element_id for s in starts if s.element_id and _is_written_as_it_is(s.element_id)})
        symbols = {text: symbol(ELEMENT, number) for number, text in enumerate(elements)}
        told = [replace(s, element_id=symbols.get(s.element_id or "", s.element_id)) for s in starts]
        what = tuple((s.process_id, s.name, s.tenant_id, s.element_id, *_places(s, kept)) for s in told)
        where = tuple(kept.index(at) for at in self._always)
        kind = self._kind_of.get((what, where))
        if kind is None:
            kind = self._kind_of[what, where] = len(self.kinds)
            self.kinds.append(MetStarts(kept, told))
        self.elements.append(elements)
        return _Meeting(kind, np.array(renamed, dtype=np.uint8), len(self.elements) - 1)


def _places(start: StartSubscription, fixed: list[int]) -> tuple[int, int]:
    return -1 if start.from_at == ALWAYS else fixed.index(start.from_at), fixed.index(start.until_at)


def _gaps(instants: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Of each instant how many fixed ones lie before it, twice, and one more if it is the next of them."""
    before = np.searchsorted(fixed, instants, "left")
    equal = fixed[np.minimum(before, len(fixed) - 1)] == instants
    return 2 * before + equal


def _is_written_as_it_is(text: str) -> bool:
    return encode(text) == f'"{text}"'.encode() and SIGN not in text
