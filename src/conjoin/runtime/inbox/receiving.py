"""Receiving: rows of a source, or of a file, become arrivals of their channel, and those become requests to the shards.

With a mapping the payload is the row itself, and the hint is made of it, again whenever an operator corrects it.
Without one a row has the fields of a message, and its payload is `payload`, or else `variables`: whom it is for does
not depend on it. The headers of a source stand over both. A row that cannot be read is a dead letter with its raw
bytes; it stops no other.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from math import isinf
from typing import Any, BinaryIO, NamedTuple

from conjoin.errors import InputError
from conjoin.feel import compile_expression
from conjoin.kernel.inbox import InboxSettings, accept
from conjoin.kernel.inbox.accepting import Arrival, Ignored
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.headers import RejectedRow, header_texts, read_headers
from conjoin.kernel.inbox.message import Hint, Number
from conjoin.kernel.inbox.settings import EXPRESSION_MARK
from conjoin.kernel.policies import Policies
from conjoin.kernel.storable import whole_number
from conjoin.runtime.codec.json_text import NOT_JSON, json_bytes, json_text, read_client_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.mapping import FIELDS, ChannelMapping, mapped, read_mapping
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.placement import home_of, place_of, stored_group
from conjoin.runtime.inbox.requests import AT_ONCE, InboxArrivals
from conjoin.runtime.inbox.rows import Filed, text_to_keep, unstorable
from conjoin.runtime.ingest.dead_letters import MOST_RAW_BYTES, DeadLetter
from conjoin.runtime.ingest.mapping import unknown_field
from conjoin.runtime.ingest.rows import Unusable, json_object

Headers = tuple[tuple[str, str | bytes | None], ...]
Taken = Arrival | Ignored | DeadLetter
"""What a row becomes; `Reception` takes them all."""
JSON_LINES, CSV = "jsonl", "csv"
FORMATS = (JSON_LINES, CSV)

_ENDINGS = {".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".json": JSON_LINES, ".csv": CSV}
_LONGEST_VALUE = 64 * 1_048_576
_JSON = "json"
_HEADERS, _PAYLOAD = "headers", "payload"
_NOT_WANTED = Ignored("")
_LARGEST = 1.7976931348623157e308


class Row(NamedTuple):
    """`source` and `position` say where it stands; `problem` why its source could not read it."""

    source: str
    position: int
    raw: bytes
    headers: Headers = ()
    problem: str = ""


class ChannelRows:
    """Reads the rows of one channel. Its mapping was checked when the configuration was read."""

    def __init__(self, channel: Channel, settings: InboxSettings) -> None:
        self._channel = channel
        self._settings = settings
        self._mapping = _mapping(json_text(dict(channel.mapping))) if channel.mapping else None

    def take(self, row: Row, now: int) -> Taken:
        try:
            if row.problem:
                raise Unusable("unreadable", row.problem)
            if len(row.raw) > self._settings.payload_max:
                raise Unusable("too_large", f"has {len(row.raw):,} bytes, more than {self._settings.payload_max:,}")
            return self._plain(row, now) if self._mapping is None else self._mapped(self._mapping, row, now)
        except Unusable as why:
            return _dead_letter(self._channel, row, why.reason, str(why), row.raw)

    def hint_of(self, payload: bytes, headers: Mapping[str, str], now: int) -> Hint | None:
        """The hint of another payload; None: there is no mapping. `Unusable` when it cannot be read."""
        if self._mapping is None:
            return None
        return self._mapping.map(self._seen(payload, tuple(headers.items())), now).hint

    def _mapped(self, mapping: ChannelMapping, row: Row, now: int) -> Taken:
        seen = self._seen(row.raw, row.headers)
        if not mapping.wants(seen, now):
            return _NOT_WANTED
        hint, headers, tenant_id = mapping.map(seen, now)
        return Arrival(0, row.source, row.position, now, row.raw, (*headers, *row.headers), tenant_id, hint)

    def _seen(self, raw: bytes, headers: Headers) -> dict[str, Any]:
        """What an expression sees: the object, and `headers`. Of another encoding than JSON only those."""
        read = read_headers(headers)
        own = None if isinstance(read, RejectedRow) else read.encoding
        seen = dict(json_object(raw)) if (own or self._channel.encoding or self._settings.encoding) == _JSON else {}
        return {**seen, _HEADERS: header_texts(headers)} if headers else seen

    def _plain(self, row: Row, now: int) -> Arrival:
        fields = dict(json_object(row.raw))
        own, payload = _own_headers(fields.pop(_HEADERS, None)), fields.pop(_PAYLOAD, None)
        hint, headers, tenant_id = mapped(_by_our_names(fields))
        if payload is None:
            # The variables are then read from it, when the message is tried.
            payload, hint = dict(hint.variables), hint._replace(variables={})
        content = payload.encode("utf-8", "replace") if isinstance(payload, str) else json_bytes(payload)
        every = (*headers, *own, *row.headers)
        return Arrival(0, row.source, row.position, now, content, every, tenant_id, hint, raw=row.raw)


def _by_our_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A field of another name is taken for a typing error."""
    given: dict[str, Any] = {}
    for spelling, value in fields.items():
        if spelling not in FIELDS:
            raise Unusable("bad_type", unknown_field(spelling, (*FIELDS, _HEADERS, _PAYLOAD)))
        if value is not None and FIELDS[spelling] in given:
            raise Unusable("bad_type", f"{spelling}: {FIELDS[spelling]} is given twice")
        if value is not None:
            given[FIELDS[spelling]] = value
    return given


@lru_cache(maxsize=64)
def _mapping(written: str) -> ChannelMapping:
    """Compiled once in a process."""
    return read_mapping(json_object(written.encode()))[0]


def _own_headers(written: Any) -> tuple[tuple[str, str], ...]:
    if written is None:
        return ()
    if not isinstance(written, Mapping) or not all(isinstance(value, str) for value in written.values()):
        raise Unusable("bad_type", "headers: is not an object of texts")
    return tuple(written.items())


def _dead_letter(channel: Channel, at: Row | Arrival, reason: str, text: str, raw: bytes) -> DeadLetter:
    return DeadLetter(channel.name, at.source, at.position, reason, text_to_keep(text), raw[:MOST_RAW_BYTES])


def format_of(name: str) -> str | None:
    """Of a file, by what its name ends with."""
    return next((format_ for ending, format_ in _ENDINGS.items() if name.lower().endswith(ending)), None)


def read_rows(lines: BinaryIO, source: str, format_: str) -> Iterator[Row]:
    """Of a file: lines of JSON, or CSV with a header, of which each row is an object of texts.

    Rows are numbered from 1 as they stand in the file. Blank lines are skipped. One that cannot be read says why, and
    those behind it are read.
    """
    if format_ == JSON_LINES:
        yield from (Row(source, number, line) for number, line in enumerate(lines, 1) if line.strip())
        return
    # Bytes that are no text are kept, so that only their row is refused.
    text = io.TextIOWrapper(lines, "utf-8-sig", "surrogateescape", newline="")
    try:
        yield from _csv_rows(text, source)
    finally:
        text.detach()


def _csv_rows(text: io.TextIOWrapper, source: str) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_VALUE)
    consumed: list[str] = []

    def raw() -> bytes:
        return "".join(consumed).rstrip("\r\n").encode("utf-8", "surrogateescape")

    def noted() -> Iterator[str]:
        for line in text:
            consumed.append(line)
            yield line

    reader = csv.reader(noted(), strict=True)
    header = _header(reader, source)
    for number in count(1):
        consumed.clear()
        try:
            values = next(reader, None)
        except csv.Error as error:
            yield Row(source, number, raw(), problem=str(error))
            continue
        if values is None:
            return
        if values:
            yield _csv_row(Row(source, number, raw()), header, values)


def _header(reader: Iterator[list[str]], source: str) -> list[str]:
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise InputError([f"{source}: the header cannot be read: {error}"]) from None
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError([f"{source}: the header names {', '.join(map(repr, twice))} twice"])
    return header


def _csv_row(row: Row, header: list[str], values: list[str]) -> Row:
    """As an object. An empty value is null."""
    if len(values) != len(header):
        return row._replace(problem=f"has {len(values)} values, and the header has {len(header)}")
    try:
        return row._replace(raw=json_bytes({name: it or None for name, it in zip(header, values, strict=True)}))
    except UnicodeEncodeError:
        return row._replace(problem="is not UTF-8")


@dataclass(slots=True)
class Reception:
    """Takes the rows of one channel, and makes requests to the shards of them. `policies` are those of the store."""

    channel: Channel
    settings: InboxSettings
    shards: int
    policies: Policies
    counts: Counts = field(default_factory=Counts)
    """What never becomes an arrival; the shards count the rest."""
    _arrivals: dict[int, list[Filed]] = field(default_factory=dict)
    _dead_letters: dict[int, list[DeadLetter]] = field(default_factory=dict)

    def take(self, arrivals: Iterable[Taken]) -> None:
        for arrival in arrivals:
            if not self.channel.enabled:
                self.counts += Counts(received=1, dropped=1)
            elif isinstance(arrival, Ignored):
                self.counts += Counts(received=1, ignored=1)
            elif isinstance(arrival, DeadLetter):
                self._keep(arrival)
            else:
                self._accept(arrival)

    @property
    def rejected(self) -> list[DeadLetter]:
        """Those that are no message."""
        return [letter for some in self._dead_letters.values() for letter in some]

    def requests(self) -> Iterable[tuple[int, InboxArrivals]]:
        """Each with its shard, a bounded number of messages in one."""
        for shard in sorted({*self._arrivals, *self._dead_letters}):
            arrivals, letters = self._arrivals.get(shard, []), self._dead_letters.get(shard, [])
            for start in range(0, max(len(arrivals), len(letters)), AT_ONCE):
                some = slice(start, start + AT_ONCE)
                yield shard, InboxArrivals(arrivals[some], letters[some])

    def _accept(self, arrival: Arrival) -> None:
        if self.settings.order.startswith(EXPRESSION_MARK) and arrival.sort_value is None:
            arrival = arrival._replace(sort_value=_sort_value(self.settings.order, arrival))
        accepted = accept(arrival, self.channel, self.settings, self.policies)
        if isinstance(accepted, Ignored):
            self.counts += Counts(received=1, ignored=1)
            return
        if isinstance(accepted, RejectedRow):
            self._bury(arrival, accepted.reason, f"{accepted.field}: {accepted.value}".rstrip(": "))
            return
        group_key, sort_value = stored_group(accepted.group_key), _finite(accepted.sort_value)
        message = accepted._replace(group_key=group_key, sort_value=sort_value)
        problem = unstorable(message)
        if problem is not None:
            self._bury(arrival, "bad_type", problem)
        elif not message.target and not message.hint.name.strip():
            self._bury(arrival, "missing_name", "name: a message for our own engine has one")
        else:
            filed = Filed(message, place_of(message, self.settings))
            self._arrivals.setdefault(home_of(message, self.shards), []).append(filed)

    def _bury(self, arrival: Arrival, reason: str, text: str) -> None:
        self._keep(_dead_letter(self.channel, arrival, reason, text, arrival.raw or arrival.payload or b""))

    def _keep(self, letter: DeadLetter) -> None:
        self._dead_letters.setdefault(shard_of(letter.part, self.shards), []).append(letter)


def _finite(value: str | Number | None) -> str | Number | None:
    """JSON knows no infinity."""
    return min(max(value, -_LARGEST), _LARGEST) if isinstance(value, float) and isinf(value) else value


_compiled = lru_cache(maxsize=16)(lambda text: compile_expression(text).stored())


def _sort_value(order: str, arrival: Arrival) -> str | float | None:
    """The value of the order's expression for the payload; None for one that cannot be read."""
    try:
        row = read_client_json(arrival.payload or b"{}")
    except NOT_JSON:
        return None
    value = _compiled(order.removeprefix(EXPRESSION_MARK))(row if isinstance(row, dict) else {}, arrival.received_at)
    if isinstance(value, str):
        return value
    whole = whole_number(value)
    try:
        return whole if whole is not None and whole == value else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
