"""Erasing: what a message carried is removed from its row on request; its verdict and all else about it stays.

Only of a message to which nothing can happen any more: no receiver gets less than was published. A commit like any
other. The blocks of the log stay as they were until they are removed; a note keeps `replay` from calling the row a
difference.
"""

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from typing import NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import DONE, Done, Refusal
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.reading.finding import message_with_key
from conjoin.runtime.run.log import without_requests
from conjoin.runtime.run.run import until_committed
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import EvidenceRow, MessageRow, PositionRow
from conjoin.times.iso8601 import instant_text

SOURCE = "erased"
NOTHING = "{}"


def erase_payload(broker: Broker, message_key: int) -> Done | Refusal:
    """Idempotent."""
    row = message_with_key(broker.store, message_key)
    if row is None:
        return _refused(message_key, None)
    shard = broker.store.shard(shard_of(row.correlation_key, broker.store.facts.shards))
    with closing(shard.reader()) as reader:
        return until_committed(reader, partial(_erased, broker, message_key)).answer


class _Erased(NamedTuple):
    answer: Done | Refusal


def _erased(broker: Broker, key: int, snapshot: ShardSnapshot) -> _Erased | None:
    """None: another commit came first."""
    row = next(iter(snapshot.messages([key])), None)
    if row is None or row.live:
        snapshot.abandon()
        return _Erased(_refused(key, row))
    changes = without_requests(snapshot, broker.store.catalog.version())
    changes.put[t.MESSAGE] = [row._replace(variables=NOTHING)]
    changes.put[t.EVIDENCE] = [_without_near(snapshot, key)]
    changes.put[t.POSITION] = [PositionRow(SOURCE, str(row.key), "1")]
    return _Erased(DONE) if snapshot.commit(changes) else None


def _without_near(snapshot: ShardSnapshot, key: int) -> EvidenceRow:
    """Its links stay, and nobody looks again."""
    known = next(iter(snapshot.evidence([key])), EvidenceRow(key, 0, "", 0, 0))
    return known._replace(seen_at=known.seen_at or snapshot.head.time, near="")


def _refused(key: int, row: MessageRow | None) -> Refusal:
    if row is None:
        return Refusal("NOT_FOUND", f"no message with key {key} is known")
    due = "" if row.due_at is None else f", until {instant_text(row.due_at)}"
    return Refusal("INVALID_STATE", f"message {key} can still be taken, or its id is still remembered{due}")


class Erased:
    """The messages whose payload is gone."""

    def __init__(self, positions: Iterable[PositionRow]) -> None:
        self._keys = {int(row.part) for row in positions if row.source == SOURCE}

    def with_erased(self, rows: Iterable[tuple[MessageRow, ...]]) -> Iterable[tuple[MessageRow, ...]]:
        """Rows that are expected, each with what else it may be."""
        for some in rows:
            erased = (some[0]._replace(variables=NOTHING),) if some[0].key in self._keys else ()
            yield (*some, *erased)
