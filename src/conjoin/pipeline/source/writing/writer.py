"""The writers: `df.write.format("conjoin")` and `df.writeStream.format("conjoin")` publish what is in the frame.

Tasks make messages of rows and stage them; the commit, on the driver, hands them to the commits of `ingest`, shard by
shard. Each of those notes how far it has come, so a write or a batch that is repeated publishes nothing twice.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from conjoin.errors import InputError, StoreFailed
from conjoin.pipeline.ingest.batch import Ingested, settled
from conjoin.pipeline.ingest.tasks import ROW_BITS, IngestTask, Whole, commit_packs, mapping_task
from conjoin.pipeline.session.worker import make_ready
from conjoin.pipeline.source.writing.options import WriteOptions
from conjoin.pipeline.source.writing.rows import Numbering, arriving
from conjoin.pipeline.source.writing.staging import Staged, in_order, staged
from conjoin.runtime.opening import now_us, open_broker
from conjoin.runtime.run.carriers.spark_tasks import TaskRequest

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells the tasks of a stream: the id of its query, which a new checkpoint changes, and of the batch."""


class _Publishing:
    """What both writers do. They know how many shards the store had when the write was planned."""

    def __init__(self, asked: WriteOptions) -> None:
        self._asked = asked
        with closing(open_broker(asked.address)) as broker:
            self._shards = broker.shard_count

    def write(self, iterator: Iterable[pa.RecordBatch]) -> Staged:
        query, numbering = _this_task()
        rows = arriving(iterator, self._asked, numbering)
        # Rows of a frame come in no order that is known, so each is a pack of its own.
        job = _job(self._asked, self._shards)._replace(in_pack=1)
        return staged(mapping_task(job)(rows), self._shards, query)


class ConjoinWriter(_Publishing, DataSourceArrowWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        publish(self._asked, [it for it in messages if isinstance(it, Staged)])


class ConjoinStreamWriter(_Publishing, DataSourceStreamArrowWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        found = [it for it in messages if isinstance(it, Staged)]
        has_places = self._asked.position is not None or self._asked.is_kafka
        whole = None if has_places or not found else Whole(_query_of(found), batchId)
        publish(self._asked, found, whole)


def publish(asked: WriteOptions, messages: Sequence[Staged], whole: Whole | None = None) -> Ingested:
    make_ready()
    with closing(open_broker(asked.address)) as broker:
        shards = broker.shard_count
        if any(it.shards != shards for it in messages):
            raise StoreFailed(f"{asked.address} has got another number of shards meanwhile: write again")
        told = commit_packs(_job(asked, shards)._replace(whole=whole), in_order(messages))
        return settled(broker, (row for batch in told for row in batch.to_pylist()))


def _job(asked: WriteOptions, shards: int) -> IngestTask:
    return IngestTask(TaskRequest(asked.address, asked.source, now_us(), 0), shards, asked.mapping, {})


def _this_task() -> tuple[str, Numbering]:
    """The query, and the numbers of this task's rows: in the order of the tasks, in a part that all of them share, as
    the shard of a dead letter follows from its part and must not depend on how rows were cut into tasks."""
    task = TaskContext.get()
    if task is None:
        return "", Numbering("", 0)
    query, batch = task.getLocalProperty(_QUERY) or "", task.getLocalProperty(_BATCH) or ""
    return query, Numbering(f"{query}-{batch}", task.partitionId() << ROW_BITS)


def _query_of(messages: Sequence[Staged]) -> str:
    query = messages[0].query
    if not query:
        raise InputError(["position: name the column that tells rows apart and grows: Spark does not name the query"])
    return query
