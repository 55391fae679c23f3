"""A task: requests of one shard, carried out in a process that others started (a Spark worker).

A task may be run twice, beside itself, or again after its shard has moved on. Each request has a number; a commit notes
the last one it took, and what is at or below it is not taken again. So whatever happens to tasks, each request is
carried out once. The answer to one that was taken before is not known here any more. A request that cannot be carried
out fails alone: it is answered with its error, or, as a row of a source, kept as a dead letter; the task goes on.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby, islice
from typing import Any, NamedTuple

from conjoin.errors import ConjoinError
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import read_order
from conjoin.runtime.engine.stored_catalog import StoredCatalog
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.requests import not_carried_out
from conjoin.runtime.ingest.rows import SourcePosition
from conjoin.runtime.run.batches import Batch, Commit, Mail, Origin, Reply
from conjoin.runtime.run.isolation import blamed, carried_out, is_items
from conjoin.runtime.run.mailbox import Mailbox, Run, take_mail
from conjoin.runtime.run.run import Runner
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.opening import open_store

AT_ONCE = 1_000
MAIL_AT_ONCE = 1_000
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
    """What came of it. `receivers` have mail now, and `answers` are those that came with this commit (pickled)."""

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


class SourceRow(NamedTuple):
    """A request that a row of a source has become. `noted` are the part and place that its commit notes."""

    request: Any
    noted: tuple[str, int]
    at: SourcePosition
    """Where the row stands, for its dead letter."""


class WorkerShards:
    """A store, kept open for the next tasks of this worker process.

    The time is that of the job, the same for all of its tasks. Whatever is run here is guarded by the commit of its
    shard, and what concerns other shards stays in the outbox.
    """

    def __init__(self, address: str) -> None:
        self._store = open_store(address)
        self.shards = self._store.facts.shards
        self._catalog = StoredCatalog(self._store.catalog, self._store.facts.profile)
        self._now = 0
        self.runners: dict[int, Runner] = {}
        self._mailboxes: dict[int, Mailbox] = {}

    def positions(self, source: str, shard: int, parts: Sequence[str]) -> dict[str, int]:
        """How far a shard has read each part of a source."""
        with self._store.shard(shard).begin() as snapshot:
            return {part: int(place) for part, place in snapshot.positions(source, parts).items()}

    def run(self, now: int, shard: int, batch: Batch) -> Commit:
        return self._runner(now, shard).run(batch, self._catalog.view())

    def rehearse(self, now: int, shard: int, batch: Batch) -> None:
        self._runner(now, shard).rehearse(batch, self._catalog.view())

    def run_with_mail(self, now: int, shard: int, batch: Batch) -> Commit:
        """What other shards have sent so far is taken along."""
        mailbox = self.mailbox(shard)
        batch.deliveries = mail = mailbox.collect(most=MAIL_AT_ONCE)
        done = self.run(now, shard, batch)
        mailbox.took(mail)
        return done

    def take_mail(self, now: int, shard: int) -> set[int]:
        """What cannot be carried out is set aside. The answer is which shards have mail now."""
        mailbox = self.mailbox(shard)
        receivers: set[int] = set()
        for mail, done in take_mail(partial(self.run, now, shard), mailbox.collect(most=MAIL_AT_ONCE)):
            mailbox.took(mail)
            receivers |= done.receivers
        return receivers

    def mailbox(self, shard: int) -> Mailbox:
        if shard not in self._mailboxes:
            self._mailboxes[shard] = Mailbox(self._store, shard)
        return self._mailboxes[shard]

    def close(self) -> None:
        for mailbox in self._mailboxes.values():
            mailbox.close()
        for runner in self.runners.values():
            runner.store.close()
        self._store.close()

    def _runner(self, now: int, shard: int) -> Runner:
        self._now = now
        if shard not in self.runners:
            clock = ForwardClock(lambda: self._now)
            self.runners[shard] = Runner(self._store.shard(shard), clock, self._store.facts)
        return self.runners[shard]


def worker_shards(address: str) -> WorkerShards:
    """Those of the store that this worker works on: they have connections to all of its shards."""
    found = _open.get(address)
    if found is None:
        while _open:
            _open.popitem()[1].close()
        found = _open[address] = WorkerShards(address)
    return found


_open: dict[str, WorkerShards] = {}
"""One at most."""


def take_source_rows(run: Run, source: str, rows: Sequence[SourceRow]) -> Iterator[tuple[Sequence[SourceRow], Commit]]:
    """Rows in as many commits as it takes; one that cannot be carried out is kept as a dead letter."""
    for some, done in carried_out(
        lambda them: run(batch_of(source, them)), rows, lambda row, it: row.request is it.item
    ):
        if isinstance(done, Exception):
            some = [_dead(row, done) for row in some]
            done = run(batch_of(source, some))
        yield some, done


def take_as_one(
    run: Run, rehearse: Callable[[Batch], None], source: str, rows: Sequence[SourceRow]
) -> tuple[Sequence[SourceRow], Commit]:
    """Rows in one commit, whichever of them have become dead letters; `rehearse` does all of a run but the commit."""
    rows = list(rows)
    while True:
        try:
            return rows, run(batch_of(source, rows))
        except Exception as error:
            culprit = _culprit(rehearse, source, rows, error) if is_items(error) else None
            if culprit is None or type(rows[culprit].request) is DeadLetter:
                raise
            rows[culprit] = _dead(rows[culprit], error)


def _culprit(rehearse: Callable[[Batch], None], source: str, rows: Sequence[SourceRow], error: Exception) -> int | None:
    """The one that is blamed; else the last of the shortest beginning that fails, too. None: there is none."""

    def fails(some: Sequence[SourceRow]) -> bool:
        try:
            rehearse(batch_of(source, some))
        except Exception as again:
            if not is_items(again):
                raise
            return True
        return False

    item = blamed(error).item
    known = next((number for number, row in enumerate(rows) if row.request is item), None)
    if known is not None or not fails(rows):
        return known
    works, broken = 0, len(rows)
    while broken - works > 1:
        middle = (works + broken) // 2
        if fails(rows[:middle]):
            broken = middle
        else:
            works = middle
    return broken - 1


def _dead(row: SourceRow, error: Exception) -> SourceRow:
    return row._replace(request=not_carried_out(row.request, row.at, error))


class _Numbered(NamedTuple):
    number: int
    request: Any


class _ShardTask:
    """What a task does on one shard."""

    def __init__(self, task: TaskRequest, shard: int) -> None:
        self._task, self._shard = task, shard
        self._here = worker_shards(task.address)

    def run(self, rows: Sequence[TaskRow]) -> Iterator[ResultRow]:
        """Rows by their numbers; one that cannot be carried out is answered with its error."""
        post = [row.number for row in rows if row.request == POST]
        if post:
            mail = self._here.mailbox(self._shard).collect()
            for done in [done for _, done in take_mail(self._run, mail)] or [self._run(Batch())]:
                yield _result(post[0], done, Reply())
        requests = [_Numbered(row.number, read_order(read_json(row.request))) for row in rows if row.request != POST]
        for some, outcome in carried_out(self._run_numbered, requests, lambda one, it: one.request is it.item):
            if isinstance(outcome, Exception):
                yield ResultRow(some[0].number, self._task.counter, _pickled(outcome), pickle.dumps({}), [])
                continue
            for one, reply in zip(some, outcome.replies, strict=True):
                yield _result(one.number, outcome, reply)

    def take(self, rows: Sequence[SourceRow], as_one: bool) -> TaskOutcome:
        """What other shards have sent so far is taken along."""
        mailbox = self._here.mailbox(self._shard)
        mail = mailbox.collect(most=MAIL_AT_ONCE)
        batch = batch_of(self._task.source, rows, mail)
        try:
            parts = [_taken(rows, self._run(batch))]
        except Exception as error:
            if not is_items(error):
                raise
            parts = list(self._take_carefully(rows, mail, as_one))
        mailbox.took(mail)
        return reduce(_both, parts)

    def _take_carefully(self, rows: Sequence[SourceRow], mail: Mail, as_one: bool) -> Iterator[TaskOutcome]:
        """The mail, then the rows; what cannot be carried out is set aside, or a dead letter."""
        source = self._task.source
        for _, done in take_mail(self._run, mail):
            yield _taken([], done)
        if as_one:
            rehearse = partial(self._here.rehearse, self._task.now, self._shard)
            yield _taken(*take_as_one(self._run, rehearse, source, rows))
        else:
            for some, done in take_source_rows(self._run, source, rows):
                yield _taken(some, done)

    def _run_numbered(self, requests: Sequence[_Numbered]) -> Commit:
        origin = Origin(self._task.source, [("", one.number) for one in requests])
        return self._run(Batch([one.request for one in requests], origin=origin))

    def _run(self, batch: Batch) -> Commit:
        batch.counter = self._task.counter
        return self._here.run(self._task.now, self._shard, batch)


def take_rows(task: TaskRequest, shard: int, rows: Sequence[SourceRow], as_one: bool = False) -> TaskOutcome:
    """Rows of a source, in one commit; or in several if one of them cannot be carried out, unless `as_one`."""
    return _ShardTask(task, shard).take(rows, as_one)


def run_task(task: TaskRequest, rows: Iterable[TaskRow]) -> Iterator[ResultRow]:
    """Rows in the order of shard and number, a bounded number in each commit."""
    for shard, mine in groupby(rows, key=lambda row: row.shard):
        while some := list(islice(mine, AT_ONCE)):
            yield from _ShardTask(task, shard).run(some)


def batch_of(source: str, rows: Sequence[SourceRow], mail: Mail = ()) -> Batch:
    return Batch([row.request for row in rows], mail, origin=Origin(source, [row.noted for row in rows]))


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
    both = zip(rows, replies, strict=True)
    letters = sum(type(row.request) is DeadLetter and not reply.repeated for row, reply in both)
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
