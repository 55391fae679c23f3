"""Accepting: what a source brought becomes an inbox message, or is passed over, or is a dead letter.

Message headers stand over the channel, the channel over the settings. Everything that has to do with time is fixed
here, once, so that a later change of the settings does not change a message that was accepted.
"""

from typing import NamedTuple

from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.grouping import group_key_of
from conjoin.kernel.inbox.headers import DeadLetter, MessageHeaders, dead_letter, header_texts, read_headers
from conjoin.kernel.inbox.message import DEFAULT_TENANT, Hint, InboxMessage, MessageType
from conjoin.kernel.inbox.settings import InboxSettings
from conjoin.kernel.instants import ALWAYS, NEVER, after


class Arrival(NamedTuple):
    """One row of a source. `source` and `position` are its place: topic and partition with offset, file with line."""

    key: int
    source: str
    position: int
    received_at: int
    payload: bytes | None
    headers: tuple[tuple[str, str | bytes | None], ...] = ()
    tenant_id: str = DEFAULT_TENANT
    hint: Hint = Hint()
    sort_value: str | int | float | None = None
    raw: bytes = b""
    """The row, where the payload is only a part of it: a dead letter keeps it."""


class Ignored(NamedTuple):
    """Passed over: the filter of its channel does not want this type."""

    type: str


def accept(arrival: Arrival, channel: Channel, settings: InboxSettings) -> InboxMessage | Ignored | DeadLetter:
    headers = read_headers(arrival.headers)
    if isinstance(headers, DeadLetter):
        return headers
    type_ = headers.type or MessageType()
    if not channel.filter.accepts(type_):
        return Ignored(type_.full_name)
    if arrival.payload is None:
        return DeadLetter("unreadable", "payload")
    if len(arrival.payload) > settings.payload_max:
        return dead_letter("too_large", "payload", arrival.payload)
    return _message(arrival, arrival.payload, headers, channel, settings)


def id_of_place(source: str, position: int) -> str:
    """The id of a message that has none: its place. Read again, it is a duplicate of itself."""
    return f"{source}-{position}"


def _message(
    arrival: Arrival, payload: bytes, headers: MessageHeaders, channel: Channel, settings: InboxSettings
) -> InboxMessage:
    event_at = arrival.received_at if headers.event_at is None else headers.event_at
    message = InboxMessage(
        key=arrival.key,
        channel=channel.name,
        message_id=headers.message_id or id_of_place(arrival.source, arrival.position),
        payload=payload,
        event_at=event_at,
        ingested_at=arrival.received_at,
        position=arrival.position,
        tenant_id=arrival.tenant_id,
        type=headers.type or MessageType(),
        encoding=headers.encoding or channel.encoding or settings.encoding,
        headers=header_texts(arrival.headers),
        hint=arrival.hint,
        sort_value=arrival.sort_value,
        target=channel.target,
        grace_until=_grace_until(event_at, headers.grace, channel, settings),
        expires_at=_expires_at(arrival.received_at, headers, channel, settings),
    )
    return message._replace(group_key=group_key_of(message))


def _grace_until(event_at: int, own: int | None, channel: Channel, settings: InboxSettings) -> int:
    grace = next((given for given in (own, channel.grace, settings.grace) if given is not None), None)
    return ALWAYS if grace is None else after(event_at, grace)


def _expires_at(received_at: int, headers: MessageHeaders, channel: Channel, settings: InboxSettings) -> int:
    if headers.expires_at is not None:
        return headers.expires_at
    lifetime = settings.expiration if channel.expiration is None else channel.expiration
    return NEVER if lifetime is None else after(received_at, lifetime)
