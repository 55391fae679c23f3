"""A task: requests of one shard, carried out in a process that others started (a Spark worker).

A task may be run twice, beside itself, or again after its shard has moved on. Each request has a number; a commit notes
the last one it took, and what is at or below it is not taken again. So whatever happens to tasks, each request is
carried out once. The answer to one that was taken before is not known here any more. A request that cannot be carried
out fails alone: it is answered with its error, or, as a row of a source, kept as a dead letter; the task goes on.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import groupby, islice
from typing import Any, NamedTuple

from conjoin.errors import ConjoinError
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import read_order
from conjoin.runtime.engine.stored_catalog import StoredCatalog
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run.batches import Batch, Commit, Origin, Reply
from conjoin.runtime.run.carriers.careful import Mail, SourceRow, carried_out, take_as_one, take_mail, take_source_rows
from conjoin.runtime.run.mailbox import Mailbox
from conjoin.runtime.run.run import Runner
from conjoin.runtime.run.sweeping import is_items
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.opening import open_store

AT_ONCE = 1_000
POST = ""
"""Instead of a request: take what other shards have sent."""


class TaskRow(NamedTuple):
    """A request as JSON, with its number."""

    shard: int
    number: int
    request: str


class TaskRequest(NamedTuple):
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


class TaskOutcome(NamedTuple):
    """What came of the rows of one commit: those of an earlier one, and what became of the others."""

    counter: int
    receivers: list[int]
    repeated: int
    dead_letters: int
    verdicts: Mapping[str, int]
    """How many messages have a verdict and its reason now, as `verdict/reason`."""


class _Numbered(NamedTuple):
    number: int
    request: Any


class _Shards:
    """One store, kept open for the tasks that this process will still get."""

    def __init__(self, address: str) -> None:
        self._store = open_store(address)
        self._catalog = StoredCatalog(self._store.catalog, self._store.facts.profile)
        self._now = 0
        self._runners: dict[int, Runner] = {}
        self._mailboxes: dict[int, Mailbox] = {}

    def run(self, asking: TaskRequest, rows: Sequence[TaskRow]) -> Iterator[ResultRow]:
        """Rows of one shard, by their numbers; one that cannot be carried out is answered with its error."""
        run = partial(self._run, asking, rows[0].shard)
        post = [row.number for row in rows if row.request == POST]
        if post:
            mail = self._mailbox(rows[0].shard).collect()
            for done in [done for _, done in take_mail(run, mail)] or [run(Batch())]:
                yield _result(post[0], done, Reply())
        asked = [_Numbered(row.number, read_order(read_json(row.request))) for row in rows if row.request != POST]
        for some, outcome in carried_out(
            lambda them: run(_batch_of(asking, them)), asked, lambda one, it: one.request is it.item
        ):
            if isinstance(outcome, Exception):
                yield ResultRow(some[0].number, asking.counter, _pickled(outcome), pickle.dumps({}), [])
                continue
            for one, reply in zip(some, outcome.replies, strict=True):
                yield _result(one.number, outcome, reply)

    def take(self, asking: TaskRequest, shard: int, rows: Sequence[SourceRow], as_one: bool) -> TaskOutcome:
        """What other shards have sent so far is taken along."""
        mailbox = self._mailbox(shard)
        mail = mailbox.collect(most=AT_ONCE)
        places = [row.noted for row in rows]
        batch = Batch([row.request for row in rows], mail, origin=Origin(asking.source, places))
        try:
            parts = [_taken(rows, self._run(asking, shard, batch))]
        except Exception as error:
            if not is_items(error):
                raise
            parts = list(self._take_carefully(asking, shard, rows, mail, as_one))
        mailbox.took(mail)
        return reduce(_both, parts)

    def _take_carefully(
        self, asking: TaskRequest, shard: int, rows: Sequence[SourceRow], mail: Mail, as_one: bool
    ) -> Iterator[TaskOutcome]:
        """The mail, then the rows; who cannot be carried out is set aside, or a dead letter."""
        run = partial(self._run, asking, shard)
        for _, done in take_mail(run, mail):
            yield _taken([], done)
        if as_one:
            yield _taken(*take_as_one(run, partial(self._rehearse, asking, shard), asking.source, rows))
        else:
            for some, done in take_source_rows(run, asking.source, rows):
                yield _taken(some, done)

    def _run(self, asking: TaskRequest, shard: int, batch: Batch) -> Commit:
        batch.counter = asking.counter
        return self._runner(asking, shard).run(batch, self._catalog.view())

    def _rehearse(self, asking: TaskRequest, shard: int, batch: Batch) -> None:
        self._runner(asking, shard).rehearse(batch, self._catalog.view())

    def _runner(self, asking: TaskRequest, shard: int) -> Runner:
        self._now = asking.now
        runner = self._runners.get(shard)
        if runner is None:
            runner = Runner(self._store.shard(shard), ForwardClock(lambda: self._now), self._store.facts)
            self._runners[shard] = runner
        return runner

    def _mailbox(self, shard: int) -> Mailbox:
        return self._mailboxes.setdefault(shard, Mailbox(self._store, shard))


_shards_at = lru_cache(maxsize=4)(_Shards)


def take_rows(asking: TaskRequest, shard: int, rows: Sequence[SourceRow], as_one: bool = False) -> TaskOutcome:
    """Rows of a source, in one commit; or in several if one of them cannot be carried out, unless `as_one`."""
    return _shards_at(asking.address).take(asking, shard, rows, as_one)


def run_task(asking: TaskRequest, rows: Iterable[TaskRow]) -> Iterator[ResultRow]:
    """Rows in the order of shard and number, a bounded number in each commit."""
    shards = _shards_at(asking.address)
    for _, mine in groupby(rows, key=lambda row: row.shard):
        while some := list(islice(mine, AT_ONCE)):
            yield from shards.run(asking, some)


def _batch_of(asking: TaskRequest, asked: Sequence[_Numbered]) -> Batch:
    places = [("", one.number) for one in asked]
    return Batch([one.request for one in asked], origin=Origin(asking.source, places))


def _result(number: int, done: Commit, reply: Reply) -> ResultRow:
    answers, receivers = pickle.dumps(done.answers), sorted(done.receivers)
    return ResultRow(number, done.head.next_key, pickle.dumps(reply), answers, receivers)


def _pickled(error: Exception) -> bytes:
    """What was noted of it stays here; an error of others may not be readable elsewhere, but its text is."""
    if not isinstance(error, ConjoinError):
        return pickle.dumps(RuntimeError(text_of(error)))
    error.__dict__.clear()
    return pickle.dumps(error)


def _taken(rows: Sequence[SourceRow], done: Commit) -> TaskOutcome:
    replies = done.replies if rows else []
    repeated = sum(reply.repeated for reply in replies)
    asked = zip(rows, replies, strict=True)
    letters = sum(type(row.request) is DeadLetter and not reply.repeated for row, reply in asked)
    published = {reply.key for reply in replies}
    verdicts = Counter(f"{row.verdict}/{row.reason}" for row in done.messages if row.key in published)
    return TaskOutcome(done.head.next_key, sorted(done.receivers), repeated, letters, verdicts)


def _both(first: TaskOutcome, second: TaskOutcome) -> TaskOutcome:
    return TaskOutcome(
        max(first.counter, second.counter),
        sorted({*first.receivers, *second.receivers}),
        first.repeated + second.repeated,
        first.dead_letters + second.dead_letters,
        Counter(first.verdicts) + Counter(second.verdicts),
    )
