"""The option `where`: comparisons joined by `and`, in words of SQL, as the filters that Spark would hand over.

`name = 'paid' and published_at >= '2026-01-31T08:00:00Z' and verdict in ('expired', 'discarded') and deadline_at is
null`. There is no `or`, no `not` and no function: what is more than this is a filter of Spark's.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import datasource as ds
from pyspark.sql.datasource import EqualTo, Filter, In, IsNotNull, IsNull, Not

from conjoin.pipeline.source.columns import INSTANT, KEY, NUMBER, TEXT, TRUTH, Column, ColumnKind

_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|-?\d+|\w+|<=|>=|<>|!=|[=<>(),])")
_SIGNS: dict[str, Callable[..., Filter]] = {
    "=": EqualTo,
    "<>": lambda attribute, value: Not(EqualTo(attribute, value)),
    "!=": lambda attribute, value: Not(EqualTo(attribute, value)),
    "<": ds.LessThan,
    "<=": ds.LessThanOrEqual,
    ">": ds.GreaterThan,
    ">=": ds.GreaterThanOrEqual,
}
_END = ""


class Unreadable(Exception):  # noqa: N818 - it says what is the matter
    """Its text says what was expected instead of what."""


def read_where(text: str, columns: Mapping[str, Column]) -> list[Filter]:
    """Raises `Unreadable` where it is not such a text, or not about these columns."""
    words = _Words(text)
    filters = [_comparison(words, columns)]
    while words.next() != _END:
        words.take("and")
        filters.append(_comparison(words, columns))
    return filters


class _Words:
    """The words of a text, read one after the other."""

    def __init__(self, text: str) -> None:
        self._words = []
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                raise Unreadable(f"{text[place:].strip()!r} cannot be read")
            self._words.append(found[1])
            place = found.end()
        self._words.append(_END)

    def next(self) -> str:
        return self._words[0].lower()

    def pop(self) -> str:
        return self._words.pop(0) if len(self._words) > 1 else self._words[0]

    def take(self, *expected: str) -> str:
        if self.next() not in expected:
            raise Unreadable(f"{_shown(self._words[0])} stands where {' or '.join(expected)} should be")
        return self.pop().lower()


def _shown(word: str) -> str:
    return word or "the end"


def _comparison(words: _Words, columns: Mapping[str, Column]) -> Filter:
    name = words.pop()
    column = columns.get(name)
    if column is None:
        raise Unreadable(f"{_shown(name)} stands where a column should be: {', '.join(columns)}")
    sign = words.take(*_SIGNS, "in", "is")
    if sign == "is":
        if words.take("not", "null") == "null":
            return IsNull((name,))
        words.take("null")
        return IsNotNull((name,))
    if sign == "in":
        return In((name,), tuple(_list(words, column)))
    return _SIGNS[sign]((name,), _literal(words.pop(), column))


def _list(words: _Words, column: Column) -> list[Any]:
    words.take("(")
    values = [_literal(words.pop(), column)]
    while words.take(",", ")") == ",":
        values.append(_literal(words.pop(), column))
    return values


def _literal(word: str, column: Column) -> Any:
    expected, read = _LITERALS.get(column.kind, ("nothing", lambda word: None))
    value = read(word)
    if value is None:
        raise Unreadable(f"{column.name} can be compared with {expected}, and not with {_shown(word)}")
    return value


def _text(word: str) -> str | None:
    return word[1:-1].replace("''", "'") if word.startswith("'") else None


def _whole(word: str) -> int | None:
    value = int(word) if re.fullmatch(r"-?\d{1,19}", word, re.ASCII) else None
    return value if value is not None and -(2**63) <= value < 2**63 else None


def _instant(word: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(_text(word) or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_LITERALS: dict[ColumnKind, tuple[str, Callable[[str], Any]]] = {
    TEXT: ("a text in single quotes", _text),
    KEY: ("a whole number", _whole),
    NUMBER: ("a whole number", _whole),
    TRUTH: ("true or false", lambda word: {"true": True, "false": False}.get(word.lower())),
    INSTANT: ("an instant such as '2026-01-31T08:00:00Z'", _instant),
}
