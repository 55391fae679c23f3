"""A row becomes a message, or a dead letter with a reason; blank rows and those not wanted become nothing."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from conjoin.kernel.storable import MOST_DIGITS, whole_number
from conjoin.runtime.client_api.messages import NewMessage, unusable
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json, read_json
from conjoin.runtime.ingest.avro import NotAvro
from conjoin.runtime.ingest.dead_letters import MOST_RAW_BYTES, DeadLetter
from conjoin.runtime.ingest.mapping import PLAIN, RowMapping, Tombstones
from conjoin.runtime.ingest.value_format import AvroValues, ValueFormat, unframed_json
from conjoin.times.durations import read_duration_ms
from conjoin.times.iso8601 import read_instant

MOST_BYTES = 4 * 1024 * 1024
"""A row that is larger is no message; brokers and stores refuse such, too."""

_LARGEST_LABEL = 10**MOST_DIGITS - 1
_MARK = b"\xef\xbb\xbf"


class SourcePosition(NamedTuple):
    """Where a row stands in its source: the natural id of a message that has none."""

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


KAFKA = "kafka"
"""`kafka.key`, `kafka.topic`, `kafka.partition`, `kafka.offset`, `kafka.timestamp`, `kafka.headers.NAME`"""
TOMBSTONE = "tombstone"
"""`kafka.tombstone`, in a mapping that takes them."""
NO_VALUE = "has no value (a tombstone)"
Values = Callable[[bytes], Mapping[str, Any]]
"""What the bytes of a row say."""


def json_object(raw: bytes) -> Mapping[str, Any]:
    try:
        row = read_client_json(raw.removeprefix(_MARK))
    except NOT_JSON as error:
        raise Unusable("unreadable", f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise Unusable("unreadable", "is not an object")
    return row


def avro_object(its: ValueFormat) -> Values:
    reader = AvroValues(its)

    def read(raw: bytes) -> Mapping[str, Any]:
        try:
            row = reader.read(raw)
        except (NotAvro, *NOT_JSON) as error:
            raise Unusable("unreadable", f"is not Avro: {error}") from None
        if not isinstance(row, dict):
            raise Unusable("unreadable", "is not a record")
        return row

    return read


class RowReader:
    """Reads the rows of one source. `largest` is in bytes."""

    def __init__(self, mapping: RowMapping = PLAIN, largest: int = MOST_BYTES) -> None:
        self._mapping = mapping
        self._largest = largest
        self._avro = None if mapping.value is None else avro_object(mapping.value)

    def read(
        self, raw: bytes | None, at: SourcePosition, now: int, record: str | None = None
    ) -> NewMessage | DeadLetter | None:
        """`record` is what Kafka has around the value, as JSON. A record of it without a value is a tombstone."""
        try:
            row = self._row(raw, record)
            if row is None or not self._mapping.wants(row, now):
                return None
            message = message_of(row, self._mapping, now)
            message.message_id = message.message_id or str(at)
            return message
        except Unusable as why:
            return dead(at, why.reason, str(why), raw or b"")

    def _row(self, raw: bytes | None, record: str | None) -> Mapping[str, Any] | None:
        """What an expression sees; None: nothing that anybody wants."""
        tombstones = self._mapping.tombstones
        if raw is None and tombstones is Tombstones.SKIP:
            return None
        if raw is None and (tombstones is Tombstones.DEAD_LETTER or record is None):
            raise Unusable("unreadable", NO_VALUE)
        row = {} if raw is None else self._fields(raw, record is not None)
        if row is None or record is None:
            return row
        around = read_json(record)
        if tombstones is Tombstones.MESSAGE:
            around[TOMBSTONE] = raw is None
        return {**row, KAFKA: around}

    def _fields(self, raw: bytes, is_record: bool) -> Mapping[str, Any] | None:
        if len(raw) > self._largest:
            raise Unusable("too_large", f"has {len(raw):,} bytes, and {self._largest:,} are allowed")
        if self._avro is not None:
            return self._avro(raw)
        if not raw or raw.isspace():
            return None
        return json_object(unframed_json(raw) if is_record else raw)


def message_of(row: Mapping[str, Any], mapping: RowMapping = PLAIN, now: int = 0) -> NewMessage:
    """Raises `Unusable`."""
    given = mapping.fields_of(row, now).get
    name = given("name")
    if name is None or (isinstance(name, str) and not name.strip()):
        raise Unusable("missing_name", "has no message name")
    message = NewMessage(
        _text("name", name),
        _label("key", given("key")),
        _variables(given("variables")),
        _ttl(given("ttl")),
        _label("id", given("id")),
        _text("business_id", given("business_id")),
    )
    tenant = _text("tenant", given("tenant"))
    if tenant:
        message.tenant_id = tenant
    message.published_at = _instant(given("published_at"))
    refusal = unusable(message)
    if refusal is not None:
        raise Unusable("bad_type", refusal.text)
    return message


def dead(at: SourcePosition, reason: str, text: str, raw: bytes) -> DeadLetter:
    return DeadLetter(*at, reason, text, raw[:MOST_RAW_BYTES])


def _text(field: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise Unusable("bad_type", f"{field}: {value!r:.60} is not a text")


def as_text(value: Any) -> str | None:
    """A text, or a whole number as its text, as a waiting element's key is; None: it is neither."""
    if isinstance(value, str):
        return value
    whole = whole_number(value, _LARGEST_LABEL)
    return str(whole) if whole is not None and whole == value else None


def _label(field: str, value: Any) -> str:
    text = as_text(value)
    return _text(field, value) if text is None else text


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
    raise Unusable("bad_variables", f"variables: {value!r:.60} is not an object")


def _ttl(value: Any) -> int | None:
    if value is None:
        return None
    whole = None if isinstance(value, str) else whole_number(value)
    ms = read_duration_ms(whole if whole is not None and whole == value else value)
    if ms is None:
        raise Unusable("bad_ttl", f"ttl: {value!r:.60} is no time such as 30s, 1h or PT1H")
    return ms


def _instant(value: Any) -> int | None:
    """An ISO instant, or milliseconds since 1970 as Kafka and JavaScript write them."""
    if value is None:
        return None
    at = read_instant(value) if isinstance(value, str) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        at = value * 1_000
    if at is None:
        raise Unusable("bad_time", f"published_at: {value!r:.60} is no instant such as 2026-01-31T08:00:00Z")
    return at
