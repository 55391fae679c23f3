"""A message of the inbox as rows, and back. What came in with it is a row of its own, read only when it is used.

A message that is read from its row alone has an empty payload, and of its hint only name and key: enough for the rules
that say when it is tried and what is booked. `with_content` gives it the rest.
"""

from typing import Any, NamedTuple

from conjoin.kernel.inbox import InboxMessage, InboxSettings, due_at_of
from conjoin.kernel.inbox.message import PAUSED, UNCERTAIN, WAITING, Ending, Fault, Hint, MessageType
from conjoin.kernel.instants import NEVER
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.store.rows import InboxContentRow, InboxRow

_IN_LINE = (WAITING, PAUSED, UNCERTAIN)
_NOT_ENDED = Ending("", "", 0)


class Filed(NamedTuple):
    """A message with what the store knows of it beyond the rules."""

    message: InboxMessage
    place: str
    message_key: int = 0
    """The message as which our own engine was last offered it."""
    lines: int = 0
    """Of its history."""


def row_of(filed: Filed, settings: InboxSettings) -> InboxRow:
    its = filed.message
    fault = its.error or Fault("", "")
    ending = its.ending or _NOT_ENDED
    return InboxRow(
        its.key,
        its.channel,
        its.tenant_id,
        its.message_id,
        its.type.full_name,
        its.hint.name,
        its.hint.correlation_key,
        its.target,
        its.group_key,
        filed.place,
        "" if its.sort_value is None else json_text(its.sort_value),
        its.position,
        its.event_at,
        its.ingested_at,
        its.grace_until,
        None if its.expires_at == NEVER else its.expires_at,
        its.state,
        int(its.state in _IN_LINE),
        its.attempts,
        due_at_of(its, settings),
        its.next_retry_at,
        its.tried_at,
        fault.kind,
        text_to_keep(fault.text),
        its.parked_for,
        ending.verdict,
        ending.reason,
        None if its.ending is None else ending.at,
        ending.target,
        filed.message_key,
        filed.lines,
    )


def read_row(row: InboxRow) -> Filed:
    message = InboxMessage(
        *(row.key, row.channel, row.message_id, b"", row.event_at, row.ingested_at, row.position, row.tenant_id),
        MessageType(name=row.type),
        hint=Hint(row.name, row.correlation_key),
        target=row.target,
        group_key=row.group_key,
        sort_value=read_json(row.sort_value) if row.sort_value else None,
        grace_until=row.grace_until,
        expires_at=NEVER if row.expires_at is None else row.expires_at,
        state=row.state,
        attempts=row.attempts,
        next_retry_at=row.next_retry_at,
        tried_at=row.tried_at,
        error=Fault(row.error_kind, row.error_text) if row.error_kind else None,
        parked_for=row.parked_for,
        ending=_ending(row),
    )
    return Filed(message, row.place, row.message_key, row.lines)


def _ending(row: InboxRow) -> Ending | None:
    if row.decided_at is None:
        return None
    return Ending(row.verdict, row.reason, row.decided_at, row.taken_by)


def content_of(message: InboxMessage) -> InboxContentRow:
    about = [list(message.type), message.encoding, dict(message.headers), _written_hint(message.hint)]
    return InboxContentRow(message.key, json_text(about), message.payload)


def with_content(message: InboxMessage, content: InboxContentRow) -> InboxMessage:
    type_, encoding, headers, hint = read_json(content.about)
    hint |= {"name": message.hint.name, "correlation_key": message.hint.correlation_key}
    return message._replace(
        payload=bytes(content.payload),
        type=MessageType(*type_),
        encoding=encoding,
        headers=headers,
        hint=Hint(**hint),
    )


def _written_hint(hint: Hint) -> dict[str, Any]:
    """What is not as it is by default; name and key are columns of their own."""
    said = hint._replace(name="", correlation_key="")._asdict()
    return {field: value for field, value in said.items() if value}


def text_to_keep(text: str) -> str:
    """No database keeps a NUL, nor half a pair of surrogates; what a target answers may hold either."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
