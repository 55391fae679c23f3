"""A task: requests of one shard, carried out in a process that others started (a Spark worker).

A task may be run twice, beside itself, or again after its shard has moved on. Each request has a number; a commit notes
the last one it took, and what is at or below it is not taken again. So whatever happens to tasks, each request is
carried out once. The answer to one that was taken before is not known here any more. A request that cannot be carried
out fails alone: it is answered with its error, or, as a row of a source, kept as a dead letter; the task goes on.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby, islice
from typing import Any, NamedTuple

from conjoin.errors import ConjoinError
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import read_order
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run.batches import Batch, Commit, Origin, Reply
from conjoin.runtime.run.carriers.careful import Mail, SourceRow, carried_out, take_as_one, take_mail, take_source_rows
from conjoin.runtime.run.carriers.worker_shards import MAIL_AT_ONCE, worker_shards
from conjoin.runtime.run.sweeping import is_items
from conjoin.runtime.upkeep.supervision import text_of

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


class _ShardTask:
    """What a task does on one shard."""

    def __init__(self, asking: TaskRequest, shard: int) -> None:
        self._asking, self._shard = asking, shard
        self._here = worker_shards(asking.address)

    def run(self, rows: Sequence[TaskRow]) -> Iterator[ResultRow]:
        """Rows by their numbers; one that cannot be carried out is answered with its error."""
        post = [row.number for row in rows if row.request == POST]
        if post:
            mail = self._here.mailbox(self._shard).collect()
            for done in [done for _, done in take_mail(self._run, mail)] or [self._run(Batch())]:
                yield _result(post[0], done, Reply())
        asked = [_Numbered(row.number, read_order(read_json(row.request))) for row in rows if row.request != POST]
        for some, outcome in carried_out(
            lambda them: self._run(_batch_of(self._asking, them)), asked, lambda one, it: one.request is it.item
        ):
            if isinstance(outcome, Exception):
                yield ResultRow(some[0].number, self._asking.counter, _pickled(outcome), pickle.dumps({}), [])
                continue
            for one, reply in zip(some, outcome.replies, strict=True):
                yield _result(one.number, outcome, reply)

    def take(self, rows: Sequence[SourceRow], as_one: bool) -> TaskOutcome:
        """What other shards have sent so far is taken along."""
        mailbox = self._here.mailbox(self._shard)
        mail = mailbox.collect(most=MAIL_AT_ONCE)
        places = [row.noted for row in rows]
        batch = Batch([row.request for row in rows], mail, origin=Origin(self._asking.source, places))
        try:
            parts = [_taken(rows, self._run(batch))]
        except Exception as error:
            if not is_items(error):
                raise
            parts = list(self._take_carefully(rows, mail, as_one))
        mailbox.took(mail)
        return reduce(_both, parts)

    def _take_carefully(self, rows: Sequence[SourceRow], mail: Mail, as_one: bool) -> Iterator[TaskOutcome]:
        """The mail, then the rows; who cannot be carried out is set aside, or a dead letter."""
        source = self._asking.source
        for _, done in take_mail(self._run, mail):
            yield _taken([], done)
        if as_one:
            rehearse = partial(self._here.rehearse, self._asking.now, self._shard)
            yield _taken(*take_as_one(self._run, rehearse, source, rows))
        else:
            for some, done in take_source_rows(self._run, source, rows):
                yield _taken(some, done)

    def _run(self, batch: Batch) -> Commit:
        batch.counter = self._asking.counter
        return self._here.run(self._asking.now, self._shard, batch)


def take_rows(asking: TaskRequest, shard: int, rows: Sequence[SourceRow], as_one: bool = False) -> TaskOutcome:
    """Rows of a source, in one commit; or in several if one of them cannot be carried out, unless `as_one`."""
    return _ShardTask(asking, shard).take(rows, as_one)


def run_task(asking: TaskRequest, rows: Iterable[TaskRow]) -> Iterator[ResultRow]:
    """Rows in the order of shard and number, a bounded number in each commit."""
    for shard, mine in groupby(rows, key=lambda row: row.shard):
        while some := list(islice(mine, AT_ONCE)):
            yield from _ShardTask(asking, shard).run(some)


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
