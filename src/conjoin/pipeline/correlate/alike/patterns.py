"""Patterns: which histories of a batch are alike, so that the kernel has to decide only one of them.

The rules compare; they do not compute. Of a history (the rows of one correlation key) they can tell the kinds, names,
processes and tenants of its rows, the order of its instants, and which ids are equal. All that is its pattern, and
histories of one pattern get one answer. Found for a whole batch at once; what is out of the ordinary is left over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.pipeline.correlate.alike.traits import Traits, distinct, words_of
from conjoin.pipeline.correlate.fold.rows import runs_of

MOST_ROWS = 12
"""Histories longer than this are seldom alike."""

MOST_FIXED = 100
"""With more instants of start events than this, a history is walked."""

_EQUAL_BITS = 4
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ODD = 1_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the rules can tell of a history. Its instants are those at which the rows happen, those at which they end
    (deadline, closing), and, where some row has a third, those: `instants` a row.

    `words` are the traits of the rows, then a byte an instant for its rank among them, then a byte an instant for the
    gap between fixed instants in which it lies, then for ids, business ids and instances which rows have the same.
    """

    rows: int
    instants: int
    words: tuple[int, ...]

    @property
    def traits(self) -> tuple[int, ...]:
        return self.words[: self.rows]

    def symbolic_instants(self, fixed: list[int]) -> list[int]:
        """Numbers in the order of the instants, then of the fixed ones. The difference of any two occurs once, so that
        a span in an answer tells its ends. The end of time stays there."""
        count = self.rows * self.instants
        words = -(-count // 8)
        ranks, gaps = (_octets(self.words[self.rows + n * words : self.rows + (n + 1) * words]) for n in (0, 1))
        places = [(gap, 0 if gap & 1 else rank) for gap, rank in zip(gaps[:count], ranks, strict=False)]
        places += [(2 * number + 1, 0) for number in range(len(fixed))]
        ordered = sorted(set(places))
        number_of = dict(zip(ordered, _without_equal_differences(len(ordered)), strict=True))
        number_of |= {(2 * number + 1, 0): NEVER for number, at in enumerate(fixed) if at == NEVER}
        return [number_of[place] for place in places]

    def first_equal(self, which: int) -> list[int]:
        """For each row the first one that has the same id (0), business id (1) or instance (2)."""
        word = self.words[which - 3]
        return [word >> (_EQUAL_BITS * row) & (1 << _EQUAL_BITS) - 1 for row in range(self.rows)]


def _octets(words: tuple[int, ...]) -> list[int]:
    return [word >> shift & 255 for word in words for shift in range(0, 64, 8)]


def _without_equal_differences(count: int) -> list[int]:
    """Whole milliseconds, by the sets of Erdős and Turán: 2pk + (k² mod p) for a prime p."""
    prime = next(p for p in range(max(count, 2), 2 * count + 3) if all(p % n for n in range(2, int(p**0.5) + 1)))
    return [_ODD * (2 * prime * k + k * k % prime + 1) for k in range(count)]


@dataclass(frozen=True, slots=True)
class Alike:
    """Histories of one pattern, by the rows at which they begin, and the fixed instants they were compared with."""

    pattern: Pattern
    starts: np.ndarray
    fixed: list[int]


class FixedInstants:
    """The instants that are the same for all histories: of the run, and of the start events that a history can meet."""

    def __init__(self, always: list[int], starts: list[StartSubscription]) -> None:
        self.always = sorted({*always, NEVER})
        self.starts = starts
        self._times: dict[tuple[str, str | None], set[int]] = {}
        for start in starts:
            times = {start.from_at, start.until_at} - {ALWAYS, NEVER}
            if times:
                self._times.setdefault(("name", start.name), set()).update(times)
                self._times.setdefault(("process", start.process_id), set()).update(times)
        self._sets: dict[frozenset[int], int] = {frozenset(): 0}
        self._set_of: dict[int, int] = {}

    def of_rows(self, traits: Traits) -> np.ndarray | None:
        """For each row the number of the set of instants that its name and process bring; None: none brings any."""
        if not self._times:
            return None
        words = words_of(traits.code)
        found, places = distinct(words)
        for word in found.tolist():
            if word not in self._set_of:
                name, process = traits.name_and_process(word)
                times = self._times.get(("name", name), set()) | self._times.get(("process", process), set())
                self._set_of[word] = self._sets.setdefault(frozenset(times), len(self._sets))
        return np.array([self._set_of[word] for word in found.tolist()], dtype=np.int64)[places]

    def of_sets(self, numbers: list[int]) -> list[int]:
        sets = list(self._sets)
        return sorted({*self.always, *(at for number in set(numbers) for at in sets[number])})


def alike_in(batch: pa.RecordBatch, traits: Traits, fixed: FixedInstants) -> tuple[list[Alike], np.ndarray]:
    """The histories of the batch by pattern, and the rows left over, in order.

    The first and the last key are always left: they may have begun in an earlier batch or go on in the next.
    """
    starts, _ = runs_of(batch)
    lengths = np.diff(starts, append=batch.num_rows)
    fits = np.logical_and.reduceat(traits.ordinary, starts) & (lengths <= MOST_ROWS)
    fits[0] = fits[-1] = False
    sets = fixed.of_rows(traits)
    found: list[Alike] = []
    for length in np.unique(lengths[fits]).tolist():
        for some, instants in _by_fixed(length, starts[fits & (lengths == length)], sets, fixed):
            if len(instants) <= MOST_FIXED:
                found += _of_length(length, some, traits, instants)
    covered = np.zeros(batch.num_rows, dtype=bool)
    for alike in found:
        for offset in range(alike.pattern.rows):
            covered[alike.starts + offset] = True
    return found, np.flatnonzero(~covered)


def _by_fixed(
    length: int, starts: np.ndarray, sets: np.ndarray | None, fixed: FixedInstants
) -> Iterator[tuple[np.ndarray, list[int]]]:
    if sets is None:
        yield starts, fixed.always
        return
    table = np.sort(np.stack([sets[starts + offset] for offset in range(length)], axis=1), axis=1)
    combinations_found, groups = np.unique(table, axis=0, return_inverse=True)
    for number, numbers in enumerate(combinations_found.tolist()):
        yield starts[groups.reshape(-1) == number], fixed.of_sets(numbers)


def _of_length(length: int, starts: np.ndarray, traits: Traits, fixed: list[int]) -> list[Alike]:
    rows = [starts + offset for offset in range(length)]
    instants = np.stack([column[row] for column in traits.instants for row in rows])
    told = [traits.code[row] for row in rows]
    told += _in_octets(np.stack([np.add.reduce(instants < one, axis=0, dtype=np.uint8) for one in instants]))
    told += _in_octets(_gaps(instants, np.array(fixed, dtype=np.int64)))
    told += [_first_equal(texts, rows) for texts in (traits.ids, traits.businesses, traits.instances)]
    table = np.stack(told, axis=1)
    mixed = np.zeros(len(starts), dtype=np.uint64)
    for column in told:
        mixed = (mixed ^ column.view(np.uint64)) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
    found = []
    for members in groups_of(mixed):
        # Two patterns may be mixed to the same number: what differs from the first is left to be walked.
        first = members[0]
        same = members[(table[members] == table[first]).all(axis=1)]
        words = tuple(word & (2**64 - 1) for word in table[first].tolist())
        found.append(Alike(Pattern(length, len(traits.instants), words), starts[same], fixed))
    return found


def groups_of(numbers: np.ndarray) -> list[np.ndarray]:
    """The rows that have the same number, in order, for each number."""
    found, places = distinct(numbers)
    # Small numbers are sorted by their digits, several times as fast.
    order = np.argsort(places.astype(np.int16) if len(found) < 2**15 else places, kind="stable")
    return np.split(order, np.cumsum(np.bincount(places))[:-1])


def _gaps(instants: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Of each instant how many fixed ones lie before it, twice, and one more if it is the next of them."""
    before = np.searchsorted(fixed, instants, "left")
    equal = fixed[np.minimum(before, len(fixed) - 1)] == instants
    return (2 * before + equal).astype(np.uint8)


def _in_octets(table: np.ndarray) -> list[np.ndarray]:
    """Rows of small numbers, eight in a word."""
    count = len(table)
    words = []
    for begin in range(0, count, 8):
        word = np.zeros(table.shape[1], dtype=np.uint64)
        for place, numbers in enumerate(table[begin : begin + 8]):
            word |= numbers.astype(np.uint64) << np.uint64(8 * place)
        words.append(word.view(np.int64))
    return words


def _first_equal(codes: np.ndarray | None, rows: list[np.ndarray]) -> np.ndarray:
    """For each row the first one with the same code, four bits a row; codes below zero are like no other."""
    packed = np.zeros(len(rows[0]), dtype=np.int64)
    firsts = [np.full(len(rows[0]), number, dtype=np.int64) for number in range(len(rows))]
    if codes is not None:
        for one, other in reversed(list(combinations(range(len(rows)), 2))):
            equal = (codes[rows[one]] == codes[rows[other]]) & (codes[rows[one]] >= 0)
            firsts[other] = np.where(equal, one, firsts[other])
    for number, first in enumerate(firsts):
        packed |= first << (_EQUAL_BITS * number)
    return packed
