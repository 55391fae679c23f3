"""In a worker: rows for a channel of the inbox are read as the channel says, and committed on their shard, each once.

Those that stand side by side in a part are stored together, and noted by the last of their places. What was taken
before is left out beforehand; if another task has been faster even so, its commit is found, or the ids of its messages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.pipeline.inbox.workplace import workplace_at
from conjoin.pipeline.ingest.packs import IngestRow
from conjoin.runtime.batches import Batch, Origin, Reply
from conjoin.runtime.encoding.json_text import read_json
from conjoin.runtime.inbox.channel_rows import ChannelRows, Headers, Row
from conjoin.runtime.inbox.receiving import Reception
from conjoin.runtime.inbox.requests import InboxArrivals
from conjoin.runtime.inbox.rows import Filed
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.rows import Place
from conjoin.runtime.tasks import Asking

NO_VALUE = "has no value (a tombstone)"
KAFKA_KEY = "kafka_key"
"""The key of a record of Kafka, among its headers."""
_ONE_SHARD = 1
"""Where a message lives is asked later."""
_Placed = tuple[InboxArrivals | DeadLetter, tuple[str, int]]


class Into(NamedTuple):
    """A channel that takes rows, by its own mapping, and the settings of its inbox."""

    channel: Channel
    settings: InboxSettings


def read_arrival(
    into: Into, now: int
) -> Callable[[Place, bytes | None, str | None, str | None], Filed | DeadLetter | None]:
    reader = ChannelRows(*into)

    def read(at: Place, value: bytes | None, envelope: str | None, problem: str | None) -> Filed | DeadLetter | None:
        if not (problem or value is None or value.strip()):
            return None
        problem = problem or (NO_VALUE if value is None else "")
        row = Row(at.part or at.source, at.position, value or b"", _headers(envelope), problem)
        reception = Reception(*into, _ONE_SHARD)
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


def take_arrivals(asking: Asking, shard: int, rows: Sequence[IngestRow]) -> Counter[str]:
    """What came of them, by the names of `Ingested`."""
    here = workplace_at(asking.address)
    taken = here.positions(asking.source, shard, sorted({row.part for row in rows}))
    fresh = [row for row in rows if row.place > taken.get(row.part, -1)]
    counts = Counter(rows=len(rows), repeated=len(rows) - len(fresh))
    placed = list(_requests(fresh))
    if placed:
        requests: list[Any] = [request for request, _ in placed]
        batch = Batch(requests, origin=Origin(asking.source, [at for _, at in placed]))
        replies = here.run(asking.now, shard, batch).replies
        for (request, _), reply in zip(placed, replies, strict=True):
            counts.update(_counted(request, reply))
    return counts


def _requests(rows: Iterable[IngestRow]) -> Iterable[_Placed]:
    for (part, is_dead), some in groupby(rows, key=lambda row: (row.part, type(row.request) is DeadLetter)):
        alike = list(some)
        if is_dead:
            yield from ((row.request, (part, row.place)) for row in alike)  # type: ignore[misc]
        else:
            yield InboxArrivals([row.request for row in alike]), (part, alike[-1].place)  # type: ignore[misc]


def _counted(request: InboxArrivals | DeadLetter, reply: Reply) -> dict[str, int]:
    if reply.repeated:
        return {"repeated": len(request.arrivals) if isinstance(request, InboxArrivals) else 1}
    if isinstance(request, DeadLetter):
        return {"dead_letters": 1}
    return {"persisted": reply.inbox.counts.persisted, "duplicates": reply.inbox.counts.duplicate}
