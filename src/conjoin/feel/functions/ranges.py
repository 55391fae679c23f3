"""Range functions: how points and ranges lie to each other. Null where their ends cannot be compared.

A point is taken as the range from itself to itself, so each relation is written once, for two ranges.
"""

from collections.abc import Callable
from typing import Any

from conjoin.feel.budget import Budget, not_built, nothing
from conjoin.feel.comparison import both, either, equal, less, negated
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.types import Range

Answer = bool | None
Relation = Callable[[Range, Range, Budget], Answer]


def _precedes(left: Any, right: Any, or_equal: bool, budget: Budget) -> Answer:
    return either(less(left, right, budget), both(or_equal, equal(left, right, budget)))


def _before(first: Range, second: Range, budget: Budget) -> Answer:
    or_equal = not (first.end_included and second.start_included)
    return _precedes(first.end, second.start, or_equal, budget)


def _meets(first: Range, second: Range, budget: Budget) -> Answer:
    return both(first.end_included and second.start_included, equal(first.end, second.start, budget))


def _overlaps(first: Range, second: Range, budget: Budget) -> Answer:
    return negated(either(_before(first, second, budget), _before(second, first, budget)))


def _starts_earlier(first: Range, second: Range, budget: Budget) -> Answer:
    return _precedes(first.start, second.start, first.start_included and not second.start_included, budget)


def _ends_no_later(first: Range, second: Range, budget: Budget) -> Answer:
    return _precedes(first.end, second.end, second.end_included or not first.end_included, budget)


def _starts_no_earlier(first: Range, second: Range, budget: Budget) -> Answer:
    return _precedes(second.start, first.start, second.start_included or not first.start_included, budget)


def _same_end(first: Range, second: Range, budget: Budget) -> Answer:
    return both(first.end_included == second.end_included, equal(first.end, second.end, budget))


def _same_start(first: Range, second: Range, budget: Budget) -> Answer:
    return both(first.start_included == second.start_included, equal(first.start, second.start, budget))


def _and(one: Relation, other: Relation) -> Relation:
    return lambda first, second, budget: both(one(first, second, budget), other(first, second, budget))


def _turned(relation: Relation) -> Relation:
    return lambda first, second, budget: relation(second, first, budget)


_during = _and(_starts_no_earlier, _ends_no_later)
_finishes = _and(_same_end, _starts_no_earlier)
_starts = _and(_same_start, _ends_no_later)
_overlaps_before = _and(_and(_starts_earlier, _ends_no_later), _overlaps)
"""It begins earlier, ends no later, and they have points in common."""


def _as_range(value: Any) -> Range:
    return value if type(value) is Range else Range(value, value)


def _relation(relation: Relation, *signatures: str) -> tuple[Overload, ...]:
    def run(budget: Budget, first: Any, second: Any) -> Answer:
        return relation(_as_range(first), _as_range(second), budget)

    return tuple(overload(signature, run, nothing, not_built, spends=True) for signature in signatures)


_BOTH = "range1:range, range2:range"
_POINT_FIRST = "point:any, range:range"
_RANGE_FIRST = "range:range, point:any"
_POINTS = "point1:any, point2:any"

RANGES: dict[str, tuple[Overload, ...]] = {
    "before": _relation(_before, _BOTH, _POINT_FIRST, _RANGE_FIRST, _POINTS),
    "after": _relation(_turned(_before), _BOTH, _POINT_FIRST, _RANGE_FIRST, _POINTS),
    "meets": _relation(_meets, _BOTH),
    "met by": _relation(_turned(_meets), _BOTH),
    "overlaps": _relation(_overlaps, _BOTH),
    "overlaps before": _relation(_overlaps_before, _BOTH),
    "overlaps after": _relation(_turned(_overlaps_before), _BOTH),
    "finishes": _relation(_finishes, _BOTH, _POINT_FIRST),
    "finished by": _relation(_turned(_finishes), _BOTH, _RANGE_FIRST),
    "includes": _relation(_turned(_during), _BOTH, _RANGE_FIRST),
    "during": _relation(_during, _BOTH, _POINT_FIRST),
    "starts": _relation(_starts, _BOTH, _POINT_FIRST),
    "started by": _relation(_turned(_starts), _BOTH, _RANGE_FIRST),
    "coincides": _relation(_and(_same_start, _same_end), _BOTH, _POINTS),
}
