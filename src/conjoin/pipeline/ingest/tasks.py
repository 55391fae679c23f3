"""What the workers do: first rows become requests, anywhere; then the requests of a shard are committed, in order.

A commit notes how far it has read each part of the source, so a task that runs again, or twice at once, takes nothing
twice. Between its own commits it takes what other shards have sent to its shard.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

import pyarrow as pa

from conjoin.errors import RegistryFailed
from conjoin.pipeline.ingest.arrivals import Into, Read, read_arrival, take_arrivals
from conjoin.pipeline.ingest.packs import IN_PACK, MAPPED, IngestRow, Pack, Packer, no_rows, rows_of
from conjoin.pipeline.session.arrow_rows import to_batch
from conjoin.pipeline.session.worker import in_worker
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.placement import home_of
from conjoin.runtime.inbox.rows import Filed, text_to_keep
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.mapping import PLAIN, RowMapping, read_mapping
from conjoin.runtime.ingest.requests import IngestRequest
from conjoin.runtime.ingest.rows import RowReader, SourcePosition, dead
from conjoin.runtime.run.batches import row_place, rows_source
from conjoin.runtime.run.carriers.spark_tasks import SourceRow, TaskRequest, take_rows, worker_shards
from conjoin.runtime.upkeep.supervision import text_of

AT_ONCE = 1_000
ARRIVED = pa.schema(
    [
        *(("part", pa.string()), ("block", pa.int64()), ("place", pa.int64())),
        *(("value", pa.binary()), ("envelope", pa.string()), ("problem", pa.string())),
    ]
)
"""Rows as they arrive. Of some only the block is known in which they stand, and their places are counted here."""
COMMITTED = pa.schema(
    [("shard", pa.int32()), ("receivers", pa.list_(pa.int32())), ("counts", pa.map_(pa.string(), pa.int64()))]
)


NOT_COUNTED = "nobody knows how many rows stand before a block"
Begins = dict[tuple[str, int], int]
"""How many rows stand before each block of a part; those of a part's first block need not be given."""


ROW_BITS = 32
_LAST_ROW = (1 << ROW_BITS) - 1


class Whole(NamedTuple):
    """A batch whose rows have no places that last: on each shard it is one commit, which notes its number."""

    part: str
    number: int

    def places(self, rows: int) -> list[tuple[str, int]]:
        """They grow, and the last is that of any batch with this number, whatever the order of its rows."""
        first = self.number << ROW_BITS
        return [*((self.part, first + row) for row in range(rows - 1)), (self.part, first + _LAST_ROW)]


class IngestTask(NamedTuple):
    """What all tasks of a batch know. `mapping` is as it was written, as JSON; it is compiled where it is used."""

    asking: TaskRequest
    shards: int
    mapping: str | None
    begins: Begins
    into: Into | None = None
    """The channel that takes the rows; None: they are published."""
    in_pack: int = IN_PACK
    whole: Whole | None = None
    """None: rows are known by their own places."""
    alone: bool = False
    """Rows of a part may come in any order, in several tasks: each is noted by itself, until all are committed."""
    after_write: bool = False
    """One whose rows are noted so has not come to its end: what it has committed is only in its notes."""


@lru_cache(maxsize=8)
def _compiled(mapping: str | None) -> RowMapping:
    return PLAIN if mapping is None else read_mapping(read_json(mapping))


def _reading(job: IngestTask) -> Read:
    now, into = job.asking.now, job.into
    if into is not None:
        return read_arrival(into, now)
    reader = RowReader(_compiled(job.mapping))

    def read(
        at: SourcePosition, value: bytes | None, envelope: str | None, problem: str | None
    ) -> IngestRequest | None:
        if problem is not None:
            return dead(at, "unreadable", problem, value or b"")
        return reader.read(value, at, now, envelope)

    return read


def mapping_task(job: IngestTask) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    @in_worker
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read = _reading(job)
        counts = dict(job.begins)
        for batch in batches:
            yield to_batch(_mapped(job, read, batch, counts), MAPPED)

    return run


def _mapped(job: IngestTask, read: Read, batch: pa.RecordBatch, counts: Begins) -> list[Pack]:
    part, block, place, *rest = (batch.column(name) for name in ARRIVED.names)
    parts = part.to_pylist()
    places = place.to_pylist() if not place.null_count else _counted(parts, block.to_pylist(), counts)
    packer, ignored = Packer(job.in_pack), 0
    for at, where, value, envelope, problem in zip(parts, places, *(it.to_pylist() for it in rest), strict=True):
        position = SourcePosition(job.asking.source, at, where)
        try:
            request = read(position, value, envelope, problem)
        except RegistryFailed:
            raise
        except Exception as error:  # noqa: BLE001 - the border of a row: whatever it is, the others are read
            request = dead(position, "unreadable", text_to_keep(text_of(error)), value or b"")
        if request is None:
            ignored += 1
        else:
            packer.add(IngestRow(_shard(request, at, job.shards), at, where, request), len(value or b""))
    packs = packer.packs()
    return [*packs, no_rows(ignored)] if ignored else packs


def _counted(parts: Sequence[str], blocks: Sequence[int], counts: Begins) -> list[int]:
    """Rows of a block come in their order, in one task."""
    places = []
    for key in zip(parts, blocks, strict=True):
        if key not in counts and key[1]:
            raise RuntimeError(f"{NOT_COUNTED}: {key[0]} from byte {key[1]:,} on")
        counts[key] = counts.get(key, 0) + 1
        places.append(counts[key])
    return places


def _shard(request: IngestRequest, part: str, shards: int) -> int:
    """A row without a key of its own stays with its part, so that each part of a source is read in order."""
    if type(request) is DeadLetter:
        return shard_of(part, shards)
    if type(request) is Filed:
        return home_of(request.message, shards)
    return shard_of(request.key, shards)  # type: ignore[union-attr]


def commit_task(job: IngestTask) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    @in_worker
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from commit_packs(job, (pack for batch in batches for pack in packs_in(batch)))

    return run


def packs_in(batch: pa.RecordBatch) -> Iterator[Pack]:
    return map(Pack, *(batch.column(name).to_pylist() for name in MAPPED.names))


def commit_packs(job: IngestTask, packs: Iterable[Pack]) -> Iterator[pa.RecordBatch]:
    """Packs in the order of their shards, parts and places."""
    at_once = AT_ONCE if job.whole is None else None
    for (shard, ignored), mine in groupby(packs, key=attrgetter("shard", "ignored")):
        if ignored:
            count = sum(it.ignored for it in mine)
            yield _committed(shard, [], {"rows": count, "ignored": count})
            continue
        rows = rows_of(mine)
        while some := list(islice(rows, at_once)):
            if job.into is None:
                if job.after_write:
                    some, count = _without_noted(job, shard, some)
                    yield _committed(shard, [], {"rows": count, "repeated": count})
                if some:
                    yield _commit(job, shard, some)
            else:
                yield _committed(shard, [], take_arrivals(job.asking, shard, some))


def _commit(job: IngestTask, shard: int, rows: Sequence[IngestRow]) -> pa.RecordBatch:
    asking = job.asking._replace(source=rows_source(job.asking.source)) if job.alone else job.asking
    asked = [
        SourceRow(row.request, noted, SourcePosition(job.asking.source, row.part, row.place))
        for row, noted in zip(rows, _places(job, rows), strict=True)
    ]
    taken = take_rows(asking, shard, asked, as_one=job.whole is not None)
    counts = Counter(taken.verdicts)
    counts["rows"], counts["repeated"], counts["dead_letters"] = len(rows), taken.repeated, taken.dead_letters
    return _committed(shard, taken.receivers, counts)


def _without_noted(job: IngestTask, shard: int, rows: Sequence[IngestRow]) -> tuple[list[IngestRow], int]:
    """The rows that have no note of their own, and how many have."""
    names = [row_place(row.part, row.place)[0] for row in rows]
    noted = worker_shards(job.asking.address).positions(rows_source(job.asking.source), shard, names)
    fresh = [row for row, name in zip(rows, names, strict=True) if name not in noted]
    return fresh, len(rows) - len(fresh)


def _places(job: IngestTask, rows: Sequence[IngestRow]) -> list[tuple[str, int]]:
    if job.whole is not None:
        return job.whole.places(len(rows))
    return [row_place(row.part, row.place) if job.alone else (row.part, row.place) for row in rows]


def _committed(shard: int, receivers: list[int], counts: dict[str, int]) -> pa.RecordBatch:
    return to_batch([(shard, receivers, list(counts.items()))], COMMITTED)
