"""Staged rows: those of a write that must be published together, or in the order of all their positions.

What a task has made waits in its commit message, which Spark keeps in the driver until the whole write is committed: so
nobody sees a row before that, of tasks that ran twice one counts, and a write that ends early leaves nothing behind.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import ipc
from pyspark.sql.datasource import WriterCommitMessage

from conjoin.errors import StoreFailed
from conjoin.pipeline.ingest.batch import Ingested, settled
from conjoin.pipeline.ingest.packs import MAPPED, Pack
from conjoin.pipeline.ingest.tasks import IngestTask, commit_packs, packs_in
from conjoin.pipeline.source.written_rows import last_places
from conjoin.runtime.ingest.row_notes import has_notes, settle_notes
from conjoin.runtime.opening import open_broker
from conjoin.shown_urls import shown_url

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
    reached: dict[str, int]
    """The last place in each part."""


def staged(mapped: Iterable[pa.RecordBatch], shards: int, query: str, reached: dict[str, int]) -> Staged:
    """`mapped` is as in `packs.MAPPED`; `reached` is filled by it."""
    table = pa.Table.from_batches(mapped, MAPPED).sort_by(_ORDER)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, MAPPED, options=_COMPRESSED) as stream:
        stream.write_table(table, _AT_ONCE)
    return Staged(sink.getvalue().to_pybytes(), shards, query, reached)


def in_order(messages: Sequence[Staged]) -> Iterator[Pack]:
    """The packs of all tasks."""
    return heapq.merge(*map(_unpacked, messages), key=lambda pack: pack[:3])


def _unpacked(message: Staged) -> Iterator[Pack]:
    with ipc.open_stream(message.packs) as stream:
        for batch in stream:
            yield from packs_in(batch)


def publish_staged(job: IngestTask, messages: Sequence[Staged]) -> Ingested:
    """Without what a write has published whose tasks commit on their own, and which broke off."""
    source = job.asking.source
    with closing(open_broker(job.asking.address)) as broker:
        if any(it.shards != broker.shard_count for it in messages):
            raise StoreFailed(
                f"{shown_url(job.asking.address)} has got another number of shards meanwhile: write again"
            )
        after_write = job.whole is None and has_notes(broker.store, source)
        commits = commit_packs(job._replace(after_write=after_write), in_order(messages))
        done = settled(broker, (row for batch in commits for row in batch.to_pylist()))
        if after_write:
            settle_notes(broker.store, source, last_places(it.reached for it in messages))
        return done
