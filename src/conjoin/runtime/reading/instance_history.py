"""The history of one instance, from the log of its shard: from the commit in which it began, as far as the time allows.

Commits are in the order of their times, so where it began is found by halves, whatever the length of the log; from
there on the log is read until the instance has ended. Whose time is up says how far they have come.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from time import monotonic
from typing import NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instance_moments import Moment, Moments
from conjoin.runtime.reading.instances import elements_of
from conjoin.runtime.run.log import read_wanted
from conjoin.store.port import ShardStore
from conjoin.store.rows import InstanceRow, LogRow

MOST_MOMENTS = 500
_FEW, _MANY = 4, 512
_FAST_S = 0.01


class InstanceHistory(NamedTuple):
    """`looked_to`: the log was read up to this instant, and there is more; None if it was read to its end.

    `begins_at`: the log begins only then, so that what came before is not known; None if all of it is there.
    `left_out` are so many of the oldest moments.
    """

    moments: list[Moment]
    looked_to: int | None
    begins_at: int | None
    left_out: int


def history_of(broker: Broker, row: InstanceRow, patience_s: float) -> InstanceHistory:
    log = broker.store.shard(broker.homes.shard_of_record(row.key))
    oldest = _first_after(log, 0)
    if oldest is None:
        return InstanceHistory([], None, broker.now, 0)
    is_late = oldest.version > 1 and oldest.at > row.started_at
    its = Moments(row.key, _alive(row) if is_late else {})
    reading = _LogReading(log, its, row.ended_at, patience_s)
    moments = reading.moments_from(oldest.version if is_late else _begun_in(log, oldest.version, row.started_at))
    begins_at = None if its.has_begun else oldest.at
    return InstanceHistory(moments, reading.looked_to, begins_at, reading.told - len(moments))


def _alive(row: InstanceRow) -> dict[int, str]:
    """Of one whose beginning is not in the log any more: what is inside now may have been there then."""
    keys = ((key, it.element_id) for it in elements_of(row) for key in (it.key, it.job_key, it.incident_key))
    return {key: element_id for key, element_id in keys if key and key != row.key}


def _first_after(log: ShardStore, version: int) -> LogRow | None:
    return next(log.log(version, 1), None)


def _begun_in(log: ShardStore, oldest: int, at: int) -> int:
    """The first version with such a time."""
    with closing(log.reader()) as reader:
        snapshot = reader.begin()
        low, high = oldest, snapshot.head.version
        snapshot.abandon()
    while low < high:
        middle = (low + high) // 2
        found = _first_after(log, middle - 1)
        low, high = (middle + 1, high) if found is not None and found.at < at else (low, middle)
    return low


class _LogReading:
    """`told` counts the moments, those left out, too."""

    def __init__(self, log: ShardStore, its: Moments, ended_at: int | None, patience_s: float) -> None:
        self.told = 0
        self.looked_to: int | None = None
        self._log = log
        self._its = its
        self._ended_at = ended_at
        self._give_up = monotonic() + patience_s

    def moments_from(self, version: int) -> list[Moment]:
        moments: deque[Moment] = deque(maxlen=MOST_MOMENTS)
        for row in self._commits(version - 1):
            for entry in read_wanted(row.block, self._its.mentions):
                for moment in self._its.told(entry):
                    moments.append(moment)
                    self.told += 1
            if self._its.is_over or (self._ended_at is not None and row.at > self._ended_at):
                break
            if monotonic() > self._give_up:
                self.looked_to = row.at
                break
        return list(moments)

    def _commits(self, after: int) -> Iterator[LogRow]:
        """More at a time as long as that is fast: blocks may be large, and the clock waits until they have come."""
        at_once = _FEW
        while True:
            began = monotonic()
            rows = list(self._log.log(after, at_once))
            yield from rows
            if len(rows) < at_once:
                return
            after = rows[-1].version
            if monotonic() - began < _FAST_S:
                at_once = min(2 * at_once, _MANY)
