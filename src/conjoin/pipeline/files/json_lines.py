"""JSON lines as rows: each line an object whose fields are texts, beside what they were in JSON.

Nothing is rewritten: `1.50` is the text `1.50`, a nested value the JSON it was. A column whose values are all whole
numbers, numbers or truth values can be read as such; one in which they are mixed stays text.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import msgspec

from conjoin.errors import InputError
from conjoin.pipeline.correlate.columns import TABLES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_read = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
TEXT, WHOLE, FRACTION, TRUTH = "string", "bigint", "double", "boolean"
_KEPT_AS_TEXT = ("text", "checked_text", "instant", "json", "texts")


@dataclass(slots=True)
class ParsedLine:
    """The fields of a line, or why it is no row."""

    fields: dict[str, str | None] | None
    unreadable: str | None = None
    why: str | None = None


@dataclass(slots=True)
class FieldKinds:
    """What the values of each field were, over many lines."""

    seen: dict[str, set[str]] = field(default_factory=dict)

    def add(self, name: str, kind: str | None) -> None:
        kinds = self.seen.setdefault(name, set())
        if kind is not None:
            kinds.add(kind)

    def merge(self, name: str, kinds: Iterable[str]) -> None:
        self.seen.setdefault(name, set()).update(kinds)

    def types(self, table: str) -> dict[str, str]:
        """Columns in their order: ours, then others by name; all of ours when there is no line at all."""
        reads = {contract.name: contract.read for contract in TABLES[table]}
        known = [name for name in reads if name in self.seen or not self.seen]
        columns = known + sorted(set(self.seen).difference(known))
        by_small = {name.lower(): name for name in columns}
        unclear = [f"{by_small[name.lower()]} and {name}" for name in columns if by_small[name.lower()] != name]
        if unclear:
            raise InputError([f"{table}: names of fields differ in case only: {', '.join(unclear)}"])
        return {name: _type_of(self.seen.get(name, set()), reads.get(name)) for name in columns}


def _type_of(kinds: set[str], read: str | None) -> str:
    """Columns that are read as text stay so, whatever a day's lines hold: the next day's may hold others."""
    if read in _KEPT_AS_TEXT:
        return TEXT
    if kinds == {FRACTION, WHOLE}:
        return FRACTION
    return kinds.copy().pop() if len(kinds) == 1 else TEXT


def parsed_lines(lines: Iterable[bytes], kinds: FieldKinds) -> Iterator[ParsedLine | None]:
    """None for a line without anything in it."""
    for line in lines:
        text = line.removeprefix(_BYTE_ORDER_MARK)
        if not text or text.isspace():
            yield None
            continue
        try:
            fields = {}
            for name, value in _read(text).items():
                fields[name], kind = _text_and_kind(bytes(value))
                kinds.add(name, kind)
            yield ParsedLine(fields)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield ParsedLine(None, text.decode("utf-8", "replace"), str(error))


def _text_and_kind(value: bytes) -> tuple[str | None, str | None]:
    """A string without its quotes, null as null, anything else as it was written."""
    first = value[:1]
    if first == b'"':
        return msgspec.json.decode(value, type=str), TEXT
    if value == b"null":
        return None, None
    text = value.decode()
    if first in b"tf":
        return text, TRUTH
    return text, TEXT if first in b"{[" else _kind_of_number(text)


def _kind_of_number(text: str) -> str:
    """A number that no type of ours holds exactly stays the text it is."""
    if len(text) < 19 and text.lstrip("-").isdigit() and text != "-0":
        return WHOLE
    if len(text) > 40:
        return TEXT
    if text.lstrip("-").isdigit():
        return WHOLE if -(2**63) <= int(text) < 2**63 else TEXT
    number = float(text)
    return FRACTION if math.isfinite(number) and Decimal(repr(number)) == Decimal(text) else TEXT
