"""The mapping of a channel: which part of a row is which part of an inbox message, as texts or FEEL expressions.

    name: "= type"                a text that begins with = is an expression over the row
    key: "= order.id"
    group: shop-7                 anything else is meant as it is written
    only: "= type != null"        rows for which this is not true are ignored

Its fields are those of a hint, with our names or those of Camunda's APIs, and what the headers of a message may say.
For an id or a key a whole number is its text; an object or a flag may be given as text, as in a table of texts. All
problems of a mapping or a hint are reported at once.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from conjoin.errors import MOST_PROBLEMS, InputError
from conjoin.kernel.inbox.message import DEFAULT_TENANT, Hint
from conjoin.kernel.instants import NEVER
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.ingest.mapping import ONLY, RowMapping, Value, read_value, unknown_field
from conjoin.runtime.ingest.rows import Unusable, as_text
from conjoin.times.iso8601 import instant_text

HINT_FIELDS = {
    **{field: field for field in Hint._fields},
    **{"messageName": "name", "key": "correlation_key", "correlationKey": "correlation_key", "id": "message_id"},
    **{"messageId": "message_id", "correlationVariables": "correlation_variables", "businessKey": "business_key"},
    **{"correlationKeys": "correlation_variables", "processVariables": "variables", "tenantId": "tenant_id"},
    **{"processDefinitionId": "process_definition_id", "processInstanceId": "process_instance_id"},
    **{"executionId": "execution_id", "isStart": "is_start", "tenant": "tenant_id"},
}
"""The fields of a hint in all spellings."""
HEADERS = {
    "id": "X-CORRELATE-ID",
    "timestamp": "X-CORRELATE-Timestamp",
    "grace": "X-CORRELATE-TTL",
    "expiration": "X-CORRELATE-Expiration",
    "type": "X-CORRELATE-PayloadType-FQCN",
}
"""Fields that say what a header says; a message's own headers stand over them."""
TENANT = "tenant"
_INSTANTS = ("timestamp", "expiration")
_OTHERWISE = {"message_id": "id", "tenant_id": TENANT}
"""Of a row, id and tenant are the message's own; those of a hint follow them."""

FIELDS = {spelling: _OTHERWISE.get(field, field) for spelling, field in HINT_FIELDS.items()} | {
    field: field for field in (*HEADERS, TENANT)
}
"""The fields of a row in all spellings."""


class MappedRow(NamedTuple):
    hint: Hint
    headers: tuple[tuple[str, str], ...]
    tenant_id: str


class ChannelMapping(RowMapping):
    __slots__ = ()

    def map(self, row: Mapping[str, Any], now: int) -> MappedRow:
        """`Unusable` when a field is not what it must be."""
        return mapped(self.fields_of(row, now))


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
            values[field], problem = read_value(field, text, _problem_of)
            problems += [f"{spelling}: {problem}"] if problem else []
    only = values.pop(ONLY, None)
    return ChannelMapping(values, only), problems


def mapped(fields: Mapping[str, Any]) -> MappedRow:
    """Of the values of a row by field; null is not given."""
    given = {field: value for field, value in fields.items() if value is not None}
    tenant_id = _text(TENANT, given.pop(TENANT, "")) or DEFAULT_TENANT
    headers = tuple((HEADERS[field], _header(field, given.pop(field))) for field in HEADERS if field in given)
    try:
        return MappedRow(read_hint(given), headers, tenant_id)
    except InputError as error:
        raise Unusable("bad_type", "; ".join(error.problems)) from None


def _problem_of(field: str, text: Any) -> str:
    try:
        mapped({field: text})
    except Unusable as why:
        return str(why).removeprefix(f"{field}: ")
    return ""


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


def read_hint(written: Mapping[str, Any], before: Hint | None = None) -> Hint:
    """A hint, or `before` with these changes. Raises `InputError` with everything that is wrong."""
    problems: list[str] = []
    read: dict[str, Any] = {}
    for spelling, value in written.items():
        field = HINT_FIELDS.get(spelling)
        if len(problems) > MOST_PROBLEMS:
            break
        if field is None:
            problems.append(unknown_field(spelling, HINT_FIELDS, "a hint has no such field"))
        elif field in read:
            problems.append(f"{spelling}: {field} is given twice")
        else:
            wanted, reader = _WANTED.get(field, ("a text", as_text))
            read[field] = reader(value)
            problems += [f"{field}: {value!r:.60} is not {wanted}"] if read[field] is None else []
    if problems:
        raise InputError(problems)
    return (before or Hint())._replace(**read)


def _object(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = read_client_json(value)
        except NOT_JSON:
            return None
    return value if isinstance(value, Mapping) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))


_WANTED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("variables", "correlation_variables"), ("an object", _object)),
    "is_start": ("true or false", _flag),
}
"""Of the fields of a hint that are not texts: what they are, and what reads them."""
