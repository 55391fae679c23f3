"""Where notices come from: the log of a shard, and its inbox; and how far each receiver has been notified.

In the log stand messages that expired or were discarded, and incidents. It names messages by their keys; the rest is in
their rows. A row that retention has removed leaves a notice without a name, which is better than none. The log does not
have the inbox, so its rows are read, by the instant at which they were parked or expired. The time of a shard never
goes back but may stand still: for the last instant the keys that were notified are kept.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from conjoin.kernel.process.commands import DeliverMessage, ForKey
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.notices.notice import Notice
from conjoin.runtime.run.log import LoggedEvent, read_block, without_requests
from conjoin.runtime.run.run import commit_changes
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.store import tables as t
from conjoin.store.catalog import CatalogStore
from conjoin.store.port import Changes, ShardSnapshot, ShardStore
from conjoin.store.rows import LogRow, MessageRow, PositionRow

SOURCE = "notices"

_KINDS = {"MessageExpired": "expired", "MessageDiscarded": "discarded", "IncidentRaised": "incident"}
BLOCKS = 200
WHEN = {"parked": "tried_at", "expired": "decided_at"}
"""The states of the inbox that are notified, and which column has their instant."""
_COLUMNS = ("key", "tenant_id", "message_id", "name", "correlation_key", "attempts", "error_text", "message_key")


class LogPosition(NamedTuple):
    """A version of the log, and the number of an event in its block; 0 is before all of them."""

    version: int
    number: int

    def __str__(self) -> str:
        return f"{self.version}.{self.number}"


def read_log_position(text: str) -> LogPosition:
    version, _, number = text.partition(".")
    return LogPosition(int(version), int(number))


class Noticed(NamedTuple):
    position: LogPosition
    request: Any
    event: LoggedEvent


def log_notices(shard: ShardStore, number: int, after: LogPosition) -> Iterator[tuple[LogPosition, Notice | None]]:
    """Those of the next blocks. Each block ends with its end, and no notice. `number` is the shard's own."""
    for row in list(shard.log(after.version - 1, BLOCKS)):
        events = [it for it in _events(row) if it.position > after]
        if events:
            facts = _Facts(shard, events)
            for it in events:
                notice = facts.notice(f"{number}-{it.position}", row.at, it)
                if notice is not None:
                    yield it.position, notice
        yield LogPosition(row.version + 1, 0), None


def _events(row: LogRow) -> list[Noticed]:
    events = ((entry.request, event) for entry in read_block(row.block) for event in entry.events)
    return [
        Noticed(LogPosition(row.version, number), request, event)
        for number, (request, event) in enumerate(events, 1)
        if event.kind in _KINDS
    ]


class _Facts:
    """The rows that some events are about, read together."""

    def __init__(self, shard: ShardStore, events: list[Noticed]) -> None:
        messages = [it.event.message for it in events if it.event.kind != "IncidentRaised"]
        incidents = [it.event.key for it in events if it.event.kind == "IncidentRaised"]
        with shard.begin() as snapshot:
            rows = snapshot.messages(messages) if messages else ()
            self._messages: dict[int, MessageRow] = {row.key: row for row in rows}
            self._instances = dict(snapshot.instances_of(t.INCIDENT, incidents)) if incidents else {}

    def notice(self, notice_id: str, at: int, it: Noticed) -> Notice | None:
        kind = _KINDS[it.event.kind]
        if kind == "incident":
            return self._incident(notice_id, at, it)
        row = self._messages.get(it.event.message)
        if not it.event.reason and (row is None or row.verdict != "short"):
            # Somebody took it, and then its time was over.
            return None
        detail = {"near_misses": it.event.near_misses}
        name, key, verdict, reason = "", _key_of(it.request), kind, it.event.reason
        facts: dict[str, Any] = {"tenant_id": getattr(it.request, "tenant_id", "")}
        if row is not None:
            detail["deadline_at"] = row.deadline
            name, key, verdict, reason = row.name, row.correlation_key, row.verdict, row.reason
            facts = {"tenant_id": row.tenant_id, "message_id": row.message_id, "variables": row.variables}
        text = sentence(verdict, reason, to_plain(detail), name, key)
        notice = Notice(notice_id, kind, at, text, verdict, reason, name=name, correlation_key=key)
        return notice._replace(message_key=it.event.message, **facts)

    def _incident(self, notice_id: str, at: int, it: Noticed) -> Notice:
        request, event = it.request, it.event
        carried = getattr(request, "message", None) if isinstance(request, DeliverMessage) else None
        name = request.name if isinstance(request, NewMessage) else getattr(carried, "name", "")
        text = f"Incident {event.error_type}: {event.text}"
        facts = (getattr(request, "tenant_id", ""), name, _key_of(request))
        notice = Notice(notice_id, "incident", at, text, "", event.error_type, *facts)
        return notice._replace(instance_key=self._instances.get(event.key, 0))


def _key_of(request: Any) -> str:
    return request.key if isinstance(request, (NewMessage, ForKey, DeliverMessage)) else ""


class Mark(NamedTuple):
    """Everything before the instant was notified, and at that instant these keys."""

    at: int
    keys: tuple[int, ...] = ()

    def __str__(self) -> str:
        return json_text([self.at, list(self.keys)])

    def with_key(self, at: int, key: int) -> "Mark":
        return Mark(at, (*self.keys, key) if at == self.at else (key,))


def read_mark(text: str) -> Mark:
    at, keys = read_json(text)
    return Mark(at, tuple(keys))


def inbox_notices(shard: ShardStore, state: str, after: Mark) -> Iterator[tuple[Mark, Notice]]:
    """In the order in which it happened."""
    when = WHEN[state]
    columns = [when, "parked_for" if state == "parked" else "reason", *_COLUMNS]
    for at, reason, key, *rest in sorted(shard.scan("inbox", columns, [("state", "=", state), (when, ">=", after.at)])):
        if at == after.at and key in after.keys:
            continue
        after = after.with_key(at, key)
        tenant_id, message_id, name, correlation_key, attempts, error_text, message_key = rest
        text = sentence(state, reason, {"attempts": attempts, "last_error": error_text}, name, correlation_key)
        facts = (tenant_id, name, correlation_key, message_key, message_id)
        yield after, Notice(f"inbox-{key}-{state}-{at}", state, at, text, state, reason, *facts, inbox_key=key)


def read_positions(shard: ShardStore) -> tuple[int, int, Mapping[str, str]]:
    """The version and the time of the shard, and the positions noted there, by receiver and source."""
    with shard.begin() as snapshot:
        return snapshot.head.version, snapshot.head.time, dict(snapshot.position(SOURCE))


def note_positions(shard: ShardStore, catalog: CatalogStore, reached: Mapping[str, str]) -> None:
    def noted(snapshot: ShardSnapshot) -> Changes:
        changes = without_requests(snapshot, catalog.version())
        changes.put[t.POSITION] = [PositionRow(SOURCE, part, position) for part, position in reached.items()]
        return changes

    commit_changes(shard, noted)
