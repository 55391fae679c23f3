"""Accepting: what a source brought becomes an inbox message, or is passed over, or is a dead letter.

Message headers stand over the channel, the channel over the policy of the message's name, that over the settings.
Everything that has to do with time is fixed here, once, so that a later change does not change a message that was
accepted.
"""

from typing import NamedTuple

from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.headers import (
    MessageHeaders,
    RejectedRow,
    dead_letter,
    header_texts,
    read_headers,
)
from conjoin.kernel.inbox.message import DEFAULT_TENANT, Hint, InboxMessage, MessageType
from conjoin.kernel.inbox.settings import EVENT_TIME, InboxSettings
from conjoin.kernel.instants import ALWAYS, NEVER, after
from conjoin.kernel.policies import Policies, Policy

_NO_POLICIES = Policies()


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


def accept(
    arrival: Arrival, channel: Channel, settings: InboxSettings, policies: Policies = _NO_POLICIES
) -> InboxMessage | Ignored | RejectedRow:
    """`policies` are those of the store that it comes to."""
    headers = read_headers(arrival.headers)
    if isinstance(headers, RejectedRow):
        return headers
    type_ = headers.type or MessageType()
    if not channel.filter.accepts(type_):
        return Ignored(type_.full_name)
    payload = arrival.payload
    if payload is None:
        return RejectedRow("unreadable", "payload")
    if len(payload) > settings.payload_max:
        return dead_letter("too_large", "payload", payload)
    policy = policies.of(arrival.hint.name)
    if not channel.target:
        arrival = arrival._replace(hint=_with_key(arrival.hint, policy))
    return _message(arrival, payload, headers, AcceptanceRules(channel, settings, policy))


def _with_key(hint: Hint, policy: Policy) -> Hint:
    """A hint without a key finds who waits without one: by what the policy `match` puts in the key's place."""
    if hint.correlation_key:
        return hint
    stands_in = {"business_key": hint.business_key, "variables": hint.process_instance_id}
    return hint._replace(correlation_key=stands_in.get(policy.match, ""))


def id_of_place(source: str, position: int) -> str:
    """The id of a message that has none: its place. Read again, it is a duplicate of itself."""
    return f"{source}-{position}"


class AcceptanceRules(NamedTuple):
    """Where a value comes from that the message does not name, in their order."""

    channel: Channel
    settings: InboxSettings
    policy: Policy


def _message(arrival: Arrival, payload: bytes, headers: MessageHeaders, rules: AcceptanceRules) -> InboxMessage:
    channel, settings, _ = rules
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
        grace_until=_grace_until(event_at, arrival.received_at, headers, rules),
        expires_at=_expires_at(arrival.received_at, headers, channel, settings),
    )
    return message._replace(group_key=group_key_of(message))


def _grace_until(event_at: int, received_at: int, headers: MessageHeaders, rules: AcceptanceRules) -> int:
    channel, settings, policy = rules
    since = event_at if settings.grace_from == EVENT_TIME else received_at
    given = (headers.grace, channel.grace, policy.grace, settings.grace)
    grace = next((grace for grace in given if grace is not None), None)
    return ALWAYS if grace is None else after(since, grace)


def _expires_at(received_at: int, headers: MessageHeaders, channel: Channel, settings: InboxSettings) -> int:
    if headers.expires_at is not None:
        return headers.expires_at
    lifetime = settings.expiration if channel.expiration is None else channel.expiration
    return NEVER if lifetime is None else after(received_at, lifetime)
