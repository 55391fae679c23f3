"""A message of the inbox as rows, and back; and what cannot be stored.

What came in with a message is a row of its own, read only when it is used. A message that is read without it has an
empty payload, and of its hint only name and key: enough for the rules that say when it is tried and what is booked.
`with_content` adds the rest.
"""

from typing import NamedTuple

from conjoin.kernel.inbox import InboxMessage, InboxSettings, due_at_of
from conjoin.kernel.inbox.message import PAUSED, UNCERTAIN, WAITING, Ending, Fault, Hint, MessageType
from conjoin.kernel.instants import NEVER
from conjoin.kernel.storable import LONGEST_KEY, is_text
from conjoin.runtime.codec.json_text import json_text, read_json, unstorable_json
from conjoin.store.rows import InboxContentRow, InboxRow

_IN_LINE = (WAITING, PAUSED, UNCERTAIN)
_NOT_ENDED = Ending("", "", 0)
LONGEST_ID = 256
"""Characters; an index of PostgreSQL does not hold much more than 2,000 bytes."""


class Filed(NamedTuple):
    """A message with what the store knows of it beyond the rules."""

    message: InboxMessage
    place: str
    """Its position in the order of its group, as a text."""
    message_key: int = 0
    """The message as which our own engine was last offered it."""
    lines: int = 0
    """Of its history."""


def row_of(filed: Filed, settings: InboxSettings) -> InboxRow:
    its = filed.message
    fault = its.error or Fault("", "")
    ending = its.ending or _NOT_ENDED
    return InboxRow(
        *(its.key, its.channel, its.tenant_id, its.message_id, its.type.full_name, its.hint.name),
        *(its.hint.correlation_key, its.target, its.group_key, filed.place),
        "" if its.sort_value is None else json_text(its.sort_value),
        *(its.position, its.event_at, its.ingested_at, its.grace_until),
        None if its.expires_at == NEVER else its.expires_at,
        *(its.state, int(its.state in _IN_LINE), its.attempts, due_at_of(its, settings)),
        its.next_retry_at,
        its.tried_at,
        *(fault.kind, text_to_keep(fault.text), its.parked_for),
        *(ending.verdict, ending.reason),
        None if its.ending is None else ending.at,
        ending.target,
        *(filed.message_key, filed.lines),
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
        ending=None if row.decided_at is None else Ending(row.verdict, row.reason, row.decided_at, row.taken_by),
    )
    return Filed(message, row.place, row.message_key, row.lines)


def content_of(message: InboxMessage) -> InboxContentRow:
    # Name and key of the hint are columns of the message's own row; of the rest, what differs from the default.
    hint = message.hint._replace(name="", correlation_key="")._asdict()
    given = {field: value for field, value in hint.items() if value}
    about = [list(message.type), message.encoding, dict(message.headers), given]
    return InboxContentRow(message.key, json_text(about), message.payload)


def with_content(message: InboxMessage, content: InboxContentRow) -> InboxMessage:
    type_, encoding, headers, hint = read_json(content.about)
    hint |= {"name": message.hint.name, "correlation_key": message.hint.correlation_key}
    return message._replace(
        payload=bytes(content.payload), type=MessageType(*type_), encoding=encoding, headers=headers, hint=Hint(**hint)
    )


def text_to_keep(text: str) -> str:
    """No database keeps a NUL, nor half a pair of surrogates; an answer of a target may hold either."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def unstorable(message: InboxMessage) -> str | None:
    """Why a message cannot be stored: texts that no database keeps, ids that are too long, values that are not JSON."""
    hint = message.hint
    texts = {
        **{"id": message.message_id, "tenant": message.tenant_id, "type": message.type.full_name},
        **{"name": hint.name, "key": hint.correlation_key, "group": hint.group},
    }
    for field, text in texts.items():
        if not is_text(text):
            return f"{field}: has characters that are no text (NUL or half a pair)"
    if max(len(message.message_id), len(message.tenant_id)) > LONGEST_ID:
        return f"id: is longer than {LONGEST_ID} characters"
    if len(hint.correlation_key) > LONGEST_KEY:
        return f"key: is longer than {LONGEST_KEY} characters"
    rest = [*message.type, message.encoding, dict(message.headers), hint._asdict(), message.sort_value]
    problem = unstorable_json(rest)
    return None if problem is None else f"hint: {problem}"
