"""A task: requests of one shard, carried out in a process that others started (a Spark worker).

A task may be run twice, beside itself, or again after its shard has moved on. Each request has a number; a commit notes
the last one it took, and what is at or below it is not taken again. So whatever happens to tasks, each request is
carried out once. The answer to one that was taken before is not known here any more.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import Any, NamedTuple

from conjoin.runtime.batches import Batch, Done, Origin, Reply
from conjoin.runtime.encoding.json_text import read_json
from conjoin.runtime.encoding.orders import read_order
from conjoin.runtime.ingest.dead_letters import DeadLetter
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


class Taken(NamedTuple):
    """What came of the rows of one commit: those of an earlier one, and what became of the others."""

    counter: int
    receivers: list[int]
    repeated: int
    dead_letters: int
    verdicts: Mapping[str, int]
    """How many messages have a verdict and its reason now, as `verdict/reason`."""


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
        requests = [row for row in rows if row.request != POST]
        batch = Batch([read_order(read_json(row.request)) for row in requests])
        if len(requests) < len(rows):
            batch.deliveries = self._mailbox(rows[0].shard).collect()
        if requests:
            batch.origin = Origin(asking.source, [("", row.number) for row in requests])
        done = self._run(asking, rows[0].shard, batch)
        answers, receivers = pickle.dumps(done.answers), sorted(done.receivers)
        for row, reply in zip(requests, done.replies, strict=True):
            yield ResultRow(row.number, done.head.next_key, pickle.dumps(reply), answers, receivers)
        if not requests:
            yield ResultRow(rows[0].number, done.head.next_key, pickle.dumps(Reply()), answers, receivers)

    def take(self, asking: Asking, shard: int, requests: Sequence[Any], places: Sequence[tuple[str, int]]) -> Taken:
        """What other shards have sent so far is taken along."""
        mailbox = self._mailbox(shard)
        mail = mailbox.collect(most=AT_ONCE)
        done = self._run(asking, shard, Batch(requests, mail, origin=Origin(asking.source, places)))
        mailbox.took(mail)
        repeated = sum(reply.repeated for reply in done.replies)
        asked = zip(requests, done.replies, strict=True)
        letters = sum(type(request) is DeadLetter and not reply.repeated for request, reply in asked)
        published = {reply.key for reply in done.replies}
        verdicts = Counter(f"{row.verdict}/{row.reason}" for row in done.messages if row.key in published)
        return Taken(done.head.next_key, sorted(done.receivers), repeated, letters, verdicts)

    def _run(self, asking: Asking, shard: int, batch: Batch) -> Done:
        self._now = asking.now
        runner = self._runners.get(shard)
        if runner is None:
            runner = Runner(self._store.shard(shard), lambda: self._now, self._store.facts)
            self._runners[shard] = runner
        batch.counter = asking.counter
        return runner.run(batch, self._catalog.view())

    def _mailbox(self, shard: int) -> Mailbox:
        return self._mailboxes.setdefault(shard, Mailbox(self._store, shard))


_shards_at = lru_cache(maxsize=4)(_Shards)


def take_rows(asking: Asking, shard: int, requests: Sequence[Any], places: Sequence[tuple[str, int]]) -> Taken:
    """Rows of a source with their parts and places in it, in one commit."""
    return _shards_at(asking.address).take(asking, shard, requests, places)


def run_task(asking: Asking, rows: Iterable[TaskRow]) -> Iterator[ResultRow]:
    """Rows in the order of shard and number, a bounded number in each commit."""
    shards = _shards_at(asking.address)
    for _, mine in groupby(rows, key=lambda row: row.shard):
        while some := list(islice(mine, AT_ONCE)):
            yield from shards.run(asking, some)
