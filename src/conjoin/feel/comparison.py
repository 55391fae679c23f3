"""Equality, order and membership, each with three answers: True, False, and None for what cannot be compared.

Null equals null alone. Values of different types are not comparable, except inside lists and contexts, where a
difference of type is a difference; ranges and functions are never. Only numbers, strings and temporal values have an
order; a named time zone has none.
"""

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

from conjoin.feel import numbers
from conjoin.feel.budget import CHARACTERS_SHIFT, Budget
from conjoin.feel.temporal import SECOND_US, Date, DateTime, DaysTime, Time, YearsMonths
from conjoin.feel.types import Range

_SAME: dict[type, str] = {
    **{bool: "boolean", int: "number", Decimal: "number", str: "string", list: "list", dict: "context"},
    **{Date: "date", DaysTime: "days", YearsMonths: "years"},
}
_ORDER_KEYS: dict[type, Callable[[Any], Any]] = {
    **{DateTime: attrgetter("instant"), Date: attrgetter("days"), Decimal: numbers.finite},
    **{DaysTime: attrgetter("microseconds"), YearsMonths: attrgetter("months")},
    Time: lambda time: None if time.zone else time.local - (time.offset or 0) * SECOND_US,
}
"""What a value is ordered by, if not by itself; None: it has no place in the order."""
_PAIR = 4
"""The work of comparing two values that are inside of others."""


def equal(left: Any, right: Any, budget: Budget) -> bool | None:
    if left is None or right is None:
        return left is right
    kind = type(left)
    if kind is type(right):
        if kind is int or kind is bool:
            return bool(left == right)
        if kind is str:
            # Texts of different lengths differ without being looked at.
            if len(left) == len(right) > 64:
                budget.work(len(left) >> CHARACTERS_SHIFT)
            return bool(left == right)
    same = _kind(left)
    if same is None or same != _kind(right):
        return None
    if same == "list" or same == "context":
        return _equal_inside(left, right, budget)
    if same == "number":
        budget.number(left)
        budget.number(right)
    return bool(left == right)


def _equal_inside(left: Any, right: Any, budget: Budget) -> bool:
    """Lists and contexts, without recursion: a value may be nested deeper than Python would follow."""
    pairs = [(left, right)]
    while pairs:
        first, second = pairs.pop()
        budget.work(1)
        if first is second:
            continue
        if type(first) is type(second) is list and len(first) == len(second):
            budget.work(_PAIR * len(first))
            pairs.extend(zip(first, second, strict=True))
        elif type(first) is type(second) is dict and len(first) == len(second):
            budget.work(_PAIR * len(first))
            if first.keys() != second.keys():
                return False
            pairs.extend((value, second[key]) for key, value in first.items())
        elif isinstance(first, (list, dict)) or not equal(first, second, budget):
            return False
    return True


def less(left: Any, right: Any, budget: Budget) -> bool | None:
    if type(left) is int and type(right) is int:
        return left < right
    keys = _order_keys(left, right, budget)
    return None if keys is None else bool(keys[0] < keys[1])


def at_most(left: Any, right: Any, budget: Budget) -> bool | None:
    if type(left) is int and type(right) is int:
        return left <= right
    keys = _order_keys(left, right, budget)
    return None if keys is None else bool(keys[0] <= keys[1])


def more(left: Any, right: Any, budget: Budget) -> bool | None:
    return less(right, left, budget)


COMPARE: dict[str, Callable[[Any, Any, Budget], bool | None]] = {
    "=": equal,
    "!=": lambda left, right, budget: negated(equal(left, right, budget)),
    **{"<": less, "<=": at_most, ">": more},
    ">=": lambda left, right, budget: at_most(right, left, budget),
}


def both(first: Any, second: Any) -> bool | None:
    """`and` of three values: what is no boolean is unknown."""
    if first is False or second is False:
        return False
    return True if first is True and second is True else None


def either(first: Any, second: Any) -> bool | None:
    """`or` of three values."""
    if first is True or second is True:
        return True
    return False if first is False and second is False else None


def negated(value: Any) -> bool | None:
    return (not value) if type(value) is bool else None


def between(value: Any, low: Any, high: Any, budget: Budget) -> bool | None:
    return both(at_most(low, value, budget), at_most(value, high, budget))


def included(value: Any, points: Range, budget: Budget) -> bool | None:
    after_start = (at_most if points.start_included else less)(points.start, value, budget)
    before_end = (at_most if points.end_included else less)(value, points.end, budget)
    return both(after_start, before_end)


def passes(value: Any, test: Any, budget: Budget) -> bool | None:
    """`value in test`: in the range, in the list (or in a range of it), or equal; a condition that held passes."""
    if type(test) is Range:
        return included(value, test, budget)
    if type(test) is list:
        budget.work(_PAIR * len(test))
        if type(value) is list:
            return equal(value, test, budget) or any(equal(value, item, budget) for item in test)
        answer: bool | None = False
        for item in test:
            answer = either(answer, (included if type(item) is Range else equal)(value, item, budget))
        return answer
    if type(test) is bool and type(value) is not bool:
        return test
    return equal(value, test, budget)


def _kind(value: Any) -> str | None:
    """Values of one kind can be compared with each other."""
    kind = type(value)
    if kind is not DateTime and kind is not Time:
        return _SAME.get(kind)
    return f"{'local' if value.offset is None and value.zone is None else 'zoned'} {kind.__name__}"


def _order_keys(left: Any, right: Any, budget: Budget) -> tuple[Any, Any] | None:
    kind = _kind(left)
    if kind is None or kind != _kind(right) or kind in ("boolean", "list", "context"):
        return None
    if kind == "string":
        budget.work(min(len(left), len(right)) >> CHARACTERS_SHIFT)
    elif kind == "number":
        budget.number(left)
        budget.number(right)
    of_left, of_right = _ORDER_KEYS.get(type(left)), _ORDER_KEYS.get(type(right))
    first, second = of_left(left) if of_left else left, of_right(right) if of_right else right
    return None if first is None or second is None else (first, second)
