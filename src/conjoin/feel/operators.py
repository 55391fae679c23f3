"""Arithmetic: numbers, strings (`+` alone), dates, times and durations. Whatever has no meaning is null.

`add`, `subtract`, `multiply`, `divide` and `power` try the commonest case, two ints, first; the temporal cases are a
table by the types of both sides. Long texts and large numbers are paid from the budget.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conjoin.feel import numbers
from conjoin.feel.budget import Budget
from conjoin.feel.numbers import CONTEXT, FIRST_ROUNDED, NUMBERS, Number, finite, fitted
from conjoin.feel.values.arithmetic import ADDED, DIVIDED, MULTIPLIED, SUBTRACTED

_POWER = 100
"""The work of one power, whatever the numbers; exact powers of large numbers take the longest."""


def add(left: Any, right: Any, budget: Budget) -> Any:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        number = left + right
        return number if -FIRST_ROUNDED < number < FIRST_ROUNDED else _rounded(number, budget)
    if kind is str and other is str:
        length = len(left) + len(right)
        if length > 64:
            budget.text(length)
        return left + right
    if kind in NUMBERS and other in NUMBERS:
        return finite(CONTEXT.add(left, right))
    return _by_types(ADDED, left, right)


def subtract(left: Any, right: Any, budget: Budget) -> Any:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        number = left - right
        return number if -FIRST_ROUNDED < number < FIRST_ROUNDED else _rounded(number, budget)
    if kind in NUMBERS and other in NUMBERS:
        return finite(CONTEXT.subtract(left, right))
    return _by_types(SUBTRACTED, left, right)


def multiply(left: Any, right: Any, budget: Budget) -> Any:
    kind, other = type(left), type(right)
    if kind is int and other is int:
        number = left * right
        return number if -FIRST_ROUNDED < number < FIRST_ROUNDED else _rounded(number, budget)
    if kind in NUMBERS and other in NUMBERS:
        return finite(CONTEXT.multiply(left, right))
    return _by_types(MULTIPLIED, left, right)


def divide(left: Any, right: Any, budget: Budget) -> Any:
    if type(left) in NUMBERS and type(right) in NUMBERS:
        if type(left) is int and not -FIRST_ROUNDED < left < FIRST_ROUNDED:
            budget.work(left.bit_length() >> 4)
        return numbers.divide(left, right)
    return _by_types(DIVIDED, left, right)


def power(left: Any, right: Any, budget: Budget) -> Number | None:
    budget.work(_POWER)
    return numbers.power(left, right) if type(left) in NUMBERS and type(right) in NUMBERS else None


def _rounded(number: int, budget: Budget) -> Number | None:
    """An int that nothing was computed with may have had thousands of digits."""
    budget.work(number.bit_length() >> 4)
    return fitted(number)


def negate(value: Any, budget: Budget) -> Any:
    if type(value) is int:
        return -value
    if type(value) is Decimal:
        return finite(CONTEXT.minus(value))
    return multiply(value, -1, budget)


def _by_types(table: dict[tuple[type, type], Callable[[Any, Any], Any]], left: Any, right: Any) -> Any:
    operation = table.get((type(left), type(right)))
    return operation(left, right) if operation else None


ARITHMETIC: dict[str, Callable[[Any, Any, Budget], Any]] = {
    **{"+": add, "-": subtract, "*": multiply, "/": divide, "**": power},
}
