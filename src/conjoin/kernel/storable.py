"""What a value may be: whatever passes here can be written by every store, read again, and computed with in no time.

One walk over a value answers None, or why it cannot be stored, in words for people. Every edge asks before it lets a
value in, and the process kernel asks before the value of an expression becomes state. Nothing here raises.
"""

from decimal import Decimal
from typing import Any

MOST_DIGITS = 4_300
"""Of a number; Python itself writes and reads no integer of more, because the time for it grows with the square."""
MOST_EXPONENT = 6_200
"""1E+999999999 is a short text and a number of a gigabyte. What FEEL computes ends at 1E+6144 and 1E-6176."""
MOST_DEPTH = 200
"""Lists and objects inside each other. A parser's stack ends at about 1,000, and a value is stored inside others."""
MOST_BYTES = 16 * 1024 * 1024
"""Of one value as text, roughly: names and texts by their length, everything else by `_EACH`."""
TOO_LARGE = f"is larger than {MOST_BYTES // 1024**2} MiB"
LARGEST_INT64 = 2**63 - 1
"""Of whatever has a column of its own: counts, instants in microseconds, durations."""
LARGEST_INT32 = 2**31 - 1
"""Of what gRPC sends as int32: a job's retries."""
LONGEST_KEY = 32_768
"""Characters of a correlation key, a message id, or a name that is made by an expression."""

FIRST_INSTANT, LAST_INSTANT = -(2**63) + 1, 2**63 - 2
"""Microseconds since 1970: what lies between the two ends of time of `instants.py`. About the year 294,000."""

_EACH = 8
_SMALL = 10**18
_FIRST_TOO_LARGE = 10**MOST_DIGITS
_NO_TEXT = "has characters that are no text (NUL or half a pair)"


class _Unstorable(Exception):  # noqa: N818 - it never leaves this module
    """Its text is the reason."""


def unstorable(value: Any) -> str | None:
    """Why a value cannot be stored as JSON; None: it can."""
    try:
        if _size(value, MOST_DEPTH) > MOST_BYTES:
            return TOO_LARGE
    except _Unstorable as why:
        return str(why)
    except UnicodeEncodeError:
        return "has a text with half a surrogate pair"
    return None


def size_of(value: Any) -> int:
    """How large a value is as text, roughly; counted no further than what can be stored."""
    try:
        return _size(value, MOST_DEPTH)
    except (_Unstorable, UnicodeEncodeError):
        return MOST_BYTES + 1


def _size(value: Any, depth: int) -> int:
    """How large a value is; raises where it cannot be stored. Written for speed: every message comes through here."""
    kind = type(value)
    if kind is dict:
        if not depth:
            raise _Unstorable(f"is nested deeper than {MOST_DEPTH} levels")
        depth -= 1
        size = _EACH * len(value)
        for name, item in value.items():
            if type(name) is not str:
                raise _Unstorable(f"has a name that is no text ({type(name).__name__})")
            size += len(name) if name.isascii() else len(name.encode())
            kind = type(item)
            if kind is str:
                size += len(item) if item.isascii() else len(item.encode())
            elif kind is not int or not -_SMALL < item < _SMALL:
                size += _size(item, depth)
                if size > MOST_BYTES:
                    break
        return size
    if kind is str:
        return len(value) if value.isascii() else len(value.encode())
    if kind is list or kind is tuple:
        if not depth:
            raise _Unstorable(f"is nested deeper than {MOST_DEPTH} levels")
        depth -= 1
        size = _EACH * len(value)
        for item in value:
            kind = type(item)
            if kind is str:
                size += len(item) if item.isascii() else len(item.encode())
            elif kind is not int or not -_SMALL < item < _SMALL:
                size += _size(item, depth)
                if size > MOST_BYTES:
                    break
        return size
    return 0 if value is None or kind is bool else _odd_size(value, depth)


def _odd_size(value: Any, depth: int) -> int:
    """Numbers, and subclasses of what JSON has."""
    if isinstance(value, int):
        if -_SMALL < value < _SMALL:
            return 0
        if -_FIRST_TOO_LARGE < value < _FIRST_TOO_LARGE:
            return value.bit_length() // 3
        raise _Unstorable(f"has a number of more than {MOST_DIGITS:,} digits")
    if isinstance(value, Decimal):
        return _decimal_size(value)
    if isinstance(value, float):
        if value - value == 0:
            return _EACH
        raise _Unstorable("has a number that is not finite")
    for plain in (dict, list, str, tuple):
        if isinstance(value, plain):
            return _size(plain(value), depth)  # type: ignore[arg-type]
    raise _Unstorable(f"has a value of type {type(value).__name__}, which JSON does not know")


def _decimal_size(value: Decimal) -> int:
    size = len(str(value))
    if size < 100 and value.is_finite() and abs(value.adjusted()) < MOST_EXPONENT - size:
        return size
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise _Unstorable("has a number that is not finite")
    if len(digits) > MOST_DIGITS:
        raise _Unstorable(f"has a number of more than {MOST_DIGITS:,} digits")
    if exponent < -MOST_EXPONENT or exponent + len(digits) > MOST_EXPONENT:
        raise _Unstorable(f"has a number with an exponent beyond {MOST_EXPONENT:,}")
    return size


def read_fraction(text: str) -> Decimal:
    """A JSON number with a fraction or an exponent, all its digits kept. For the decoders of every edge.

    Raises `ValueError` for what `unstorable` would refuse, before any work is done with it.
    """
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has more than {MOST_DIGITS:,} characters")
    exponent = text.lower().partition("e")[2]
    if len(exponent) > 6 and len(exponent.lstrip("+-0")) > 4:
        raise ValueError(f"a number has an exponent beyond {MOST_EXPONENT:,}")
    number = Decimal(text)
    try:
        _decimal_size(number)
    except _Unstorable as why:
        raise ValueError(f"the value {why}") from None
    return number


def whole_number(value: Any, largest: int = LARGEST_INT64) -> int | None:
    """The number that a value is, cut towards zero; None where it is none, or lies beyond ±`largest`.

    A text of digits is its number.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = _digits(value.strip())
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value.adjusted() < MOST_DIGITS else None
    if isinstance(value, float):
        value = int(value) if value - value == 0 else None
    return value if isinstance(value, int) and -largest <= value <= largest else None


def _digits(text: str) -> int | None:
    bare = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if bare.isdecimal() and len(bare) <= MOST_DIGITS else None


def unstorable_text(text: str, longest: int = LONGEST_KEY) -> str | None:
    """Why a text cannot have a column of its own; None: it can."""
    if len(text) > longest:
        return f"is longer than {longest} characters"
    return None if is_text(text) else _NO_TEXT


def is_text(text: str) -> bool:
    """Can every store hold it in a column? PostgreSQL takes no NUL, and UTF-8 has no half pairs."""
    if text.isascii():
        return "\0" not in text
    try:
        return "\0" not in text and bool(text.encode())
    except UnicodeEncodeError:
        return False
