"""What the workers do: first rows become requests, anywhere; then the requests of a shard are committed, in order.

A commit notes how far it has read each part of the source, so a task that runs again, or twice at once, takes nothing
twice. Between its own commits it takes what other shards have sent to its shard.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from conjoin.pipeline.worker import make_ready
from conjoin.runtime.encoding.json_text import json_text, read_json
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.mapping import PLAIN, RowMapping, read_mapping
from conjoin.runtime.ingest.requests import read_request, written_request
from conjoin.runtime.ingest.rows import MOST_BYTES, Place, RowReader, dead
from conjoin.runtime.ingest.sources import envelope_of
from conjoin.runtime.placement import shard_of
from conjoin.runtime.tasks import Asking, take_rows

AT_ONCE = 1_000
ARRIVED = "part string, block bigint, place bigint, value binary, envelope string, problem string"
"""Rows as they arrive. Of some only the block is known in which they stand, and their places are counted here."""
_ARRIVED = ("part", "block", "place", "value", "envelope", "problem")
MAPPED = "shard int, part string, place bigint, request string"
_MAPPED = pa.schema([("shard", pa.int32()), ("part", pa.string()), ("place", pa.int64()), ("request", pa.string())])
TOLD = "shard int, counter bigint, receivers array<int>, counts map<string,bigint>"
_TOLD = pa.schema(
    [
        ("shard", pa.int32()),
        ("counter", pa.int64()),
        ("receivers", pa.list_(pa.int32())),
        ("counts", pa.map_(pa.string(), pa.int64())),
    ]
)


Begins = dict[tuple[str, int], int]
"""How many rows stand before each block of a part; those of a part's first block need not be said."""
_IGNORED = -1
"""The place of a row that is none: it says how many rows the mapping did not want."""


class Job(NamedTuple):
    """What all tasks of a batch know. `mapping` is as it was written, as JSON; it is compiled where it is used."""

    asking: Asking
    shards: int
    mapping: str | None
    begins: Begins
    largest: int = MOST_BYTES


@lru_cache(maxsize=8)
def _compiled(mapping: str | None) -> RowMapping:
    return PLAIN if mapping is None else read_mapping(read_json(mapping))


class IngestRow(NamedTuple):
    shard: int
    part: str
    place: int
    request: str


def mapping_task(job: Job) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        make_ready()
        reader = RowReader(_compiled(job.mapping), job.largest)
        counts = dict(job.begins)
        for batch in batches:
            part, block, place, *rest = (batch.column(name) for name in _ARRIVED)
            places = place.to_pylist() if not place.null_count else _counted(part, block, counts)
            columns = [part.to_pylist(), places, *(column.to_pylist() for column in rest)]
            mapped = [row for arrived in zip(*columns, strict=True) if (row := _mapped(job, reader, *arrived))]
            ignored = batch.num_rows - len(mapped)
            if ignored:
                mapped.append(IngestRow(0, "", _IGNORED, str(ignored)))
            yield _as_batch(mapped, _MAPPED)

    return run


def _counted(part: pa.Array, block: pa.Array, counts: Begins) -> list[int]:
    """Rows of a block come in their order, in one task."""
    places = []
    for key in zip(part.to_pylist(), block.to_pylist(), strict=True):
        counts[key] = counts.get(key, 0) + 1
        places.append(counts[key])
    return places


def _mapped(
    job: Job, reader: RowReader, part: str, place: int, value: bytes | None, envelope: str | None, problem: str | None
) -> IngestRow | None:
    at = Place(job.asking.source, part, place)
    request: Any
    if problem is not None or value is None:
        request = dead(at, "unreadable", problem or "has no value (a tombstone)", value or b"")
    else:
        request = reader.read(value, at, job.asking.now, envelope_of(envelope))
    if request is None:
        return None
    # A row without a key of its own stays with its part, so that each part of a source is read in order.
    home = part if type(request) is DeadLetter else request.key
    return IngestRow(shard_of(home, job.shards), part, place, json_text(written_request(request)))


def commit_task(asking: Asking) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        make_ready()
        rows = (
            IngestRow(*row)
            for batch in batches
            for row in zip(*(batch.column(name).to_pylist() for name in _MAPPED.names), strict=True)
        )
        for shard, mine in groupby(rows, key=attrgetter("shard")):
            while some := list(islice(mine, AT_ONCE)):
                yield _told(asking, shard, some)

    return run


def _told(asking: Asking, shard: int, rows: Sequence[IngestRow]) -> pa.RecordBatch:
    fresh = [row for row in rows if row.place != _IGNORED]
    ignored = sum(int(row.request) for row in rows if row.place == _IGNORED)
    requests = [read_request(read_json(row.request)) for row in fresh]
    taken = take_rows(asking, shard, requests, [(row.part, row.place) for row in fresh])
    counts = Counter(taken.verdicts)
    counts["rows"], counts["ignored"] = len(fresh) + ignored, ignored
    counts["repeated"], counts["dead_letters"] = taken.repeated, taken.dead_letters
    return _as_batch([(shard, taken.counter, taken.receivers, list(counts.items()))], _TOLD)


def _as_batch(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
