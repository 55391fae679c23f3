"""Notices of what stands in the log of a shard: messages that expired or were discarded, and incidents.

The log names messages by their keys; what else is told of one stands in its row. A row that retention has removed
meanwhile leaves a notice without a name, which is better than none.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from conjoin.kernel.process.commands import DeliverMessage, ForKey
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.events import LoggedEvent
from conjoin.runtime.notices.notice import Notice
from conjoin.runtime.run.log import read_block
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.store import tables as t
from conjoin.store.port import ShardStore
from conjoin.store.rows import LogRow, MessageRow

_KINDS = {"MessageExpired": "expired", "MessageDiscarded": "discarded", "IncidentRaised": "incident"}
BLOCKS = 200


class LogPosition(NamedTuple):
    """A version of the log, and the number of an event in its block; 0 is before all of them."""

    version: int
    number: int

    def __str__(self) -> str:
        return f"{self.version}.{self.number}"


def read_place(text: str) -> LogPosition:
    version, _, number = text.partition(".")
    return LogPosition(int(version), int(number))


class Noticed(NamedTuple):
    place: LogPosition
    request: Any
    event: LoggedEvent


def log_notices(shard: ShardStore, number: int, after: LogPosition) -> Iterator[tuple[LogPosition, Notice | None]]:
    """From a place on, some blocks far. Each block ends with its end, and no notice. `number` is the shard's own."""
    for row in list(shard.log(after.version - 1, BLOCKS)):
        events = [it for it in _events(row) if it.place > after]
        facts = _Facts(shard, events) if events else None
        for it in events:
            assert facts is not None
            notice = facts.notice(f"{number}-{it.place}", row.at, it)
            if notice is not None:
                yield it.place, notice
        yield LogPosition(row.version + 1, 0), None


def _events(row: LogRow) -> Iterator[Noticed]:
    number = 0
    for entry in read_block(row.block):
        for event in entry.events:
            number += 1
            if event.kind in _KINDS:
                yield Noticed(LogPosition(row.version, number), entry.request, event)


class _Facts:
    """What the rows of a shard tell of some events, looked up together."""

    def __init__(self, shard: ShardStore, events: list[Noticed]) -> None:
        messages = [it.event.message for it in events if it.event.kind != "IncidentRaised"]
        incidents = [it.event.key for it in events if it.event.kind == "IncidentRaised"]
        snapshot = shard.begin()
        try:
            rows = snapshot.messages(messages) if messages else ()
            self._messages: dict[int, MessageRow] = {row.key: row for row in rows}
            self._instances = dict(snapshot.instances_of(t.INCIDENT, incidents)) if incidents else {}
        finally:
            snapshot.abandon()

    def notice(self, notice_id: str, at: int, it: Noticed) -> Notice | None:
        kind = _KINDS[it.event.kind]
        if kind == "incident":
            return self._incident(notice_id, at, it)
        row = self._messages.get(it.event.message)
        is_short = row is not None and row.verdict == "short"
        if not it.event.reason and not is_short:
            # Somebody took it, and then its time was over.
            return None
        verdict, reason = (row.verdict, row.reason) if row is not None else (kind, it.event.reason)
        said = to_plain(
            {"near_misses": it.event.near_misses, **({"deadline_at": row.deadline} if row is not None else {})}
        )
        name, key = (row.name, row.correlation_key) if row is not None else ("", _key_of(it.request))
        text = sentence(verdict, reason, said, name, key)
        notice = Notice(notice_id, kind, at, text, verdict, reason, _tenant_of(it.request), name, key, it.event.message)
        if row is None:
            return notice
        return notice._replace(message_id=row.message_id, variables=row.variables, tenant_id=row.tenant_id)

    def _incident(self, notice_id: str, at: int, it: Noticed) -> Notice:
        request, event = it.request, it.event
        carried = getattr(request, "message", None) if isinstance(request, DeliverMessage) else None
        name = request.name if isinstance(request, NewMessage) else getattr(carried, "name", "")
        text = f"Incident {event.error_type}: {event.text}"
        facts = (_tenant_of(request), name, _key_of(request))
        notice = Notice(notice_id, "incident", at, text, "", event.error_type, *facts)
        return notice._replace(instance_key=self._instances.get(event.key, 0))


def _key_of(request: Any) -> str:
    return request.key if isinstance(request, (NewMessage, ForKey, DeliverMessage)) else ""


def _tenant_of(request: Any) -> str:
    return getattr(request, "tenant_id", "")
