"""Values as text, as `string(...)` writes them, and as JSON: what leaves an expression and is stored.

Both walk a value only so deep, and pay for what they look at and build: an expression can build a list of itself,
twice, fifty times over.
"""

import json
from decimal import Decimal
from operator import is_
from typing import Any

from conjoin.feel.budget import Budget
from conjoin.feel.errors import BudgetSpent, Unanswerable
from conjoin.feel.numbers import as_int, is_bounded, number_text
from conjoin.feel.temporal import Date, DateTime, DaysTime, Duration, Time, YearsMonths
from conjoin.feel.types import Range

_TEMPORAL = frozenset((Date, Time, DateTime, Duration, DaysTime, YearsMonths))
_AS_IT_IS = frozenset((str, int, bool, type(None)))
_READ_AND_WRITTEN = 2
_DEEPEST = 200
_STEP = 10
_PLAIN = 16
"""The bytes of a number, a name or an empty list in a document."""


def _step(budget: Budget, depth: int) -> None:
    if depth > _DEEPEST:
        raise Unanswerable
    budget.work(_STEP)


def to_json_value(value: Any, budget: Budget | None = None) -> Any:
    """A FEEL value as None, bool, int, Decimal, str, list or dict.

    Temporal values become ISO text; a whole Decimal becomes an int, as Zeebe stores it; a range, a function, and a
    value too deep to be stored become None. What is JSON already is returned as it is, not copied. Paid is what the
    document will have: a text that is inside a hundred times is there a hundred times. Without a budget of an
    evaluation, one that is too large is None.
    """
    if type(value) in _AS_IT_IS:
        return value
    try:
        return _json_value(value, budget or Budget(), 0)
    except BudgetSpent:
        if budget is not None:
            raise
        return None
    except Unanswerable:
        return None


def _json_value(value: Any, budget: Budget, depth: int) -> Any:
    kind = type(value)
    if kind in _AS_IT_IS:
        budget.spend(_STEP, len(value) if kind is str else _PLAIN)
        return value
    _step(budget, depth)
    budget.build(_PLAIN)
    if kind is Decimal:
        whole = as_int(value)
        return whole if whole is not None else value if value.is_finite() else None
    if kind is list:
        items = [_json_value(item, budget, depth + 1) for item in value]
        return value if all(map(is_, value, items)) else items
    if kind is dict:
        budget.build(sum(map(len, value)))
        entries = {key: _json_value(item, budget, depth + 1) for key, item in value.items()}
        return value if all(map(is_, value.values(), entries.values())) else entries
    return str(value) if kind in _TEMPORAL else None


def text_of(budget: Budget, value: Any) -> str | None:
    """As `string(...)` writes a value; null has no text."""
    if type(value) is str:
        return value
    return None if value is None else _text(value, budget, 0)


def _text(value: Any, budget: Budget, depth: int) -> str | None:
    _step(budget, depth)
    kind = type(value)
    text: str | None = None
    if kind is str:
        budget.text(len(value))
        text = json.dumps(value, ensure_ascii=False)
    elif value is None or kind is bool:
        text = {None: "null", True: "true", False: "false"}[value]
    elif kind is int or kind is Decimal:
        budget.number(value, _READ_AND_WRITTEN)
        text = number_text(value)
    elif kind is list:
        text = f"[{', '.join([_text(item, budget, depth + 1) or 'null' for item in value])}]"
    elif kind is dict:
        text = f"{{{', '.join(f'{key}:{_text(item, budget, depth + 1)}' for key, item in value.items())}}}"
    elif kind is Range:
        opening, closing = "[" if value.start_included else "(", "]" if value.end_included else ")"
        text = f"{opening}{_text(value.start, budget, depth + 1)}..{_text(value.end, budget, depth + 1)}{closing}"
    elif kind in _TEMPORAL:
        text = str(value)
    if text is not None:
        budget.text(len(text))
    return text


def json_text(budget: Budget, value: Any) -> str | None:
    """A JSON document of a value; None when a number in it has no text."""
    return _document(to_json_value(value, budget), budget)


def _document(value: Any, budget: Budget) -> str | None:
    budget.work(_STEP)
    kind = type(value)
    text: str | None = None
    if kind is int or kind is Decimal:
        budget.number(value, _READ_AND_WRITTEN)
        text = number_text(value)
    elif kind is list:
        items = [_document(item, budget) for item in value]
        text = None if None in items else f"[{','.join(map(str, items))}]"
    elif kind is dict:
        entries = {key: _document(item, budget) for key, item in value.items()}
        if None not in entries.values():
            text = f"{{{','.join(f'{_document(key, budget)}:{item}' for key, item in entries.items())}}}"
    else:
        text = json.dumps(value, ensure_ascii=False)
    if text is not None:
        budget.text(len(text))
    return text


def read_json(budget: Budget, text: str) -> Any:
    """The value of a JSON document; None when it is none."""
    # What the document becomes, from its punctuation: that in texts counts as well, which is dear but safe.
    budget.work(len(text) >> 2)
    budget.build(len(text) + 240 * text.count("{") + 100 * text.count("[") + 60 * (text.count(",") + text.count(":")))
    try:
        value = json.loads(text, parse_float=_fraction, parse_constant=_fraction)
        return value if "\\" not in text or json.dumps(value, ensure_ascii=False, default=str).encode() else None
    except (ValueError, ArithmeticError, RecursionError):
        # Half a pair of surrogates, which an escape can stand for, is among them: nothing can be done with it.
        return None


def _fraction(text: str) -> Decimal:
    """Bounded before anything is computed with it: 1e999999999 is a short text and a number of a gigabyte.

    NaN and Infinity are no numbers that can be written out, either.
    """
    number = Decimal(text)
    if not is_bounded(number):
        raise ValueError
    return number
