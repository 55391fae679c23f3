"""Functions over numbers in a list, or given one by one; `min` and `max` over whatever has an order.

An empty list, and an item that does not belong, make them null.
"""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

from conjoin.feel.comparison import less, more
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import CONTEXT, Number, simplified
from conjoin.feel.operators import add, divide, multiply, subtract


def _extreme(precedes: Callable[[Any, Any], bool | None]) -> Callable[[list[Any]], Any]:
    def find(items: list[Any]) -> Any:
        best = items[0]
        for item in items:
            answer = precedes(item, best)
            if answer is None:
                return None
            best = item if answer else best
        return best

    return find


def _folded(operation: Callable[[Any, Any], Any]) -> Callable[[list[Number]], Any]:
    return lambda items: reduce(operation, items)


_sum = _folded(add)


def _mean(items: list[Number]) -> Any:
    return divide(_sum(items), len(items))


def _median(items: list[Number]) -> Any:
    ordered = sorted(items)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else divide(add(ordered[middle - 1], ordered[middle]), 2)


def _stddev(items: list[Number]) -> Any:
    """Of a sample, so it needs two."""
    if len(items) < 2:
        return None
    mean = _mean(items)
    squares = [multiply(subtract(item, mean), subtract(item, mean)) for item in items]
    variance = divide(_sum(squares), len(items) - 1)
    return None if variance is None else simplified(CONTEXT.sqrt(variance))


def _mode(items: list[Number]) -> list[Number]:
    counts = Counter(items)
    most = max(counts.values(), default=0)
    return sorted(number for number, count in counts.items() if count == most)


def _numbers_only(run: Callable[[list[Number]], Any], of_none: Any = None) -> tuple[Overload, ...]:
    def checked(items: list[Any]) -> Any:
        if not items:
            return of_none
        return run(items) if all(map(_is_number, items)) else None

    return _list_or_arguments(checked)


def _is_number(item: Any) -> bool:
    return type(item) is int or (type(item) is Decimal and item.is_finite())


def _list_or_arguments(run: Callable[[list[Any]], Any]) -> tuple[Overload, ...]:
    return overload("list:list", run), overload("*numbers", lambda *items: run(list(items)))


def _ordered(precedes: Callable[[Any, Any], bool | None]) -> tuple[Overload, ...]:
    find = _extreme(precedes)
    return _list_or_arguments(lambda items: find(items) if items else None)


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
