"""A task: requests of one shard, carried out in a process that others started (a Spark worker).

A task may be run twice, beside itself, or again after its shard has moved on. Each request has a number; a commit notes
the last one it took, and what is at or below it is not taken again. So whatever happens to tasks, each request is
carried out once. The answer to one that was taken before is not known here any more.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import NamedTuple

from conjoin.runtime.batches import Batch, Origin, Reply
from conjoin.runtime.encoding.json_text import read_json
from conjoin.runtime.encoding.orders import read_order
from conjoin.runtime.mailbox import Mailbox
from conjoin.runtime.run import Runner
from conjoin.runtime.stored_catalog import StoredCatalog
from conjoin.store.opening import open_store

AT_ONCE = 1_000
POST = ""
"""Instead of a request: take what other shards have sent."""


class TaskRow(NamedTuple):
    """A request as JSON, with its number."""

    shard: int
    number: int
    request: str


class Asking(NamedTuple):
    """What all rows of a job share. Numbers are those of the source; keys handed out are not below the counter."""

    address: str
    source: str
    now: int
    counter: int


class ResultRow(NamedTuple):
    """What came of it. `receivers` have post now, and `answers` are those that came with this commit (pickled)."""

    number: int
    counter: int
    reply: bytes
    answers: bytes
    receivers: list[int]


class _Shards:
    """One store, kept open for the tasks that this process will still get."""

    def __init__(self, address: str) -> None:
        self._store = open_store(address)
        self._catalog = StoredCatalog(self._store.catalog, self._store.facts.profile)
        self._now = 0
        self._runners: dict[int, Runner] = {}
        self._mailboxes: dict[int, Mailbox] = {}

    def run(self, asking: Asking, rows: Sequence[TaskRow]) -> Iterator[ResultRow]:
        """Rows of one shard, in the order of their numbers."""
        self._now = asking.now
        shard = rows[0].shard
        runner = self._runners.get(shard)
        if runner is None:
            runner = Runner(self._store.shard(shard), lambda: self._now, self._store.facts)
            self._runners[shard] = runner
        requests = [row for row in rows if row.request != POST]
        batch = Batch([read_order(read_json(row.request)) for row in requests], counter=asking.counter)
        if len(requests) < len(rows):
            batch.deliveries = self._mailboxes.setdefault(shard, Mailbox(self._store, shard)).collect()
        if requests:
            batch.origin = Origin(asking.source, [("", row.number) for row in requests])
        done = runner.run(batch, self._catalog.view())
        answers, receivers = pickle.dumps(done.answers), sorted(done.receivers)
        for row, reply in zip(requests, done.replies, strict=True):
            yield ResultRow(row.number, done.head.next_key, pickle.dumps(reply), answers, receivers)
        if not requests:
            yield ResultRow(rows[0].number, done.head.next_key, pickle.dumps(Reply()), answers, receivers)


_shards_at = lru_cache(maxsize=4)(_Shards)


def run_task(asking: Asking, rows: Iterable[TaskRow]) -> Iterator[ResultRow]:
    """Rows in the order of shard and number, a bounded number in each commit."""
    shards = _shards_at(asking.address)
    for _, mine in groupby(rows, key=lambda row: row.shard):
        while some := list(islice(mine, AT_ONCE)):
            yield from shards.run(asking, some)
