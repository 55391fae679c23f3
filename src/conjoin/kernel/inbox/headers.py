"""The `X-CORRELATE-*` headers: what a message says of itself.

Their names are read whatever the case, their values as text or bytes; of a header given twice the last one counts.
A header that cannot be read makes a dead letter of its message and never stops the others. What the headers leave open
is None.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from conjoin.kernel.inbox.message import MessageType
from conjoin.kernel.inbox.settings import encoding_name
from conjoin.times.durations import read_span_ms
from conjoin.times.iso8601 import read_instant

PREFIX = "x-correlate-"
Headers = Iterable[tuple[str, str | bytes | None]]

_VALUE_SHOWN = 200


class RejectedRow(NamedTuple):
    """A row that never becomes a message: why, which field, and the beginning of what it holds."""

    reason: str
    field: str
    value: str = ""


class MessageHeaders(NamedTuple):
    message_id: str | None = None
    event_at: int | None = None
    grace: int | None = None
    expires_at: int | None = None
    encoding: str | None = None
    type: MessageType | None = None


def read_headers(headers: Headers) -> MessageHeaders | RejectedRow:
    """What the headers of ours say; those of others are passed over."""
    ours = _ours(headers)
    if isinstance(ours, RejectedRow):
        return ours
    times: dict[str, int] = {}
    for name, (reader, reason) in _TIMES.items():
        if name in ours:
            value = reader(ours[name])
            if value is None:
                return dead_letter(reason, name, ours[name])
            times[name] = value
    type_ = _type_of(ours)
    if isinstance(type_, RejectedRow):
        return type_
    encoding = encoding_name(ours["payload-encoding"]) if "payload-encoding" in ours else None
    return MessageHeaders(
        ours.get("id"), times.get("timestamp"), times.get("ttl"), times.get("expiration"), encoding, type_
    )


def header_texts(headers: Headers) -> dict[str, str]:
    """All headers as they are kept; bytes that are no text are written as escapes."""
    return {name: _shown(value) for name, value in headers if value is not None}


def dead_letter(reason: str, field: str, value: str | bytes) -> RejectedRow:
    return RejectedRow(reason, field, _shown(value[:_VALUE_SHOWN]))


def _shown(value: str | bytes) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _ours(headers: Headers) -> dict[str, str] | RejectedRow:
    """Our headers by the part of their name after the prefix, in small letters. A blank one says nothing."""
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if value is None or not lower.startswith(PREFIX):
            continue
        try:
            text = value.decode("utf-8") if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            return dead_letter("unreadable", name, value)
        found[lower.removeprefix(PREFIX)] = text.strip()
    return {name: text for name, text in found.items() if text}


_TIMES: dict[str, tuple[Callable[[str], int | None], str]] = {
    "timestamp": (read_instant, "bad_time"),
    "expiration": (read_instant, "bad_time"),
    "ttl": (read_span_ms, "bad_ttl"),
}
"""By header: what reads it, and the reason when it cannot be read."""


def _type_of(ours: dict[str, str]) -> MessageType | RejectedRow | None:
    """The class name counts before namespace and name; a part without a name is no type."""
    namespace, name = ours.get("payloadtype-namespace", ""), ours.get("payloadtype-name", "")
    revision = ours.get("payloadtype-revision", "")
    if "payloadtype-fqcn" in ours:
        namespace, _, name = ours["payloadtype-fqcn"].rpartition(".")
    if name:
        return MessageType(namespace, name, revision)
    given = [part for part in ours if part.startswith("payloadtype-")]
    return dead_letter("missing_name", given[0], ours[given[0]]) if given else None
