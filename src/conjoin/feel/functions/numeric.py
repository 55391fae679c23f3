"""Numeric functions, exact or to 34 digits (`abs` is also for durations), and functions over a list of numbers, or over
numbers given one by one; `min` and `max` over whatever has an order. An empty list and an item that does not belong
make the latter null.
"""

import decimal
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

from conjoin.feel.budget import Budget, each, flat, new_top
from conjoin.feel.comparison import less, more
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import CONTEXT, Number, as_int, finite, same_number, simplified
from conjoin.feel.operators import add, divide, multiply, subtract
from conjoin.feel.temporal import DaysTime, YearsMonths

_MODES = {name: f"ROUND_{name}" for name in ("UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN")}
_LARGEST_SCALE = 6_111
_COMPUTED = 500
"""The work of a root, a logarithm or an exponential to 34 digits."""
_ITEM = 10
"""The work with each number of a list, sorting included."""


def _rounded(number: Number, scale: Number, mode: str) -> Number | None:
    places = as_int(scale)
    if places is None or abs(places) > _LARGEST_SCALE:
        return None
    rounded = Decimal(number).quantize(Decimal((0, (1,), -places)), mode, CONTEXT)
    return simplified(rounded) if places <= 0 else finite(rounded)


def _decimal(number: Number, scale: Number, mode: str = "HALF_EVEN") -> Number | None:
    name = mode.upper()
    if name == "UNNECESSARY":
        rounded = _rounded(number, scale, decimal.ROUND_HALF_EVEN)
        return rounded if rounded == number else None
    return _rounded(number, scale, _MODES[name]) if name in _MODES else None


def _rounding(mode: str) -> tuple[Overload, ...]:
    return (overload("n:number, scale?:number", lambda number, scale=0: _rounded(number, scale, mode)),)


def _modulo(dividend: Number, divisor: Number) -> Number | None:
    """With the sign of the divisor."""
    if not divisor:
        return None
    if type(dividend) is int and type(divisor) is int:
        return dividend % divisor
    rest = CONTEXT.remainder(dividend, divisor)
    return finite(CONTEXT.add(rest, divisor) if rest and (rest < 0) != (divisor < 0) else rest)


def _computed(function: Callable[[Decimal], Decimal]) -> tuple[Overload, ...]:
    return (overload("number:number", lambda number: simplified(function(Decimal(number))), flat(_COMPUTED)),)


def _absolute(number: Number) -> Number | None:
    # Python's own abs would round a Decimal to the digits of whatever context the thread has.
    return abs(number) if type(number) is int else finite(CONTEXT.abs(number))


def _remainder_of_two(wanted: int) -> tuple[Overload, ...]:
    def check(number: Number) -> bool | None:
        whole = as_int(number)
        return None if whole is None else whole % 2 == wanted

    return (overload("number:number", check),)


def _list_or_arguments(run: Callable[[Budget, list[Any]], Any]) -> tuple[Overload, ...]:
    return (
        overload("list:list", run, each(_ITEM), new_top, spends=True),
        overload("*numbers", lambda budget, *items: run(budget, list(items)), each(_ITEM), new_top, spends=True),
    )


def _extreme(precedes: Callable[[Any, Any, Budget], bool | None]) -> tuple[Overload, ...]:
    def find(budget: Budget, items: list[Any]) -> Any:
        best = items[0] if items else None
        for item in items:
            answer = precedes(item, best, budget)
            if answer is None:
                return None
            best = item if answer else best
        return best

    return _list_or_arguments(find)


def _of_numbers(run: Callable[[Budget, list[Number]], Any], of_none: Any = None) -> tuple[Overload, ...]:
    def checked(budget: Budget, items: list[Any]) -> Any:
        if not items:
            return of_none
        if not all(type(item) is int or (type(item) is Decimal and item.is_finite()) for item in items):
            return None
        for item in items:
            budget.number(item, _ITEM)
        return run(budget, items)

    return _list_or_arguments(checked)


def _folded(operation: Callable[[Any, Any, Budget], Any]) -> Callable[[Budget, list[Number]], Any]:
    return lambda budget, items: reduce(lambda first, second: operation(first, second, budget), items)


_sum = _folded(add)


def _mean(budget: Budget, items: list[Number]) -> Any:
    return divide(_sum(budget, items), len(items), budget)


def _median(budget: Budget, items: list[Number]) -> Any:
    ordered = sorted(items)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return divide(add(ordered[middle - 1], ordered[middle], budget), 2, budget)


def _stddev(budget: Budget, items: list[Number]) -> Any:
    """Of a sample, so it needs two."""
    if len(items) < 2:
        return None
    mean = _mean(budget, items)
    budget.build(100 * len(items))
    apart = (subtract(item, mean, budget) for item in items)
    squares = [multiply(distance, distance, budget) for distance in apart]
    variance = divide(_sum(budget, squares), len(items) - 1, budget)
    return None if variance is None else simplified(CONTEXT.sqrt(variance))


def _mode(budget: Budget, items: list[Number]) -> list[Number]:
    budget.build(100 * len(items))
    keys = list(map(same_number, items))
    counts = Counter(keys)
    most = max(counts.values())
    firsts = dict(zip(reversed(keys), reversed(items), strict=True))
    return sorted(firsts[key] for key, count in counts.items() if count == most)


NUMERIC: dict[str, tuple[Overload, ...]] = {
    "decimal": (overload("n:number, scale:number, mode?:string", _decimal),),
    "floor": _rounding(decimal.ROUND_FLOOR),
    "ceiling": _rounding(decimal.ROUND_CEILING),
    "round up": _rounding(decimal.ROUND_UP),
    "round down": _rounding(decimal.ROUND_DOWN),
    "round half up": _rounding(decimal.ROUND_HALF_UP),
    "round half down": _rounding(decimal.ROUND_HALF_DOWN),
    "abs": (
        overload("number:number", _absolute),
        overload("n:number", _absolute),
        overload("n:days and time duration", lambda duration: DaysTime(abs(duration.microseconds))),
        overload("n:years and months duration", lambda duration: YearsMonths(abs(duration.months))),
    ),
    "modulo": (overload("dividend:number, divisor:number", _modulo),),
    "sqrt": _computed(CONTEXT.sqrt),
    "log": _computed(CONTEXT.ln),
    "exp": _computed(CONTEXT.exp),
    "odd": _remainder_of_two(1),
    "even": _remainder_of_two(0),
    "min": _extreme(less),
    "max": _extreme(more),
    "sum": _of_numbers(_sum),
    "product": _of_numbers(_folded(multiply)),
    "mean": _of_numbers(_mean),
    "median": _of_numbers(_median),
    "stddev": _of_numbers(_stddev),
    "mode": _of_numbers(_mode, of_none=[]),
}
