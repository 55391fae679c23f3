"""Numbers: int or Decimal, never float. An int stays an int where the result is one; the rest is Decimal.

FEEL computes with 34 digits (IEEE 754 decimal128): what has more is rounded half-even, what overflows is null. An int
that nothing is computed with keeps every digit.
"""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

Number = int | Decimal
NUMBERS = frozenset((int, Decimal))
"""The exact types; bool, though Python counts it among the integers, is no number."""

CONTEXT = Context(prec=34, rounding=ROUND_HALF_EVEN, Emin=-6143, Emax=6144, traps=[])
"""Nothing is trapped: what cannot be computed is no finite number, and that is null."""

FIRST_ROUNDED = 10**34
_LONGEST_EXPONENT = 6_200
_LARGEST_EXACT_POWER = 512
_FIRST_LIKE_OTHERS = 2**60
"""The hash of a smaller int is the int itself."""
_WHOLE = re.compile(r"[0-9]{1,34}")
_WRITTEN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def fitted(number: int) -> Number | None:
    """An exact result, rounded if it has more than 34 digits."""
    if -FIRST_ROUNDED < number < FIRST_ROUNDED:
        return number
    return finite(CONTEXT.create_decimal(number))


def finite(number: Decimal) -> Decimal | None:
    return number if number.is_finite() else None


def divide(left: Number, right: Number) -> Number | None:
    """A quotient that may still be no finite number."""
    if not right:
        return None
    if type(left) is int and type(right) is int and left % right == 0:
        return fitted(left // right)
    return CONTEXT.divide(left, right)


def power(left: Number, right: Number) -> Number | None:
    if has_exact_power(left, right):
        return fitted(int(left) ** int(right))
    # A power of numbers with more digits than it answers with takes seconds.
    return simplified(CONTEXT.power(CONTEXT.plus(left), CONTEXT.plus(right)))


def has_exact_power(left: Number, right: Number) -> bool:
    """Is it computed with all its digits before it is rounded?"""
    return type(left) is int and type(right) is int and abs(left) < FIRST_ROUNDED and 0 <= right <= _LARGEST_EXACT_POWER


def simplified(number: Decimal) -> Number | None:
    """An int if the number is whole, not larger than we would compute exactly; None if it is not finite."""
    whole = as_int(number)
    return finite(number) if whole is None else whole


def as_int(value: Any) -> int | None:
    """The int that a value is; None for other values, for fractions and for Decimals beyond 34 digits."""
    if type(value) is int:
        return value
    if type(value) is Decimal and value.is_finite() and value.adjusted() < 34:
        whole = value.to_integral_value(context=CONTEXT)
        return int(whole) if whole == value else None
    return None


def same_number(number: Number) -> int | str:
    """What equal numbers have in common, however they are written: a key for a dict.

    The hash of a large number is its remainder by a prime that everybody knows, so it is easy to send very many with
    the same. That of a text is not.
    """
    whole = as_int(number)
    if whole is not None and -_FIRST_LIKE_OTHERS < whole < _FIRST_LIKE_OTHERS:
        return whole
    if not number:
        return 0
    sign, digits, exponent = Decimal(number).as_tuple()
    written = "".join(map(str, digits))
    short = written.rstrip("0")
    places = exponent + len(written) - len(short) if isinstance(exponent, int) else exponent
    return f"{sign}{short}E{places}"


def read_number(text: str) -> Number | None:
    """The number a text is; None if it is none."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _WRITTEN.fullmatch(text):
        return None
    number = CONTEXT.create_decimal(text)
    return finite(number) if "." in text else simplified(number)


def number_text(number: Number) -> str | None:
    """As FEEL writes it: no exponent. None for what would be thousands of digits long, and for no finite number."""
    decimal = Decimal(number)
    return format(decimal, "f") if is_bounded(decimal) else None


def is_bounded(number: Decimal) -> bool:
    """Is it a number that can be written out?"""
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and max(abs(number.adjusted()), -exponent) <= _LONGEST_EXPONENT
