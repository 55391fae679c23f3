"""Patterns: which histories of a batch are alike, so that the kernel has to decide only one of them.

The rules compare; they do not compute. Of a history (the rows of one correlation key) they can tell the kinds, names,
processes and tenants of its rows, the order of its instants, and which ids are equal. All that is its pattern, and
histories of one pattern get one answer. Found for a whole batch at once; what is out of the ordinary is left over.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conjoin.kernel.policies import EXACTLY_ONE, ONCE_PER_PROCESS, Policies
from conjoin.pipeline.correlate.alike.traits import Traits
from conjoin.pipeline.correlate.fold.rows import runs_of

MOST_ROWS = 6
"""Histories longer than this are seldom alike."""

_RANK_BITS = 4
_MOST_INSTANTS = 1 << _RANK_BITS
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the rules can tell of a history: traits of its rows, ranks of its instants, pairs of rows with equal ids.

    The instants are those at which the rows happen, those at which they end (deadline, closing), then the fixed ones.
    """

    traits: tuple[int, ...]
    ranks: int
    equal_ids: int
    equal_business_ids: int

    def rank(self, place: int) -> int:
        return self.ranks >> (_RANK_BITS * place) & (_MOST_INSTANTS - 1)

    def first_equal(self, bits: int) -> list[int]:
        """For each row the first one that has the same id."""
        first = list(range(len(self.traits)))
        for number, (one, other) in enumerate(combinations(first.copy(), 2)):
            if bits >> number & 1:
                first[other] = first[one]
        return first


@dataclass(frozen=True, slots=True)
class Alike:
    """Histories of one pattern, by the rows at which they begin."""

    pattern: Pattern
    starts: np.ndarray


def all_compare_only(policies: Policies) -> bool:
    """Do all policies decide by what a pattern tells? A constraint may look at anything, a duration of its own adds
    an instant, and once per instance compares instances."""
    return all(
        policy.constraint is None
        and isinstance(policy.dedup, str)
        and policy.cardinality in (ONCE_PER_PROCESS, EXACTLY_ONE)
        for policy in (policies.default, *policies.by_name.values())
    )


def alike_in(batch: pa.RecordBatch, traits: Traits, fixed: list[int]) -> tuple[list[Alike], np.ndarray]:
    """The histories of the batch by pattern, and the rows left over, in order.

    The first and the last key are always left: they may have begun in an earlier batch or go on in the next.
    """
    starts, _ = runs_of(batch)
    lengths = np.diff(starts, append=batch.num_rows)
    fits = np.logical_and.reduceat(traits.ordinary, starts) & (lengths <= MOST_ROWS)
    fits[0] = fits[-1] = False
    fits &= 2 * lengths + len(fixed) <= _MOST_INSTANTS
    found: list[Alike] = []
    for length in np.unique(lengths[fits]).tolist():
        found += _of_length(length, starts[fits & (lengths == length)], traits, fixed)
    covered = np.zeros(batch.num_rows, dtype=bool)
    for alike in found:
        for offset in range(len(alike.pattern.traits)):
            covered[alike.starts + offset] = True
    return found, np.flatnonzero(~covered)


def _of_length(length: int, starts: np.ndarray, traits: Traits, fixed: list[int]) -> list[Alike]:
    rows = [starts + offset for offset in range(length)]
    told = [traits.code[row] for row in rows]
    told.append(_ranks([traits.at[row] for row in rows] + [traits.until[row] for row in rows], fixed))
    told.append(_equal(traits.id, traits.kind, rows))
    told.append(_equal(traits.business, None, rows))
    table = np.stack(told, axis=1)
    mixed = np.zeros(len(starts), dtype=np.uint64)
    for column in told:
        mixed = (mixed ^ column.view(np.uint64)) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
    _, firsts, groups = np.unique(mixed, return_index=True, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    found = []
    for first, members in zip(firsts, np.split(order, np.cumsum(np.bincount(groups))[:-1]), strict=True):
        # Two patterns may be mixed to the same number: what differs from the first is left to be walked.
        same = members[(table[members] == table[first]).all(axis=1)]
        *codes, ranks, ids, business = table[first].tolist()
        found.append(Alike(Pattern(tuple(codes), ranks & (2**64 - 1), ids, business), starts[same]))
    return found


def _ranks(instants: list[np.ndarray], fixed: list[int]) -> np.ndarray:
    """Of each instant how many lie before it, packed into one number."""
    count = len(instants[0])
    table = np.stack([*instants, *(np.full(count, at, dtype=np.int64) for at in fixed)])
    packed = np.zeros(count, dtype=np.uint64)
    for place, instant in enumerate(table):
        before = np.add.reduce(table < instant, axis=0, dtype=np.uint8)
        packed |= before.astype(np.uint64) << np.uint64(_RANK_BITS * place)
    return packed.view(np.int64)


def _equal(texts: pa.Array | None, kinds: np.ndarray | None, rows: list[np.ndarray]) -> np.ndarray:
    """One bit for each pair of rows (of one kind, if kinds count) whose texts are equal."""
    packed = np.zeros(len(rows[0]), dtype=np.int64)
    if texts is None:
        return packed
    for number, (one, other) in enumerate(combinations(rows, 2)):
        chosen = np.arange(len(one)) if kinds is None else np.flatnonzero(kinds[one] == kinds[other])
        if len(chosen):
            equal = pc.equal(texts.take(pa.array(one[chosen])), texts.take(pa.array(other[chosen])))
            bits = pc.fill_null(equal, False).to_numpy(zero_copy_only=False)
            packed[chosen] |= bits.astype(np.int64) << number
    return packed
