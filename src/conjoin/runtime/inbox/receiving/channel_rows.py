"""A row of a source becomes an arrival of its channel, or a dead letter with a reason; or its mapping does not want it.

With a mapping the payload is the row itself, and the hint is made of it, again whenever a person corrects it. Without
one a row has the fields of a message, and its payload is `payload`, or else `variables`: whom it is for does not depend
on it. What a source gives as headers stands over both.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.accepting import Arrival, Ignored
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.headers import RejectedRow as BadHeader
from conjoin.kernel.inbox.headers import header_texts, read_headers
from conjoin.kernel.inbox.message import Hint
from conjoin.runtime.codec.json_text import json_bytes, json_text
from conjoin.runtime.inbox.mapping import FIELDS, ChannelMapping, mapped, read_mapping, unknown_field
from conjoin.runtime.inbox.on_shard.offers import JSON
from conjoin.runtime.inbox.rows import text_to_keep
from conjoin.runtime.ingest.dead_letters import MOST_RAW_BYTES, DeadLetter
from conjoin.runtime.ingest.rows import Unusable, json_object

Headers = tuple[tuple[str, str | bytes | None], ...]
Taken = Arrival | Ignored | DeadLetter
"""What a row comes to; `Reception` takes them all."""

_HEADERS, _PAYLOAD = "headers", "payload"
_NOT_WANTED = Ignored("")


class Row(NamedTuple):
    """`source` and `position` are its place; `problem` says why its source could not read it."""

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
            place = (self._channel.name, row.source, row.position)
            return DeadLetter(*place, why.reason, text_to_keep(str(why)), row.raw[:MOST_RAW_BYTES])

    def hint_of(self, payload: bytes, headers: Mapping[str, str], now: int) -> Hint | None:
        """Whom another payload is for; None: it does not say. `Unusable` when it cannot be read."""
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
        said = read_headers(headers)
        own = None if isinstance(said, BadHeader) else said.encoding
        seen = dict(json_object(raw)) if (own or self._channel.encoding or self._settings.encoding) == JSON else {}
        return {**seen, _HEADERS: header_texts(headers)} if headers else seen

    def _plain(self, row: Row, now: int) -> Arrival:
        said = dict(json_object(row.raw))
        own, payload = _own_headers(said.pop(_HEADERS, None)), said.pop(_PAYLOAD, None)
        hint, headers, tenant_id = mapped(_given(said))
        if payload is None:
            # The variables are then read from it, when the message is tried.
            payload, hint = dict(hint.variables), hint._replace(variables={})
        content = payload.encode("utf-8", "replace") if isinstance(payload, str) else json_bytes(payload)
        every = (*headers, *own, *row.headers)
        return Arrival(0, row.source, row.position, now, content, every, tenant_id, hint, raw=row.raw)


def _given(said: Mapping[str, Any]) -> dict[str, Any]:
    """By our own names. A field of another name is a slip of the pen."""
    given: dict[str, Any] = {}
    for spelling, value in said.items():
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


def _own_headers(said: Any) -> tuple[tuple[str, str], ...]:
    if said is None:
        return ()
    if not isinstance(said, Mapping) or not all(isinstance(value, str) for value in said.values()):
        raise Unusable("bad_type", "headers: is not an object of texts")
    return tuple(said.items())
