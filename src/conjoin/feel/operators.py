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
from conjoin.feel.temporal_arithmetic import ADDED, DIVIDED, MULTIPLIED, SUBTRACTED, Operation

_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = CONTEXT.add, CONTEXT.subtract, CONTEXT.multiply, numbers.divide
_POWER = 100
"""The work of one power; exact powers of large numbers take longer, by their digits."""


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
    return _computed(_ADD, ADDED, left, right, budget)


def subtract(left: Any, right: Any, budget: Budget) -> Any:
    if type(left) is int and type(right) is int:
        number = left - right
        return number if -FIRST_ROUNDED < number < FIRST_ROUNDED else _rounded(number, budget)
    return _computed(_SUBTRACT, SUBTRACTED, left, right, budget)


def multiply(left: Any, right: Any, budget: Budget) -> Any:
    if type(left) is int and type(right) is int:
        number = left * right
        return number if -FIRST_ROUNDED < number < FIRST_ROUNDED else _rounded(number, budget)
    return _computed(_MULTIPLY, MULTIPLIED, left, right, budget)


def divide(left: Any, right: Any, budget: Budget) -> Any:
    return _computed(_DIVIDE, DIVIDED, left, right, budget)


def power(left: Any, right: Any, budget: Budget) -> Number | None:
    budget.work(_POWER)
    if type(left) not in NUMBERS or type(right) not in NUMBERS:
        return None
    budget.number(left)
    budget.number(right)
    if numbers.has_exact_power(left, right):
        budget.bits(left.bit_length() * right)
    return numbers.power(left, right)


def _rounded(number: int, budget: Budget) -> Number | None:
    """An int that nothing was computed with may have had thousands of digits."""
    budget.work(number.bit_length() >> 4)
    budget.number(number)
    return fitted(number)


def negate(value: Any, budget: Budget) -> Any:
    if type(value) is int:
        return -value
    if type(value) is Decimal:
        return finite(CONTEXT.minus(value))
    return multiply(value, -1, budget)


def _computed(
    of_numbers: Operation, of_others: dict[tuple[type, type], Operation], left: Any, right: Any, budget: Budget
) -> Any:
    kind, other = type(left), type(right)
    operation = of_numbers if kind in NUMBERS and other in NUMBERS else of_others.get((kind, other))
    if operation is None:
        return None
    budget.number(left)
    budget.number(right)
    result = operation(left, right)
    return None if type(result) is Decimal and not result.is_finite() else result


Arithmetic = Callable[[Any, Any, Budget], Any]
ARITHMETIC: dict[str, Arithmetic] = {"+": add, "-": subtract, "*": multiply, "/": divide, "**": power}
