"""Two stores with the same stories in their inboxes: one is run inline, the other on Spark. Their rows are compared."""

from pathlib import Path
from typing import Any, NamedTuple

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.process import commands as c
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import create_broker
from conjoin.runtime.run.batches import Batch
from conjoin.store import tables as t
from conjoin.store.rows import InboxRow
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import REMOTE, TENANT, Bench

SHARDS = 2
_KEPT_APART = {"key", "position", "ingested_at", "message_key", "taken_by", "place"}
"""Keys are given in the order of the commits, which is another one."""


def make(folder: Path, settings: InboxSettings) -> Bench:
    clock = FakeClock()
    return Bench(create_broker(folder, SHARDS, clock), clock, settings)


def tell_stories(bench: Bench) -> None:
    """Groups of four for a receiver here or on another shard, sent in reverse; some named, remote, or expiring."""
    for number in range(12):
        key = f"o-{number}"
        if number % 3:
            bench.wait(key)
        else:
            _wait_elsewhere(bench, key)
        for turn in reversed(range(4)):
            sent = ("X-CORRELATE-Timestamp", f"2029-12-31T00:00:0{turn}Z")
            bench.send(key, f"{key}-{turn}", headers=(sent,), payload=b"{broken" if (number, turn) == (1, 0) else {})
    for number in range(4):
        bench.wait(f"g-{number}")
        bench.send(f"g-{number}", f"named-{number}", group="together")
        bench.send(f"r-{number}", f"remote-{number}", REMOTE)
        over = ("X-CORRELATE-Expiration", "2030-01-01T00:00:30Z")
        bench.send(f"nobody-{number}", f"over-{number}", headers=(over,))


def _wait_elsewhere(bench: Bench, key: str) -> None:
    """An instance on another shard than its subscription: the answer to an offer comes from there."""
    elsewhere = (shard_of(key, SHARDS) + 1) % SHARDS
    bench.broker.post.run(elsewhere, Batch([c.CreateInstance("order", 0, TENANT, {"orderId": key}, 0)]))
    bench.broker.post.deliver()


class Seen(NamedTuple):
    """What a store holds, by names instead of keys."""

    messages: dict[str, dict[str, Any]]
    history: dict[str, list[tuple[Any, ...]]]
    offered: dict[str, list[str]]
    """Of each correlation key, the ids in the order in which they were offered."""
    groups: dict[str, int]
    instances: list[str]


def seen(bench: Bench) -> Seen:
    store = bench.broker.store
    rows = {row.key: row for row in bench.rows()}
    history: dict[str, list[tuple[Any, ...]]] = {}
    for line in store.rows(t.INBOX_ATTEMPT, {}, None, 10_000):
        history.setdefault(rows[line.inbox_key].message_id, []).append(tuple(line)[1:])
    offered: dict[str, list[str]] = {}
    for row in sorted(store.rows(t.MESSAGE, {}, None, 10_000), key=lambda row: row.key):
        offered.setdefault(row.correlation_key, []).append(row.message_id)
    instances = sorted(row.state for row in store.rows(t.INSTANCE, {}, None, 10_000))
    messages = {row.message_id: _told(row) for row in rows.values()}
    return Seen(messages, history, offered, bench.groups(), instances)


def _told(row: InboxRow) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name not in _KEPT_APART}
