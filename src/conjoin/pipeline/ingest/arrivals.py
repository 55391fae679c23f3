"""In a worker: rows for a channel of the inbox are read as the channel says, and committed on their shard, each once.

Those that stand side by side in a part are stored together, and noted by the last of their places. What was taken
before is left out beforehand; if another task has been faster even so, its commit is found, or the ids of its messages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.policies import Policies
from conjoin.pipeline.ingest.packs import IngestRow
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.inbox.receiving import ChannelRows, Headers, Reception, Row
from conjoin.runtime.inbox.requests import InboxArrivals
from conjoin.runtime.inbox.rows import Filed
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.requests import IngestRequest
from conjoin.runtime.ingest.rows import NO_VALUE, SourcePosition
from conjoin.runtime.ingest.value_format import unframed_json
from conjoin.runtime.run.batches import Commit, Reply
from conjoin.runtime.run.carriers.spark_tasks import SourceRow, TaskRequest, batch_of, take_source_rows, worker_shards
from conjoin.runtime.run.isolation import is_items
from conjoin.runtime.run.mailbox import Run

KAFKA_KEY = "kafka_key"
"""The key of a record of Kafka, among its headers."""
_ONE_SHARD = 1
"""Where a message lives is asked later."""


class Into(NamedTuple):
    """A channel that takes rows, by its own mapping, and the settings of its inbox."""

    channel: Channel
    settings: InboxSettings
    policies: Policies = Policies()
    """Of the store; whoever makes a job for it sets them."""


Read = Callable[[SourcePosition, bytes | None, str | None, str | None], IngestRequest | None]
"""What a row is: its value with its envelope, or why there is none."""


def read_arrival(into: Into, now: int) -> Read:
    reader = ChannelRows(into.channel, into.settings)

    def read(
        at: SourcePosition, value: bytes | None, envelope: str | None, problem: str | None
    ) -> Filed | DeadLetter | None:
        if not (problem or value is None or value.strip()):
            return None
        problem = problem or (NO_VALUE if value is None else "")
        content = value or b"" if envelope is None else unframed_json(value or b"")
        row = Row(at.part or at.source, at.position, content, _headers(envelope), problem)
        reception = Reception(into.channel, into.settings, _ONE_SHARD, into.policies)
        reception.take([reader.take(row, now)])
        for _, request in reception.requests():
            return request.arrivals[0] if request.arrivals else request.dead_letters[0]
        return None

    return read


def _headers(envelope: str | None) -> Headers:
    if envelope is None:
        return ()
    record = read_json(envelope)
    key = () if record["key"] is None else ((KAFKA_KEY, record["key"]),)
    return (*key, *(record["headers"] or {}).items())


def take_arrivals(asking: TaskRequest, shard: int, rows: Sequence[IngestRow]) -> Counter[str]:
    """What came of them, by the names of `Ingested`."""
    here = worker_shards(asking.address)
    taken = here.positions(asking.source, shard, sorted({row.part for row in rows}))
    fresh = [row for row in rows if row.place > taken.get(row.part, -1)]
    counts = Counter(rows=len(rows), repeated=len(rows) - len(fresh))
    if fresh:
        run = partial(here.run, asking.now, shard)
        for some, done in _taken(run, asking.source, fresh):
            for row, reply in zip(some, done.replies, strict=True):
                counts.update(_counted(row.request, reply))
    return counts


def _taken(run: Run, source: str, rows: Sequence[IngestRow]) -> Iterator[tuple[Sequence[SourceRow], Commit]]:
    """In one commit; if a row cannot be stored, each is a request of its own, and that one a dead letter."""
    together = list(_together(source, rows))
    try:
        yield together, run(batch_of(source, together))
        return
    except Exception as error:
        if not is_items(error):
            raise
    yield from take_source_rows(run, source, [_alone(source, row) for row in rows])


def _alone(source: str, row: IngestRow) -> SourceRow:
    """The dead letters of a channel have its name as their source."""
    noted = (row.part, row.place)
    if not isinstance(row.request, Filed):
        return SourceRow(row.request, noted, SourcePosition(source, *noted))
    return SourceRow(
        InboxArrivals([row.request]), noted, SourcePosition(row.request.message.channel, row.part or source, row.place)
    )


def _together(source: str, rows: Iterable[IngestRow]) -> Iterator[SourceRow]:
    for (_, is_dead), some in groupby(rows, key=lambda row: (row.part, type(row.request) is DeadLetter)):
        alike = list(some)
        if is_dead:
            yield from (_alone(source, row) for row in alike)
        else:
            filed = [row.request for row in alike if isinstance(row.request, Filed)]
            yield _alone(source, alike[-1])._replace(request=InboxArrivals(filed))


def _counted(request: InboxArrivals | DeadLetter, reply: Reply) -> dict[str, int]:
    if reply.repeated:
        return {"repeated": len(request.arrivals) if isinstance(request, InboxArrivals) else 1}
    if isinstance(request, DeadLetter):
        return {"dead_letters": 1}
    return {"persisted": reply.inbox.counts.persisted, "duplicates": reply.inbox.counts.duplicate}
