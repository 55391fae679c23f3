"""The writers: `df.write.format("conjoin")` and `df.writeStream.format("conjoin")` publish what is in the frame.

Tasks make messages of rows and commit them themselves, shard by shard, each row with a note of its own: whatever tasks
run again, or twice at once, and in whatever order, a row is published once. A write or a batch that is repeated goes on
after what was published. When all tasks are done the driver delivers what shards sent to each other, and the furthest
position of each part takes the place of the notes.

Rows that stand nowhere (a stream without positions), or that are to be in order across tasks, are staged instead.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from conjoin.errors import InputError, StoreFailed
from conjoin.pipeline.ingest.tasks import ROW_BITS, IngestTask, Whole, commit_packs, mapping_task, packs_in
from conjoin.pipeline.session.worker import ready_worker
from conjoin.pipeline.source.options import WriteOptions
from conjoin.pipeline.source.staged import Staged, publish_staged, staged
from conjoin.pipeline.source.written_rows import Numbering, arriving, last_places, noting_last
from conjoin.runtime.ingest.row_notes import settle_notes
from conjoin.runtime.opening import now_us, open_broker
from conjoin.runtime.run.carriers.spark_tasks import TaskRequest, worker_shards
from conjoin.shown_urls import shown_url


@dataclass
class PublishedRows(WriterCommitMessage):
    """What a task has committed: up to where in each part, and the shards that have mail now."""

    reached: dict[str, int]
    receivers: set[int]


Told = Sequence[WriterCommitMessage | None]
"""What tasks have answered."""


def published(job: IngestTask, mapped: Iterable[pa.RecordBatch], first: int, reached: dict[str, int]) -> PublishedRows:
    """`mapped` is as in `packs.MAPPED`; `reached` is filled by it. Tasks that run side by side begin with different
    shards: they race less."""
    if worker_shards(job.asking.address).shards != job.shards:
        raise StoreFailed(f"{shown_url(job.asking.address)} has got another number of shards meanwhile: write again")
    done = PublishedRows(reached, set())
    for batch in mapped:
        packs = sorted(packs_in(batch), key=lambda pack: (pack.shard - first) % job.shards)
        for commit in commit_packs(job, packs):
            for receivers in commit.column("receivers").to_pylist():
                done.receivers.update(receivers)
    return done


def finish(job: IngestTask, done: Sequence[PublishedRows]) -> None:
    """All tasks have committed."""
    receivers = {shard for it in done for shard in it.receivers}
    with closing(open_broker(job.asking.address)) as broker:
        if receivers:
            broker.post.deliver(sorted(receivers))
            broker.post.forget_delivered()
        settle_notes(broker.store, job.asking.source, last_places(it.reached for it in done))


_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells the tasks of a stream: the id of its query, which a new checkpoint changes, and of the batch."""


class _Publishing:
    """What both writers do. They know how many shards the store had when the write was planned."""

    def __init__(self, request: WriteOptions, is_stream: bool = False) -> None:
        self._request = request
        has_places = request.position is not None or request.is_kafka
        self._is_whole = is_stream and not has_places
        """A batch of a stream is one commit on each shard."""
        with closing(open_broker(request.address)) as broker:
            self._shards = broker.shard_count

    def write(self, iterator: Iterable[pa.RecordBatch]) -> Staged | PublishedRows:
        task = _this_task()
        reached: dict[str, int] = {}
        rows = noting_last(arriving(iterator, self._request, task.numbering), reached)
        with ready_worker():
            if self._is_staged:
                # Rows of a frame come in no order that is known, so each is a pack of its own.
                job = self._job()._replace(in_pack=1)
                return staged(mapping_task(job)(rows), self._shards, task.query, reached)
            job = self._job()._replace(alone=True)
            return published(job, mapping_task(job)(rows), task.number, reached)

    @property
    def _is_staged(self) -> bool:
        return self._is_whole or self._request.in_order

    def _job(self) -> IngestTask:
        request = self._request
        asking = TaskRequest(request.address, request.source, now_us(), 0)
        return IngestTask(asking, self._shards, request.mapping, {})

    def _commit(self, told: Told, number: int = 0) -> None:
        job, waiting = self._job(), [it for it in told if isinstance(it, Staged)]
        if waiting:
            whole = Whole(_query_of(waiting), number) if self._is_whole else None
            publish_staged(job._replace(whole=whole), waiting)
        elif not self._is_staged:
            finish(job, [it for it in told if isinstance(it, PublishedRows)])


class ConjoinWriter(_Publishing, DataSourceArrowWriter):
    def commit(self, messages: Told) -> None:
        self._commit(messages)


class ConjoinStreamWriter(_Publishing, DataSourceStreamArrowWriter):
    def __init__(self, request: WriteOptions) -> None:
        super().__init__(request, is_stream=True)

    def commit(self, messages: Told, batchId: int) -> None:  # noqa: N803 - Spark's name
        self._commit(messages, batchId)


class ThisTask(NamedTuple):
    """Its query if it is of a stream, its number, and how its rows are numbered."""

    query: str
    number: int
    numbering: Numbering


def _this_task() -> ThisTask:
    """Rows are numbered in the order of the tasks, in a part that all of them share, as the shard of a dead letter
    follows from its part and must not depend on how rows were cut into tasks."""
    task = TaskContext.get()
    if task is None:
        return ThisTask("", 0, Numbering("", 0))
    query, batch = task.getLocalProperty(_QUERY) or "", task.getLocalProperty(_BATCH) or ""
    number = task.partitionId()
    return ThisTask(query, number, Numbering(f"{query}-{batch}", number << ROW_BITS))


def _query_of(messages: Sequence[Staged]) -> str:
    query = messages[0].query
    if not query:
        raise InputError(["position: name the column that tells rows apart and grows: Spark does not name the query"])
    return query
