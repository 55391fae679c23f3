"""Values as text, as `string(...)` writes them, and as JSON: what leaves an expression and is stored.

Both walk a value only so deep and so far: an expression can build a list of itself, twice, fifty times over.
"""

import json
from decimal import Decimal
from typing import Any

from conjoin.feel.errors import Unanswerable
from conjoin.feel.numbers import as_int, number_text
from conjoin.feel.values.ranges import Range
from conjoin.feel.values.temporal import Date, DateTime, DaysTime, Duration, Time, YearsMonths

_TEMPORAL = frozenset((Date, Time, DateTime, Duration, DaysTime, YearsMonths))
_AS_IT_IS = frozenset((str, int, bool, type(None)))
_DEEPEST = 200
_MOST_VALUES = 1_000_000
_MOST_IN_TEXT = 200_000
"""A list of so many is no text that anybody reads."""


class _Walk:
    """How much of a value may still be looked at."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def step(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST:
            raise Unanswerable


def to_json_value(value: Any) -> Any:
    """A FEEL value as None, bool, int, Decimal, str, list or dict.

    Temporal values become ISO text; a whole Decimal becomes an int, as Zeebe stores it; a range, a function, and a
    value too large to be stored become None. What is JSON already is returned as it is, not copied.
    """
    if type(value) in _AS_IT_IS:
        return value
    try:
        return _json_value(value, _Walk(_MOST_VALUES), 0)
    except Unanswerable:
        return None


def _json_value(value: Any, walk: _Walk, depth: int) -> Any:
    walk.step(depth)
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is Decimal:
        whole = as_int(value)
        return whole if whole is not None else value if value.is_finite() else None
    if kind is list:
        items = [_json_value(item, walk, depth + 1) for item in value]
        return value if all(map(_same, value, items)) else items
    if kind is dict:
        entries = {key: _json_value(item, walk, depth + 1) for key, item in value.items()}
        return value if all(map(_same, value.values(), entries.values())) else entries
    return str(value) if kind in _TEMPORAL else None


def _same(before: Any, after: Any) -> bool:
    return before is after


def text_of(value: Any) -> str | None:
    """As `string(...)` writes a value; null has no text."""
    if type(value) is str:
        return value
    return None if value is None else _text(value, _Walk(_MOST_IN_TEXT), 0)


def _text(value: Any, walk: _Walk, depth: int) -> str | None:
    walk.step(depth)
    kind = type(value)
    if kind is str:
        return json.dumps(value, ensure_ascii=False)
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if kind is int or kind is Decimal:
        return number_text(value)
    if kind is list:
        return f"[{', '.join(_text(item, walk, depth + 1) or 'null' for item in value)}]"
    if kind is dict:
        return f"{{{', '.join(f'{key}:{_text(item, walk, depth + 1)}' for key, item in value.items())}}}"
    if kind is Range:
        return _range_text(value, walk, depth)
    return str(value) if kind in _TEMPORAL else None


def _range_text(points: Range, walk: _Walk, depth: int) -> str:
    opening, closing = "[" if points.start_included else "(", "]" if points.end_included else ")"
    return f"{opening}{_text(points.start, walk, depth + 1)}..{_text(points.end, walk, depth + 1)}{closing}"


def json_text(value: Any) -> str | None:
    """A JSON document of a value; None when a number in it has no text."""
    return _document(to_json_value(value))


def _document(value: Any) -> str | None:
    kind = type(value)
    if kind is int or kind is Decimal:
        return number_text(value)
    if kind is list:
        items = [_document(item) for item in value]
        return None if None in items else f"[{','.join(map(str, items))}]"
    if kind is dict:
        entries = {key: _document(item) for key, item in value.items()}
        if None in entries.values():
            return None
        return f"{{{','.join(f'{_document(key)}:{item}' for key, item in entries.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def read_json(text: str) -> Any:
    """The value of a JSON document; None when it is none."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _no_number(name: str) -> None:
    raise ValueError(name)
