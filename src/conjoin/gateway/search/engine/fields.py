"""Fields of what can be searched for: the name on the wire, the kind of value, and the column where the store has it.

A kind reads values of the wire and writes them: keys are decimal texts there, instants ISO texts. In between, in items
and filters, both are whole numbers.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from conjoin.gateway.http import schemas
from conjoin.kernel.storable import is_text
from conjoin.times.iso8601 import instant_text, read_instant

_KEY = re.compile(r"-?[0-9]{1,25}")
_EQUAL = ("$eq", "$neq", "$exists", "$in", "$notIn")
_ORDERED = (*_EQUAL, "$gt", "$gte", "$lt", "$lte")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FieldKind:
    """`read` raises ValueError with what it expects; `write` is for the wire."""

    name: str
    operators: Collection[str]
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    schema: Mapping[str, Any]


def _same(value: Any) -> Any:
    return value


def read_key(value: Any) -> int:
    """What is larger than any key is the key of nothing, as the largest is."""
    if isinstance(value, str) and _KEY.fullmatch(value):
        return max(-_LARGEST, min(int(value), _LARGEST))
    raise ValueError("a key, which is a decimal number as a text")


def _reader(is_it: Callable[[Any], bool], expected: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if is_it(value):
            return value
        raise ValueError(expected)

    return read


def _read_instant(value: Any) -> int:
    at = read_instant(value) if isinstance(value, str) else None
    if at is None:
        raise ValueError("an instant such as 2030-01-31T08:00:00Z")
    return at


_NUMBER_SCHEMA = {"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST}
_read_text = _reader(lambda value: isinstance(value, str) and is_text(value), "a text")
_read_number = _reader(lambda value: type(value) is int and abs(value) <= _LARGEST, "a whole number")
_read_flag = _reader(lambda value: isinstance(value, bool), "true or false")
TEXT = FieldKind("text", (*_EQUAL, "$like"), _read_text, _same, schemas.TEXT)
KEY = FieldKind("key", _EQUAL, read_key, str, schemas.KEY)
NUMBER = FieldKind("number", _ORDERED, _read_number, _same, _NUMBER_SCHEMA)
INSTANT = FieldKind("instant", _ORDERED, _read_instant, instant_text, schemas.INSTANT)
FLAG = FieldKind("flag", ("$eq", "$neq", "$exists"), _read_flag, _same, schemas.FLAG)
ANYTHING = FieldKind("anything", (), _same, _same, {})
"""Only shown: lists and objects."""


def words(*known: str) -> FieldKind:
    """One of a closed set."""
    read = _reader(lambda value: value in known, f"one of {', '.join(known)}")
    return FieldKind("word", (*_EQUAL, "$like"), read, _same, schemas.one_of_words(known))


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: FieldKind
    column: str = ""
    """Where the store has it; empty: it is worked out for each item."""
    nothing: Any = None
    """What that column holds for null."""
    stored: Mapping[str, tuple[str, ...]] | None = None
    """What that column holds for each word."""
    sparse: bool = False
    """The column itself may be null."""
    filters: bool = True
    sorts: bool = True
    is_shown: bool = True
    nullable: bool = False
    quotes: bool = False
    """It may quote variables: where some are hidden, only items are compared, and never what the store has."""

    def of_column(self, value: Any) -> Any:
        """The value of an item, by what the column holds."""
        if self.stored is not None:
            return next((word for word, stored in self.stored.items() if value in stored), None)
        return None if value == self.nothing else value

    def to_plain(self, value: Any) -> Any:
        return None if value is None else self.kind.write(value)

    @property
    def schema(self) -> Mapping[str, Any]:
        return schemas.nullable(self.kind.schema) if self.nullable and self.kind.schema else self.kind.schema

    @property
    def orders_rows(self) -> bool:
        """Can the store sort by it?"""
        return bool(self.column) and self.stored is None and not self.sparse


def only_shown(name: str, kind: FieldKind, column: str = "", nullable: bool = False) -> Field:
    return Field(name, kind, column, filters=False, sorts=False, nullable=nullable)
