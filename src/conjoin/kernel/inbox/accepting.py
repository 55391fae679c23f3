"""Accepting: what a source brought becomes an inbox message, or is passed over, or is a dead letter.

Message headers stand over the channel, the channel over the policy of the message's name, that over the settings.
Everything that has to do with time is fixed here, once, so that a later change does not change a message that was
accepted.
"""

from typing import NamedTuple

from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.headers import RejectedRow, dead_letter, header_texts, read_headers
from conjoin.kernel.inbox.message import DEFAULT_TENANT, Hint, InboxMessage, MessageType, Number
from conjoin.kernel.inbox.settings import EVENT_TIME, InboxSettings
from conjoin.kernel.instants import ALWAYS, NEVER, after
from conjoin.kernel.policies import Policies, Policy

_NO_POLICIES = Policies()


class Arrival(NamedTuple):
    """One row of a source. `source` and `position` say where: topic and partition with offset, file with line."""

    key: int
    source: str
    position: int
    received_at: int
    payload: bytes | None
    headers: tuple[tuple[str, str | bytes | None], ...] = ()
    tenant_id: str = DEFAULT_TENANT
    hint: Hint = Hint()
    sort_value: str | Number | None = None
    raw: bytes = b""
    """The row, where the payload is only a part of it: a dead letter keeps it."""


class Ignored(NamedTuple):
    """The filter of its channel does not want this type."""

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
    event_at = arrival.received_at if headers.event_at is None else headers.event_at
    grace_since = event_at if settings.grace_from == EVENT_TIME else arrival.received_at
    graces = (headers.grace, channel.grace, policy.grace, settings.grace)
    grace = next((grace for grace in graces if grace is not None), None)
    lifetime = settings.expiration if channel.expiration is None else channel.expiration
    expires_at = NEVER if lifetime is None else after(arrival.received_at, lifetime)
    message = InboxMessage(
        key=arrival.key,
        channel=channel.name,
        # Without an id its position is the id: a row that is read again is a duplicate of itself.
        message_id=headers.message_id or f"{arrival.source}-{arrival.position}",
        payload=payload,
        event_at=event_at,
        ingested_at=arrival.received_at,
        position=arrival.position,
        tenant_id=arrival.tenant_id,
        type=type_,
        encoding=headers.encoding or channel.encoding or settings.encoding,
        headers=header_texts(arrival.headers),
        hint=arrival.hint if channel.target else _with_key(arrival.hint, policy),
        sort_value=arrival.sort_value,
        target=channel.target,
        grace_until=ALWAYS if grace is None else after(grace_since, grace),
        expires_at=expires_at if headers.expires_at is None else headers.expires_at,
    )
    return message._replace(group_key=group_key_of(message))


def _with_key(hint: Hint, policy: Policy) -> Hint:
    """A hint without a key finds a wait without one: by what the policy `match` puts in the key's place."""
    if hint.correlation_key:
        return hint
    stands_in = {"business_key": hint.business_key, "variables": hint.process_instance_id}
    return hint._replace(correlation_key=stands_in.get(policy.match, ""))
