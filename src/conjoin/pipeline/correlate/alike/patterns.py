"""Patterns: which histories of a batch are alike, so that the kernel has to decide only one of them.

The rules compare; they do not compute. Of a history (the rows of one correlation key) they can tell the kinds, names,
processes and tenants of its rows, the order of its instants, and which ids are equal. All that is its pattern, and
histories of one pattern get one answer. Found for a whole batch at once; what is out of the ordinary is left over.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from conjoin.kernel.instants import NEVER
from conjoin.pipeline.correlate.alike.start_versions import StartVersions
from conjoin.pipeline.correlate.alike.traits import Traits, same_rows

MOST_ROWS = 12
"""Histories longer than this are seldom alike."""

FEW_ROWS = 32
"""Histories of a pattern with fewer rows than that in a batch are walked: filling an answer costs as much, however few
histories it is for."""

_EQUAL_BITS = 4
_ODD = 1_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the rules can tell of a history. Its instants are those at which the rows happen, those at which they end
    (deadline, closing), and, where some row has a third, those: `instants` a row.

    `words` are the traits of the rows, then a byte an instant for its rank among them, then a byte an instant for the
    gap between fixed instants in which it lies, then the number of the start events it meets, then for ids, business
    ids and instances which rows have the same.
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

    @property
    def meets(self) -> int:
        return self.words[-4]

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
    """Histories of one pattern, by the rows at which they begin, and which start events each of them meets."""

    pattern: Pattern
    starts: np.ndarray
    meetings: np.ndarray


def alike_in(
    batch: pa.RecordBatch, starts: np.ndarray, traits: Traits, versions: StartVersions
) -> tuple[list[Alike], np.ndarray]:
    """The histories of the batch by pattern, and the rows left over, in order.

    The first and the last key are always left: they may have begun in an earlier batch or go on in the next.
    """
    lengths = np.diff(starts, append=batch.num_rows)
    fits = np.logical_and.reduceat(traits.ordinary, starts) & (lengths <= MOST_ROWS)
    fits[0] = fits[-1] = False
    competing = versions.of_rows(traits)
    found: list[Alike] = []
    for length in np.unique(lengths[fits]).tolist():
        some = starts[fits & (lengths == length)]
        if competing is None:
            found += _of_length(length, some, traits, versions, ())
            continue
        table = np.sort(np.stack([competing[some + offset] for offset in range(length)], axis=1), axis=1)
        for members in same_rows(table):
            found += _of_length(length, some[members], traits, versions, tuple(set(table[members[0]].tolist())))
    covered = np.zeros(batch.num_rows, dtype=bool)
    for alike in found:
        for offset in range(alike.pattern.rows):
            covered[alike.starts + offset] = True
    return found, np.flatnonzero(~covered)


def _of_length(
    length: int, starts: np.ndarray, traits: Traits, versions: StartVersions, competing: tuple[int, ...]
) -> list[Alike]:
    rows = [starts + offset for offset in range(length)]
    instants = np.stack([column[row] for column in traits.instants for row in rows])
    gaps, kinds, meetings = versions.met(competing, instants)
    told = [traits.code[row] for row in rows]
    told += _in_octets(np.stack([np.add.reduce(instants < one, axis=0, dtype=np.uint8) for one in instants]))
    told += _in_octets(gaps)
    told += [kinds, *(_first_equal(texts, rows) for texts in (traits.ids, traits.businesses, traits.instances))]
    table = np.stack(told, axis=1)
    found = []
    for members in same_rows(table, -(-FEW_ROWS // length)):
        if kinds[members[0]] >= 0:
            words = tuple(word & (2**64 - 1) for word in table[members[0]].tolist())
            pattern = Pattern(length, len(traits.instants), words)
            found.append(Alike(pattern, starts[members], meetings[members]))
    return found


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
