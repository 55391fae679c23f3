"""Histories told in short, for tests of single rules: times are milliseconds after the epoch, written small."""

from __future__ import annotations

from typing import Any

from .facts import MS_US, Outcome
from .history import History, Row
from .model import play

KEY = "k"
TENANT = "<default>"


def at(time_ms: int) -> int:
    return time_ms * MS_US


def message(position: int, time_ms: int, ttl_ms: int | None = 10, **columns: Any) -> Row:
    row = {
        "position": position,
        "name": "n",
        "correlation_key": KEY,
        "published_at": at(time_ms),
        "ttl_ms": ttl_ms,
    }
    return row | columns


def subscription(subscription_id: str, opened_ms: int, closed_ms: int | None = None, **columns: Any) -> Row:
    row = {
        "subscription_id": subscription_id,
        "process_id": "p",
        "instance_id": f"i-{subscription_id}",
        "element_id": "e",
        "name": "n",
        "correlation_key": KEY,
        "opened_at": at(opened_ms),
        "closed_at": None if closed_ms is None else at(closed_ms),
    }
    return row | columns


def start(process_id: str, from_ms: int | None = None, until_ms: int | None = None, **columns: Any) -> Row:
    row = {
        "process_id": process_id,
        "name": "n",
        "element_id": "start",
        "from_at": None if from_ms is None else at(from_ms),
        "until_at": None if until_ms is None else at(until_ms),
    }
    return row | columns


def end(process_id: str, time_ms: int, **columns: Any) -> Row:
    return {"process_id": process_id, "correlation_key": KEY, "ended_at": at(time_ms)} | columns


def run(*rows: Row, profile: str = "zeebe", as_of: int | None = 9, **overrides: Any) -> Outcome:
    """Rows of any table, told apart by their columns; overrides are policies for all names; `as_of` in ms."""
    history = History(profile=profile, as_of=None if as_of is None else at(as_of))
    history.policies = {"*": overrides} if overrides else {}
    for row in rows:
        table_of(history, row).append(row)
    return play(history)


def table_of(history: History, row: Row) -> list[Row]:
    if "position" in row:
        return history.messages
    if "subscription_id" in row:
        return history.subscriptions
    return history.ends if "ended_at" in row else history.starts


def received(outcome: Outcome, position: int) -> list[str]:
    """Who has the message: subscription ids, and process ids of starts, sorted."""
    return sorted(pair[3] or pair[2] for pair in outcome.pairs if pair[0] == position)


def lock(process_id: str, tenant: str = TENANT, key: str = KEY) -> tuple[str, str, str]:
    return (tenant, process_id, key)
