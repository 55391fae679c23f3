"""A row becomes a message, or a dead letter with a reason; blank rows and those not wanted become nothing."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from conjoin.kernel.storable import MOST_DIGITS, whole_number
from conjoin.runtime.client_api.messages import NewMessage, unusable
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.ingest.dead_letters import MOST_RAW_BYTES, DeadLetter
from conjoin.runtime.ingest.mapping import PLAIN, RowMapping
from conjoin.times.durations import read_duration_ms
from conjoin.times.iso8601 import read_instant

MOST_BYTES = 4 * 1024 * 1024
"""A row that is larger is no message; brokers and stores refuse such, too."""

_LARGEST_LABEL = 10**MOST_DIGITS - 1
_MARK = b"\xef\xbb\xbf"


class SourcePosition(NamedTuple):
    """Where a row stands. A place is the natural id of what stands there."""

    source: str
    part: str
    position: int

    def __str__(self) -> str:
        # A source without parts would otherwise give the ids of any other.
        return f"{self.part or self.source}:{self.position}"


class Unusable(Exception):  # noqa: N818 - the name says what is the matter
    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        super().__init__(text)


Envelope = Callable[[bytes], Mapping[str, Any]]
"""What of a row an expression sees, made of its bytes."""


def json_object(raw: bytes) -> Mapping[str, Any]:
    try:
        row = read_client_json(raw.removeprefix(_MARK))
    except NOT_JSON as error:
        raise Unusable("unreadable", f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise Unusable("unreadable", "is not an object")
    return row


class RowReader:
    """Reads the rows of one source. `largest` is in bytes."""

    def __init__(self, mapping: RowMapping = PLAIN, largest: int = MOST_BYTES) -> None:
        self._mapping = mapping
        self._largest = largest

    def read(
        self, raw: bytes, place: SourcePosition, now: int, envelope: Envelope = json_object
    ) -> NewMessage | DeadLetter | None:
        try:
            if len(raw) > self._largest:
                raise Unusable("too_large", f"has {len(raw):,} bytes, and {self._largest:,} are allowed")
            if not raw or raw.isspace():
                return None
            row = envelope(raw)
            if not self._mapping.wants(row, now):
                return None
            message = message_of(row, self._mapping, now)
            message.message_id = message.message_id or str(place)
            return message
        except Unusable as why:
            return dead(place, why.reason, str(why), raw)


def message_of(row: Mapping[str, Any], mapping: RowMapping = PLAIN, now: int = 0) -> NewMessage:
    """What a row says of a message; `Unusable` when it is none."""
    said = mapping.said(row, now).get
    message = NewMessage(
        _name(said("name")),
        _label("key", said("key")),
        _variables(said("variables")),
        _ttl(said("ttl")),
        _label("id", said("id")),
        _text("business_id", said("business_id")),
    )
    tenant = _text("tenant", said("tenant"))
    if tenant:
        message.tenant_id = tenant
    message.published_at = _instant(said("published_at"))
    refusal = unusable(message)
    if refusal is not None:
        raise Unusable("bad_type", refusal.text)
    return message


def dead(place: SourcePosition, reason: str, text: str, raw: bytes) -> DeadLetter:
    return DeadLetter(*place, reason, text, raw[:MOST_RAW_BYTES])


def _name(value: Any) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise Unusable("missing_name", "has no message name")
    return _text("name", value)


def _text(field: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise Unusable("bad_type", f"{field}: {_cut(value)} is not a text")


def _label(field: str, value: Any) -> str:
    """A whole number is written as its text, as a waiting element's key is."""
    if isinstance(value, str):
        return value
    whole = whole_number(value, _LARGEST_LABEL)
    return str(whole) if whole is not None and whole == value else _text(field, value)


def _variables(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = read_client_json(value)
        except NOT_JSON as error:
            raise Unusable("bad_variables", f"variables: not JSON: {error}") from None
    if isinstance(value, dict):
        return value
    raise Unusable("bad_variables", f"variables: {_cut(value)} is not an object")


def _ttl(value: Any) -> int | None:
    if value is None:
        return None
    whole = None if isinstance(value, str) else whole_number(value)
    ms = read_duration_ms(whole if whole is not None and whole == value else value)
    if ms is None:
        raise Unusable("bad_ttl", f"ttl: {_cut(value)} is no time such as 30s, 1h or PT1H")
    return ms


def _instant(value: Any) -> int | None:
    """An ISO instant, or milliseconds since 1970 as Kafka and JavaScript write them."""
    if value is None:
        return None
    at = read_instant(value) if isinstance(value, str) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        at = value * 1_000
    if at is None:
        raise Unusable("bad_time", f"published_at: {_cut(value)} is no instant such as 2026-01-31T08:00:00Z")
    return at


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
