"""The writers: `df.write.format("conjoin")` and `df.writeStream.format("conjoin")` publish what is in the frame.

Tasks make messages of rows: each with its position, and its columns as a JSON object (instants and dates in ISO 8601,
bytes in base64, decimals with all their digits; records of Kafka as they are). What a task has made waits in its commit
message, which Spark keeps until the whole write is committed: so nobody sees a row before that, of tasks that ran twice
one counts, and a write that ends early leaves nothing behind. The commit, on the driver, hands the messages to the
commits of `ingest`, shard by shard. Each of those notes how far it has come, so a write or a batch that is repeated
publishes nothing twice.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import ipc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from conjoin.errors import InputError, StoreFailed
from conjoin.pipeline.ingest.batch import Ingested, settled
from conjoin.pipeline.ingest.frames import HASH_DIGITS, NOWHERE, no_place
from conjoin.pipeline.ingest.packs import MAPPED, Pack
from conjoin.pipeline.ingest.tasks import ARRIVED, ROW_BITS, IngestTask, Whole, commit_packs, mapping_task, packs_in
from conjoin.pipeline.session.arrow_rows import to_batch
from conjoin.pipeline.session.worker import make_ready
from conjoin.pipeline.source.options import WriteOptions
from conjoin.runtime.codec.json_text import json_bytes, json_text
from conjoin.runtime.opening import now_us, open_broker
from conjoin.runtime.run.carriers.spark_tasks import TaskRequest

Row = dict[str, Any]
_Arrived = tuple[str, int, int, bytes | None, str | None, str | None]
"""As in `tasks.ARRIVED`."""


class Numbering(NamedTuple):
    """How rows without places of their own are numbered: in which part, from which number on."""

    part: str
    first: int


def arriving(
    batches: Iterable[pa.RecordBatch], request: WriteOptions, numbering: Numbering
) -> Iterator[pa.RecordBatch]:
    read = _record if request.is_kafka else _placed(request) if request.position else _numbered(numbering)
    for batch in batches:
        yield to_batch([read(row) for row in batch.to_pylist(maps_as_pydicts="lossy")], ARRIVED)


def _placed(request: WriteOptions) -> Callable[[Row], _Arrived]:
    position, part = request.position or "", request.part

    def read(row: Row) -> _Arrived:
        place = row[position]
        within = "" if part is None or row[part] is None else str(row[part])
        if place is None or place < 0:
            text = json_bytes(row)
            part_of_its_own = f"{within}{NOWHERE}{sha256(text).hexdigest()[:HASH_DIGITS]}"
            return part_of_its_own, 0, 0, text, None, no_place(position)
        return within, 0, place, json_bytes(row), None, None

    return read


def _numbered(numbering: Numbering) -> Callable[[Row], _Arrived]:
    numbers = count(numbering.first)
    return lambda row: (numbering.part, 0, next(numbers), json_bytes(row), None, None)


def _record(row: Row) -> _Arrived:
    at = row["timestamp"]
    headers = row.get("headers")
    record = {
        "topic": row["topic"],
        "partition": row["partition"],
        "offset": row["offset"],
        "timestamp": at and at.isoformat(timespec="milliseconds"),
        "key": _text(row["key"]),
        "headers": None if headers is None else {it["key"]: _text(it["value"]) for it in headers},
    }
    part = f"{row['topic']}-{row['partition']}"
    return part, 0, row["offset"], row["value"], json_text(record), None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


_COMPRESSED = ipc.IpcWriteOptions(compression="zstd")
_AT_ONCE = 1_000
_ORDER = [(name, "ascending") for name in ("shard", "part", "place")]


@dataclass
class Staged(WriterCommitMessage):
    """The packs of one task, in the order of their shards, parts and places."""

    packs: bytes
    shards: int
    """How many the store had when it was decided which of them a row belongs to."""
    query: str
    """Of a stream; else empty."""


def staged(mapped: Iterable[pa.RecordBatch], shards: int, query: str) -> Staged:
    """`mapped` is as in `packs.MAPPED`."""
    table = pa.Table.from_batches(mapped, MAPPED).sort_by(_ORDER)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, MAPPED, options=_COMPRESSED) as stream:
        stream.write_table(table, _AT_ONCE)
    return Staged(sink.getvalue().to_pybytes(), shards, query)


def in_order(messages: Sequence[Staged]) -> Iterator[Pack]:
    """The packs of all tasks."""
    return heapq.merge(*map(_unpacked, messages), key=lambda pack: pack[:3])


def _unpacked(message: Staged) -> Iterator[Pack]:
    with ipc.open_stream(message.packs) as stream:
        for batch in stream:
            yield from packs_in(batch)


_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells the tasks of a stream: the id of its query, which a new checkpoint changes, and of the batch."""


class _Publishing:
    """What both writers do. They know how many shards the store had when the write was planned."""

    def __init__(self, request: WriteOptions) -> None:
        self._request = request
        with closing(open_broker(request.address)) as broker:
            self._shards = broker.shard_count

    def write(self, iterator: Iterable[pa.RecordBatch]) -> Staged:
        query, numbering = _this_task()
        rows = arriving(iterator, self._request, numbering)
        # Rows of a frame come in no order that is known, so each is a pack of its own.
        job = _job(self._request, self._shards)._replace(in_pack=1)
        return staged(mapping_task(job)(rows), self._shards, query)


class ConjoinWriter(_Publishing, DataSourceArrowWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        publish(self._request, [it for it in messages if isinstance(it, Staged)])


class ConjoinStreamWriter(_Publishing, DataSourceStreamArrowWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        found = [it for it in messages if isinstance(it, Staged)]
        has_places = self._request.position is not None or self._request.is_kafka
        whole = None if has_places or not found else Whole(_query_of(found), batchId)
        publish(self._request, found, whole)


def publish(request: WriteOptions, messages: Sequence[Staged], whole: Whole | None = None) -> Ingested:
    make_ready()
    with closing(open_broker(request.address)) as broker:
        shards = broker.shard_count
        if any(it.shards != shards for it in messages):
            raise StoreFailed(f"{request.address} has got another number of shards meanwhile: write again")
        commits = commit_packs(_job(request, shards)._replace(whole=whole), in_order(messages))
        return settled(broker, (row for batch in commits for row in batch.to_pylist()))


def _job(request: WriteOptions, shards: int) -> IngestTask:
    return IngestTask(TaskRequest(request.address, request.source, now_us(), 0), shards, request.mapping, {})


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
