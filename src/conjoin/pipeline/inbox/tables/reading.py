"""Rows that come in, and rows of who waits, as rows of the inbox's shape with the group that they belong to.

Read by the same functions as everywhere: a channel's mapping, the rules of accepting, the name of a group. What cannot
be read becomes a dead letter and stops nobody.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.message import DEFAULT_TENANT, Hint
from conjoin.pipeline.inbox.tables.columns import DEAD_LETTER, LETTER, PERSISTED, TableRow, row_of_message
from conjoin.pipeline.inbox.tables.waiting import AwaitingSubscription
from conjoin.pipeline.ingest.arrivals import Into, read_arrival
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.inbox.placement import stored_group
from conjoin.runtime.inbox.rows import Filed
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.rows import SourcePosition

WAITS, KEPT, ARRIVED = range(3)
"""Kinds of rows, as they are sorted within a group."""
_GROUPED = "group: over tables a batch is the messages of one correlation key; leave the group out"


class ArrivalReader:
    """Of one channel, at the instant of a run."""

    def __init__(self, into: Into, now: int) -> None:
        self._into, self._now = into, now
        self._read = read_arrival(into, now)

    def read(self, part: str, place: int, value: bytes | None) -> TableRow | None:
        """None: it is not wanted, or blank."""
        got: Any = self._read(SourcePosition(self._into.channel.name, part, place), value, None, None)
        if isinstance(got, Filed) and got.message.hint.group:
            got = DeadLetter(self._into.channel.name, part, place, "bad_type", _GROUPED, value or b"")
        if isinstance(got, DeadLetter):
            return self._letter(got)
        return None if got is None else self._message(got.message)

    def _message(self, message: InboxMessage) -> TableRow:
        keyed = message._replace(key=key_of(message.tenant_id, message.channel, message.message_id))
        return row_of_message(keyed, self._into.settings)._replace(outcome=PERSISTED)

    def _letter(self, letter: DeadLetter) -> TableRow:
        id_, now = f"{letter.part}-{letter.position}", self._now
        identity = DEFAULT_TENANT, letter.source, id_
        return TableRow(
            key=key_of(DEAD_LETTER, *identity),
            channel=letter.source,
            tenant_id=DEFAULT_TENANT,
            message_id=id_,
            name="",
            correlation_key="",
            group_key=json_text((DEAD_LETTER, *identity)),
            position=letter.position,
            event_at=now,
            ingested_at=now,
            state=DEAD_LETTER,
            error_kind=letter.reason,
            error_text=letter.text,
            decided_at=now,
            payload=letter.raw,
            outcome=LETTER,
        )


def key_of(*identity: str) -> int:
    """A number of its own for a message, the same wherever and whenever it is read."""
    return int.from_bytes(sha256(json_text(identity).encode()).digest()[:8], "big") >> 1


def group_of_key(tenant_id: str, correlation_key: str) -> str:
    """The group of the messages with this key."""
    nobody = InboxMessage(0, "", "", b"", 0, 0, 0, tenant_id, hint=Hint("", correlation_key))
    return stored_group(group_key_of(nobody))


def waiting_rows(columns: Sequence[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """Group and row, as JSON, of those who wait. What lacks a name, a key or its time waits for nobody."""
    for process, name, key, opened, closed, id_, instance, element, interrupting, tenant, business in zip(
        *columns, strict=True
    ):
        if None in (process, name, opened) or not key:
            continue
        who = id_ or "/".join((process, instance or "", element or "", name, str(opened)))
        is_interrupting, whose = interrupting is not False, business or ""
        row = AwaitingSubscription(who, process, name, instance or who, element, opened, closed, is_interrupting, whose)
        yield group_of_key(tenant or DEFAULT_TENANT, key), json_text(row)
