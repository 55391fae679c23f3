"""The stream: `spark.readStream.format("conjoin")`, what was committed since, once each, by the versions of shards.

An offset says for each shard up to which version its log was read. `events` are those of the log. `verdicts` are the
messages whose verdict was decided by an event in these versions: each once, as its row is when it is read; a message
that had fewer receivers than expected comes again when its time is over.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from conjoin.errors import InputError
from conjoin.kernel.correlation.events import InstanceStarted
from conjoin.pipeline.source.derived import targets
from conjoin.pipeline.source.options import StreamOptions
from conjoin.pipeline.source.reader import ConjoinReader, ShardPart
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.log import LoggedEvent, read_block

Offset = dict[str, int]
"""By the number of a shard the version up to which it was read."""

_BLOCKS = 500
"""So many commits are looked through at a time for what they decided."""
_ENDS = ("MessageRefused", "MessageDiscarded", "MessageExpired")
_TAKES = ("MessageCorrelated", "InstanceStarted")


@dataclass
class Versions(InputPartition):
    """Of a shard those after `after`, up to `last`."""

    shard: int
    after: int
    last: int


class ConjoinStreamReader(DataSourceStreamReader):
    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._reader = ConjoinReader(options.read)
        self._at: Offset = {}

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name for it
        with closing(open_broker(self._options.read.address)) as broker:
            heads = _heads(broker)
            self._at = heads if self._options.begins_at_end else {name: _gone(broker, int(name)) for name in heads}
        return self._at

    def latestOffset(self) -> Offset:  # noqa: N802 - Spark's name for it
        with closing(open_broker(self._options.read.address)) as broker:
            heads = _heads(broker)
        most = self._options.most_commits
        if most is None:
            return heads
        return {name: min(head, self._at.get(name, 0) + most) for name, head in heads.items()}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Spark calls this with an empty range, too, to say where a stream that was started again stands."""
        self._at = end
        wanted = [Versions(int(name), start.get(name, 0), last) for name, last in end.items()]
        wanted = [one for one in wanted if one.after < one.last]
        if wanted and self._options.fails_on_loss:
            _check_there(self._options.read.address, wanted)
        return wanted

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Versions)
        if self._options.read.table == "events":
            within = (("version", ">", partition.after), ("version", "<=", partition.last))
            yield from self._reader.read(ShardPart(partition.shard, within))
            return
        with closing(open_broker(self._options.read.address)) as broker:
            for keys in _decided(broker, partition):
                yield from self._reader.read(ShardPart(partition.shard, (("key", "in", keys),)))


def _heads(broker: Broker) -> Offset:
    heads = {}
    for shard in range(broker.shard_count):
        with broker.post.look(shard) as snapshot:
            heads[str(shard)] = snapshot.head.version
    return heads


def _gone(broker: Broker, shard: int) -> int:
    """The version before the first that the log still has."""
    first = next(broker.store.shard(shard).log(0, 1), None)
    return 0 if first is None else first.version - 1


def _check_there(address: str, wanted: Iterable[Versions]) -> None:
    with closing(open_broker(address)) as broker:
        for one in wanted:
            gone = _gone(broker, one.shard)
            if gone > one.after:
                raise InputError(
                    [
                        f"shard {one.shard}: the log begins after version {gone}, and was read up to {one.after}: what "
                        "lies between was removed. fail_on_loss=false goes on without it"
                    ]
                )


def _decided(broker: Broker, versions: Versions) -> Iterator[list[int]]:
    """The keys of messages whose verdicts were decided, some hundred commits at a time."""
    shard = broker.store.shard(versions.shard)
    rows = takewhile(lambda row: row.version <= versions.last, shard.log(versions.after))
    while some := list(islice(rows, _BLOCKS)):
        events = [event for row in some for entry in read_block(row.block) for event in entry.events]
        told = [event for event in events if event.kind in (*_ENDS, *_TAKES)]
        with shard.begin() as snapshot:
            messages = {row.key: row for row in snapshot.messages(list({event.values["message"] for event in told}))}
        keys = {event.values["message"]: None for event in told if _decides(event, messages)}
        if keys:
            yield list(keys)


def _decides(event: LoggedEvent, messages: Mapping[int, Any]) -> bool:
    row = messages.get(event.values["message"])
    if row is None:
        return False
    if event.kind in _TAKES:
        found = targets(row.record)
        return bool(found) and _is_of(event.values, found[0][0])
    # Somebody took it, and then its time was over; unless they were fewer than expected.
    return event.kind != "MessageExpired" or bool(event.values["reason"]) or row.verdict == "short"


def _is_of(values: Mapping[str, Any], first: Any) -> bool:
    """Is it the event by which the first receiver got the message?"""
    if isinstance(first, InstanceStarted):
        return bool(values.get("instance_id") == first.instance_id)
    return bool(values.get("subscription") == first.subscription.key)
