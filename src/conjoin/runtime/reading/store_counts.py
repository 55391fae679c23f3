"""Figures of a store: the progress of each shard, and how much is open on it. All shards are read at one instant."""

from collections.abc import Callable
from typing import Any, NamedTuple

from conjoin.store import tables as t
from conjoin.store.port import Head, Store
from conjoin.store.tables import Table


class ShardFigures(NamedTuple):
    """`version` counts commits, `counter` is the next key's number, `time` the last instant of a command."""

    shard: int
    version: int
    counter: int
    time: int
    instances: int
    subscriptions: int
    buffered: int
    jobs: int
    timers: int
    incidents: int
    undelivered: int
    """Orders for other shards that these have not taken yet."""
    logged: int
    """Commits that are still in the log."""


_OPEN: dict[str, tuple[Table, Callable[[Any], bool]]] = {
    "instances": (t.INSTANCE, lambda row: row.state == "active"),
    "subscriptions": (t.SUBSCRIPTION, lambda row: row.closed_at is None),
    "buffered": (t.MESSAGE, lambda row: row.verdict == "buffered"),
    "jobs": (t.JOB, lambda row: row.state != "error_thrown"),
    "timers": (t.TIMER, lambda row: True),
    "incidents": (t.INCIDENT, lambda row: True),
}


def figures(store: Store) -> list[ShardFigures]:
    """Every row is looked at, so a large store takes its time, but nothing waits for it."""
    with store.frozen() as frozen:
        shards = range(store.facts.shards)
        taken = {(row.sender, index): row.seq for index in shards for row in frozen.rows(index, t.RECEIVED)}
        return [_of_shard(store, frozen, index, taken) for index in shards]


def _of_shard(store: Store, frozen: Any, index: int, taken: dict[tuple[int, int], int]) -> ShardFigures:
    head: Head = frozen.head(index)
    # From the first commit that is still there; the blocks themselves are large and stay unread.
    first = next(store.shard(index).log(limit=1), None)
    return ShardFigures(
        *(index, head.version, head.next_key, head.time),
        **{name: sum(map(is_open, frozen.rows(index, table))) for name, (table, is_open) in _OPEN.items()},
        undelivered=sum(row.seq > taken.get((index, row.receiver), 0) for row in frozen.rows(index, t.OUTBOX)),
        logged=0 if first is None else max(head.version - first.version + 1, 0),
    )
