"""Rows for the tests of the stores: what a test does not care about has a value that no test looks for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from conjoin.store import tables as t
from conjoin.store.port import Changes, Head, ShardSnapshot, ShardStore
from conjoin.store.rows import (
    DeadLetterRow,
    EvidenceRow,
    InboxAttemptRow,
    InboxContentRow,
    InboxGroupRow,
    InboxRow,
    IncidentRow,
    InstanceRow,
    JobRow,
    LockRow,
    LogRow,
    MessageRow,
    OutboxRow,
    PositionRow,
    ReceivedRow,
    ScopeRow,
    SetAsideRow,
    SignalRow,
    SubscriptionRow,
    TimerRow,
)
from conjoin.store.tables import Table

LARGEST = 2**63 - 1
ODD_TEXTS = [
    "",
    " ",
    "'",
    '"',
    "\\",
    "%s",
    "?",
    "{p}",
    "Zürich",
    "注文-7",
    "🧾",
    "a\nb",
    "\u2028",
    "null",
    "1e3",
    "{1,2}",
]

_CARED_FOR: dict[str, Any] = {
    **{"tenant_id": "acme", "correlation_key": "order-1", "process_id": "order", "instance_key": 100},
    **{"live": 1, "due_at": None, "closed_at": None, "ended_at": None, "lock_key": None, "parent_key": 0},
    **{"wait_on": None, "wait_key": 0, "wait_name": "", "wait_element_key": 0, "wait_element_id": ""},
    **{"wait_opened_at": 0, "wait_interrupting": 0, "closed_waits": "[]"},
    **{"message_id": "", "business_id": "", "body": "{}", "variables": "{}", "record": "{}"},
}


def a_row(table: Table, columns: Mapping[str, Any]) -> Any:
    plain = {int: 10, bytes: b"bytes"}
    whole = {
        column: _CARED_FOR.get(column, plain.get(kind, f"some {column}"))
        for column, kind in zip(table.columns, table.types, strict=True)
    }
    return table.row(**{**whole, **columns})


def message(key: int, **columns: Any) -> MessageRow:
    return a_row(t.MESSAGE, {"key": key, "name": "paid", **columns})


def subscription(key: int, **columns: Any) -> SubscriptionRow:
    return a_row(t.APART, {"key": key, "name": "paid", "crowd": "", **columns})


def lock(correlation_key: str, **columns: Any) -> LockRow:
    return a_row(t.LOCK, {"correlation_key": correlation_key, **columns})


def instance(key: int, **columns: Any) -> InstanceRow:
    return a_row(t.INSTANCE, {"key": key, "tree_key": key, "state": "active", "body": "[]", **columns})


def job(key: int, **columns: Any) -> JobRow:
    return a_row(t.JOB, {"key": key, "type": "payment", "state": "ready", **columns})


def timer(key: int, **columns: Any) -> TimerRow:
    return a_row(t.TIMER, {"key": key, "due_at": 50, **columns})


def inbox(key: int, group_key: str = "g", **columns: Any) -> InboxRow:
    """One that waits and was never tried; smaller keys come first."""
    fresh = {"place": f"{key:06}", "state": "waiting", "in_line": 1, "attempts": 0, "expires_at": None}
    fresh |= {"decided_at": None, "next_retry_at": None, "tried_at": None, "due_at": 10}
    return a_row(t.INBOX, {"key": key, "group_key": group_key, **fresh, **columns})


def set_aside(key: int, **columns: Any) -> SetAsideRow:
    return a_row(t.SET_ASIDE, {"key": key, "state": "waiting", **columns})  # type: ignore[no-any-return]


def incident(key: int, **columns: Any) -> IncidentRow:
    return a_row(t.INCIDENT, {"key": key, **columns})


def log_row(version: int) -> LogRow:
    return LogRow(version, 0, 10 * version, f"block {version}".encode())


ONE_OF_EACH: dict[Table, list[Any]] = {
    t.MESSAGE: [message(1)],
    t.APART: [subscription(2)],
    t.LOCK: [lock("order-1")],
    t.INSTANCE: [instance(100)],
    t.JOB: [job(4)],
    t.TIMER: [timer(5)],
    t.INCIDENT: [incident(6)],
    t.SIGNAL: [SignalRow(7, 100, "acme", "stop")],
    t.SCOPE: [ScopeRow(8, 100)],
    t.DEAD_LETTER: [DeadLetterRow(9, "orders", "a.jsonl", 3, "unreadable", "is not JSON", b"\xff{", 10)],
    t.SET_ASIDE: [set_aside(10)],
    t.INBOX: [inbox(11)],
    t.INBOX_CONTENT: [InboxContentRow(11, "{}", b"\x00\xff{")],
    t.INBOX_ATTEMPT: [InboxAttemptRow(11, 1, 10, "attempt", "", "failed", "target_error", "paid", "nobody waits")],
    t.EVIDENCE: [EvidenceRow(1, 10, "[]", 12, 0)],
    t.INBOX_GROUP: [InboxGroupRow("g", "own", 10, 1)],
    t.OUTBOX: [OutboxRow(1, 1, 9, '{"open": 2}')],
    t.RECEIVED: [ReceivedRow(1, 12)],
    t.POSITION: [PositionRow("orders", "topic-0", "42")],
    t.LOG: [log_row(1)],
}


def changes(
    after: Head, put: Mapping[Table, Sequence[Any]] | None = None, drop: Mapping[Table, Any] | None = None
) -> Changes:
    """The commit that follows a head, and moves all there is in it."""
    head = Head(after.version + 1, after.next_key + 10, after.time + 100, after.sent + 1)
    return Changes(head, {table: list(rows) for table, rows in (put or {}).items()}, dict(drop or {}))


def commit(shard: ShardStore, put: Mapping[Table, Sequence[Any]], drop: Mapping[Table, Any] | None = None) -> Head:
    """Commit when nobody else does."""
    snapshot = shard.begin()
    following = changes(snapshot.head, put, drop)
    assert snapshot.commit(following)
    return following.head


@contextmanager
def reading(shard: ShardStore) -> Iterator[ShardSnapshot]:
    snapshot = shard.begin()
    yield snapshot
    snapshot.abandon()
