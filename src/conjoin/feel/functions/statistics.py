"""Functions over numbers in a list, or given one by one; `min` and `max` over whatever has an order.

An empty list, and an item that does not belong, make them null.
"""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

from conjoin.feel.budget import Budget, each, new_top
from conjoin.feel.comparison import less, more
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import CONTEXT, Number, same_number, simplified
from conjoin.feel.operators import add, divide, multiply, subtract

_ITEM = 10
"""The work with each number, sorting included."""


def _extreme(precedes: Callable[[Any, Any, Budget], bool | None]) -> Callable[[Budget, list[Any]], Any]:
    def find(budget: Budget, items: list[Any]) -> Any:
        best = items[0]
        for item in items:
            answer = precedes(item, best, budget)
            if answer is None:
                return None
            best = item if answer else best
        return best

    return find


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
    most = max(counts.values(), default=0)
    firsts = dict(zip(reversed(keys), reversed(items), strict=True))
    return sorted(firsts[key] for key, count in counts.items() if count == most)


def _numbers_only(run: Callable[[Budget, list[Number]], Any], of_none: Any = None) -> tuple[Overload, ...]:
    def checked(budget: Budget, items: list[Any]) -> Any:
        if not items:
            return of_none
        if not all(map(_is_number, items)):
            return None
        for item in items:
            budget.number(item, _ITEM)
        return run(budget, items)

    return _list_or_arguments(checked)


def _is_number(item: Any) -> bool:
    return type(item) is int or (type(item) is Decimal and item.is_finite())


def _list_or_arguments(run: Callable[[Budget, list[Any]], Any]) -> tuple[Overload, ...]:
    return (
        overload("list:list", run, each(_ITEM), new_top, spends=True),
        overload("*numbers", lambda budget, *items: run(budget, list(items)), each(_ITEM), new_top, spends=True),
    )


def _ordered(precedes: Callable[[Any, Any, Budget], bool | None]) -> tuple[Overload, ...]:
    find = _extreme(precedes)
    return _list_or_arguments(lambda budget, items: find(budget, items) if items else None)


STATISTICS: dict[str, tuple[Overload, ...]] = {
    "min": _ordered(less),
    "max": _ordered(more),
    "sum": _numbers_only(_sum),
    "product": _numbers_only(_folded(multiply)),
    "mean": _numbers_only(_mean),
    "median": _numbers_only(_median),
    "stddev": _numbers_only(_stddev),
    "mode": _numbers_only(_mode, of_none=[]),
}
