"""Arithmetic: numbers, strings (`+` alone), dates, times and durations. Whatever has no meaning is null.

`add`, `subtract`, `multiply`, `divide` and `power` try the commonest case, two ints, first; the temporal cases are a
table by the types of both sides.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conjoin.feel import numbers
from conjoin.feel.numbers import CONTEXT, NUMBERS, Number, finite, fitted
from conjoin.feel.values.arithmetic import ADDED, DIVIDED, MULTIPLIED, SUBTRACTED

LONGEST_STRING = 4_000_000
"""Longer texts are null: an expression must not be able to fill the memory."""


def add(left: Any, right: Any) -> Any:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return fitted(left + right)
    if kind is str and other is str:
        return left + right if len(left) + len(right) <= LONGEST_STRING else None
    if kind in NUMBERS and other in NUMBERS:
        return finite(CONTEXT.add(left, right))
    return _by_types(ADDED, left, right)


def subtract(left: Any, right: Any) -> Any:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return fitted(left - right)
    if kind in NUMBERS and other in NUMBERS:
        return finite(CONTEXT.subtract(left, right))
    return _by_types(SUBTRACTED, left, right)


def multiply(left: Any, right: Any) -> Any:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return fitted(left * right)
    if kind in NUMBERS and other in NUMBERS:
        return finite(CONTEXT.multiply(left, right))
    return _by_types(MULTIPLIED, left, right)


def divide(left: Any, right: Any) -> Any:
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return numbers.divide(left, right)
    return _by_types(DIVIDED, left, right)


def power(left: Any, right: Any) -> Number | None:
    return numbers.power(left, right) if type(left) in NUMBERS and type(right) in NUMBERS else None


def negate(value: Any) -> Any:
    if type(value) is int:
        return -value
    if type(value) is Decimal:
        return finite(CONTEXT.minus(value))
    return multiply(value, -1)


def _by_types(table: dict[tuple[type, type], Callable[[Any, Any], Any]], left: Any, right: Any) -> Any:
    operation = table.get((type(left), type(right)))
    return operation(left, right) if operation else None


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    **{"+": add, "-": subtract, "*": multiply, "/": divide, "**": power},
}
