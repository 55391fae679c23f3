"""The mapping of a channel: which part of a row is which part of an inbox message, as texts or FEEL expressions.

    name: "= type"                a text that begins with = is an expression over the row
    key: "= order.id"
    group: shop-7                 anything else is meant as it is written
    only: "= type != null"        rows for which this is not true are ignored

Its fields are those of a hint, and what the headers of a message may say. It reads neither sources nor stores. All
problems of a mapping are told at once, before any row is read.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.kernel.inbox.message import DEFAULT_TENANT, Hint
from conjoin.kernel.inbox.settings import EXPRESSION_MARK
from conjoin.kernel.instants import NEVER
from conjoin.runtime.inbox.receiving.hints import SPELLINGS, as_text, read_hint
from conjoin.runtime.ingest.rows import Unusable
from conjoin.times.iso8601 import instant_text

HEADERS = {
    "id": "X-CORRELATE-ID",
    "timestamp": "X-CORRELATE-Timestamp",
    "grace": "X-CORRELATE-TTL",
    "expiration": "X-CORRELATE-Expiration",
    "type": "X-CORRELATE-PayloadType-FQCN",
}
"""Fields that say what a header says; a message's own headers stand over them."""
TENANT, ONLY = "tenant", "only"
_INSTANTS = ("timestamp", "expiration")
_OTHERWISE = {"message_id": "id", "tenant_id": TENANT}
"""Of a row, id and tenant are the message's own; those of a hint follow them."""

FIELDS = {spelling: _OTHERWISE.get(field, field) for spelling, field in SPELLINGS.items()} | {
    field: field for field in (*HEADERS, TENANT)
}
"""Our fields in all spellings."""

Value = Callable[[Mapping[str, Any], int], Any]
"""What a row says about a field, at an instant."""


class MappedRow(NamedTuple):
    hint: Hint
    headers: tuple[tuple[str, str], ...]
    tenant_id: str


@dataclass(frozen=True, slots=True)
class ChannelMapping:
    values: Mapping[str, Value]
    only: Value | None = None

    def wants(self, row: Mapping[str, Any], now: int) -> bool:
        return self.only is None or self.only(row, now) is True

    def map(self, row: Mapping[str, Any], now: int) -> MappedRow:
        """`Unusable` when a field is not what it must be."""
        return mapped({field: value(row, now) for field, value in self.values.items()})


def read_mapping(written: Mapping[str, Any]) -> tuple[ChannelMapping, list[str]]:
    """The mapping, and every problem found in it."""
    problems: list[str] = []
    values: dict[str, Value] = {}
    for spelling, text in written.items():
        field = ONLY if spelling == ONLY else FIELDS.get(spelling)
        if field is None:
            problems.append(unknown_field(spelling, (*FIELDS, ONLY)))
        elif field in values:
            problems.append(f"{spelling}: {field} is given twice")
        else:
            values[field], problem = _read_value(field, text)
            problems += [f"{spelling}: {problem}"] if problem else []
    only = values.pop(ONLY, None)
    return ChannelMapping(values, only), problems


def mapped(said: Mapping[str, Any]) -> MappedRow:
    """Of what is said of each field; null says nothing."""
    given = {field: value for field, value in said.items() if value is not None}
    tenant_id = _text(TENANT, given.pop(TENANT, "")) or DEFAULT_TENANT
    headers = tuple((HEADERS[field], _header(field, given.pop(field))) for field in HEADERS if field in given)
    try:
        return MappedRow(read_hint(given), headers, tenant_id)
    except InputError as error:
        raise Unusable("bad_type", "; ".join(error.problems)) from None


def unknown_field(spelling: object, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(spelling), known, n=1)
    return f"{spelling}: there is no such field" + (f"; did you mean {near[0]}?" if near else "")


def _read_value(field: str, text: Any) -> tuple[Value, str]:
    """What reads the field, and what is wrong with it, if anything."""
    problem = ""
    if isinstance(text, str) and text.lstrip().startswith(EXPRESSION_MARK):
        try:
            return compile_expression(text.lstrip().removeprefix(EXPRESSION_MARK)).stored(), ""
        except FeelSyntaxError as error:
            problem = str(error)
    elif field == ONLY:
        problem = f"is not an expression: it begins with {EXPRESSION_MARK}"
    else:
        try:
            mapped({field: text})
        except Unusable as why:
            problem = str(why).removeprefix(f"{field}: ")
    return (lambda row, now: text), problem


def _header(field: str, value: Any) -> str:
    if field in _INSTANTS and isinstance(value, int) and not isinstance(value, bool) and abs(value) < NEVER // 1_000:
        # Milliseconds since 1970, as Kafka and JavaScript write them.
        return instant_text(value * 1_000)
    return _text(field, value)


def _text(field: str, value: Any) -> str:
    text = as_text(value)
    if text is None:
        raise Unusable("bad_type", f"{field}: {value!r:.60} is not a text")
    return text
