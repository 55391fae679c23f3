"""The columns of an inbox that is a table: a row a message, with all that the rules need to go on with it.

Inside a job instants are numbers (microseconds since 1970); in the table they are timestamps, and null is never, always
or not yet. A row that could not be read stays in the table as a dead letter, so that it is told once.
"""

from typing import Any, NamedTuple

import pyarrow as pa

from conjoin.kernel.inbox import InboxMessage, InboxSettings, due_at_of
from conjoin.kernel.inbox.message import Ending, Fault, Hint, MessageType
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.inbox.rows import content_of, text_to_keep

DEAD_LETTER = "dead_letter"
"""The state of a row that never became a message: `error_kind` and `error_text` say why, `payload` is the row."""
LETTER, PERSISTED, DUPLICATE = "dead_lettered", "persisted", "duplicate"
"""Outcomes of what arrived; a duplicate leaves no row."""
INSTANTS = (
    *("event_at", "ingested_at", "grace_until", "expires_at"),
    *("due_at", "next_retry_at", "tried_at", "decided_at"),
)


class TableRow(NamedTuple):
    """`outcome` is what the last run did with it: taken in, tried, ended; null if it was left as it was."""

    key: int
    channel: str
    tenant_id: str
    message_id: str
    name: str
    correlation_key: str
    group_key: str
    position: int
    event_at: int
    ingested_at: int
    grace_until: int | None = None
    expires_at: int | None = None
    state: str = ""
    attempts: int = 0
    due_at: int | None = None
    next_retry_at: int | None = None
    tried_at: int | None = None
    error_kind: str | None = None
    error_text: str | None = None
    parked_for: str | None = None
    verdict: str | None = None
    reason: str | None = None
    decided_at: int | None = None
    taken_by: str | None = None
    subscription_ids: list[str] | None = None
    sort_value: str | None = None
    about: str = ""
    """Type, encoding, headers and the rest of the hint, as JSON."""
    payload: bytes = b""
    outcome: str | None = None


def _kind(name: str) -> pa.DataType:
    if name == "payload":
        return pa.binary()
    if name == "subscription_ids":
        return pa.list_(pa.string())
    return pa.int64() if name in INSTANTS or name in ("key", "position", "attempts") else pa.string()


SCHEMA = pa.schema([(name, _kind(name)) for name in TableRow._fields])


def row_of_message(its: InboxMessage, settings: InboxSettings) -> TableRow:
    fault, ending = its.error, its.ending
    return TableRow(
        key=its.key,
        channel=its.channel,
        tenant_id=its.tenant_id,
        message_id=its.message_id,
        name=its.hint.name,
        correlation_key=its.hint.correlation_key,
        group_key=its.group_key,
        position=its.position,
        event_at=its.event_at,
        ingested_at=its.ingested_at,
        grace_until=None if its.grace_until == ALWAYS else its.grace_until,
        expires_at=None if its.expires_at == NEVER else its.expires_at,
        state=its.state,
        attempts=its.attempts,
        due_at=due_at_of(its, settings),
        next_retry_at=its.next_retry_at,
        tried_at=its.tried_at,
        error_kind=fault and fault.kind,
        error_text=fault and text_to_keep(fault.text),
        parked_for=its.parked_for or None,
        verdict=ending and ending.verdict,
        reason=ending and ending.reason,
        decided_at=ending and ending.at,
        taken_by=ending and ending.target,
        sort_value=None if its.sort_value is None else json_text(its.sort_value),
        about=content_of(its).about,
        payload=its.payload,
    )


def message_of_row(row: TableRow) -> InboxMessage:
    type_, encoding, headers, hint = read_json(row.about)
    ended = row.decided_at is not None
    return InboxMessage(
        *(row.key, row.channel, row.message_id, row.payload, row.event_at, row.ingested_at, row.position),
        *(row.tenant_id, MessageType(*type_), encoding, headers),
        Hint(**(hint | {"name": row.name, "correlation_key": row.correlation_key})),
        group_key=row.group_key,
        sort_value=None if row.sort_value is None else read_json(row.sort_value),
        grace_until=ALWAYS if row.grace_until is None else row.grace_until,
        expires_at=NEVER if row.expires_at is None else row.expires_at,
        state=row.state,
        attempts=row.attempts,
        next_retry_at=row.next_retry_at,
        tried_at=row.tried_at,
        error=None if row.error_kind is None else Fault(row.error_kind, row.error_text or ""),
        parked_for=row.parked_for or "",
        ending=_ending(row) if ended else None,
    )


def _ending(row: TableRow) -> Ending:
    return Ending(row.verdict or "", row.reason or "", row.decided_at or 0, row.taken_by or "")


def identity_of_row(row: TableRow) -> tuple[Any, ...]:
    """What two deliveries of one message have in common, or of one row that cannot be read."""
    return row.tenant_id, row.channel, row.message_id
