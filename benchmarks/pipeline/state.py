"""Very many messages in the inbox of a store, loaded in bulk: each for an instance of its own, or parked long ago.

One of each is made by the inbox itself; the others are its rows with other keys.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.broker.state import key_of, paid
from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.placement import place_of
from conjoin.runtime.inbox.rows import read_row
from conjoin.runtime.opening import temporary_broker
from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.rows import InboxContentRow, InboxGroupRow, InboxRow
from conjoin.store.tables import Table

_AT_ONCE = 20_000
_CHANNEL, _SAMPLE = "bench", "order-sample"
_SETTINGS = InboxSettings(max_attempts=1)


class Sample(NamedTuple):
    """What the inbox writes for a message that waits for its turn, and for one that it has given up."""

    waiting: InboxRow
    content: InboxContentRow
    group: InboxGroupRow
    parked: InboxRow


def sample() -> Sample:
    broker = temporary_broker(1)
    inbox = Inbox(broker, _SETTINGS, {_CHANNEL: Channel(_CHANNEL)})
    payload = json_bytes(paid(0).variables)
    inbox.receive(_CHANNEL, [Arrival(0, "file", 1, broker.now, payload, hint=Hint("paid", _SAMPLE))])
    waiting, content, group = (
        next(iter(broker.store.rows(table, {}, None, 1))) for table in (t.INBOX, t.INBOX_CONTENT, t.INBOX_GROUP)
    )
    assert inbox.run().parked == 1
    parked = next(iter(broker.store.rows(t.INBOX, {}, None, 1)))
    broker.close()
    return Sample(waiting, content, group, parked)


def fill_inbox(broker: Broker, numbers: list[int], parked: int) -> None:
    """A message for each of these instances, and before them so many that are parked."""
    one, shards = sample(), broker.shard_count
    for shard in range(shards):
        for first in range(0, parked // shards, _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, parked // shards))
            _put(broker, shard, one, [(one.parked, f"gone-{number}") for number in some])
        mine = [key_of(number) for number in numbers if shard_of(key_of(number), shards) == shard]
        for first in range(0, len(mine), _AT_ONCE):
            _put(broker, shard, one, [(one.waiting, key) for key in mine[first : first + _AT_ONCE]])


def _put(broker: Broker, shard: int, one: Sample, said: list[tuple[InboxRow, str]]) -> None:
    """Rows with these correlation keys, in one commit."""
    snapshot = broker.store.shard(shard).begin()
    head = snapshot.head
    first = (shard + 1) << COUNTER_BITS | head.next_key
    put: dict[Table, list[Any]] = {t.INBOX: [], t.INBOX_CONTENT: [], t.INBOX_GROUP: []}
    for place, (row, key) in enumerate(said):
        for table, made in _rows(one, row, key, first + place):
            put[table].append(made)
    changes = Changes(head._replace(version=head.version + 1, next_key=head.next_key + len(said)), put)
    assert snapshot.commit(changes)


def _rows(one: Sample, row: InboxRow, key: str, number: int) -> Iterator[tuple[Table, Any]]:
    group = row.group_key.replace(_SAMPLE, key)
    message = read_row(row).message._replace(position=number)
    about: Mapping[str, Any] = {"message_id": key, "correlation_key": key, "group_key": group}
    yield t.INBOX, row._replace(key=number, position=number, place=place_of(message, _SETTINGS), **about)
    yield t.INBOX_CONTENT, one.content._replace(key=number)
    if row is one.waiting:
        yield t.INBOX_GROUP, one.group._replace(group_key=group)
