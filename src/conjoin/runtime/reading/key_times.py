"""When a key was given out, from the log of its shard: rows of incidents and jobs have no time of their own.

The log has, for each request, where the keys stood before it. Keys only grow, so the request is found by bisection,
whatever the length of the log. A key from before the log begins has no time here.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from threading import Lock
from time import monotonic
from typing import Any

from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.broker import Broker
from conjoin.runtime.run.log import raw_entries
from conjoin.store.port import ShardSnapshot

_AT, _NEXT_KEY = 1, 2
_MOST_KNOWN = 20_000


class KeyTimes:
    """A time never changes, so it is looked for once. Several threads may ask at once."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._turn = Lock()

    def of(self, broker: Broker, keys: Iterable[int], within_s: float) -> dict[int, int]:
        """Those that are known, or found in so many seconds."""
        ends = monotonic() + within_s
        wanted = dict.fromkeys(keys)
        by_shard: dict[int, list[int]] = {}
        for key in wanted:
            if key not in self._known:
                by_shard.setdefault(broker.homes.shard_of_record(key), []).append(key)
        for shard, some in by_shard.items():
            if shard >= 0:
                self._note(_found(broker, shard, some, ends))
        return {key: self._known[key] for key in wanted if key in self._known}

    def _note(self, found: Iterator[tuple[int, int]]) -> None:
        for key, at in found:
            with self._turn:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.pop(next(iter(self._known)))
                self._known[key] = at


def _found(broker: Broker, shard: int, keys: list[int], ends: float) -> Iterator[tuple[int, int]]:
    with closing(broker.store.shard(shard).reader()) as reader, reader.begin() as snapshot:
        for key in keys:
            if monotonic() > ends:
                return
            at = _time_of(snapshot, key)
            if at is not None:
                yield key, at


def _time_of(snapshot: ShardSnapshot, key: int) -> int | None:
    low, high = snapshot.log_ends()
    entries: list[Any] = []
    while low <= high:
        middle = (low + high) // 2
        found = snapshot.log_from(middle)
        if found is None or found[0] > high:
            high = middle - 1
            continue
        version, block = found
        some = raw_entries(block)
        if some[0][_NEXT_KEY] <= key:
            entries, low = some, version + 1
        else:
            high = middle - 1
    # Keys of another numbering, from before the number of shards was changed, cannot be compared.
    mine = [it for it in entries if it[_NEXT_KEY] <= key and it[_NEXT_KEY] >> COUNTER_BITS == key >> COUNTER_BITS]
    return int(mine[-1][_AT]) if mine else None
