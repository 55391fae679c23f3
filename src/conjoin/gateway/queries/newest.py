"""The newest or oldest rows of a table. A key begins with its shard, so each shard's rows are a lane of keys.

Every lane is read by its key, a few rows at most: no row is sorted, however many there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import BY_KEY, FIRST_AT_ONCE, Meets, RowOrder, next_at_once


def lanes_of(broker: Broker) -> list[tuple[int, int]]:
    """The first key of each lane and the one behind its last: a lane for every number that shards have ever had."""
    numbers = broker.homes.number_of(broker.shard_count)
    return [(number << COUNTER_BITS, (number + 1) << COUNTER_BITS) for number in range(1, numbers + 1)]


def _keys_of_lanes(broker: Broker) -> Iterator[Meets]:
    for low, below in lanes_of(broker):
        yield Meets(((">=", low), ("<", below)))


def newest_rows(broker: Broker, table: str, limit: int, time: str, without: Sequence[str]) -> list[Any]:
    """Of all lanes together. `without`: columns that are left empty, as nobody needs what may be megabytes."""
    found = [row for lane in lanes_of(broker) for row in _newest_of(broker, table, lane, limit, without)]
    return sorted(found, key=lambda row: int(getattr(row, time)), reverse=True)[:limit]


def _newest_of(broker: Broker, table: str, lane: tuple[int, int], limit: int, without: Sequence[str]) -> Iterator[Any]:
    (low, below), at_once = lane, FIRST_AT_ONCE
    while limit > 0:
        keys = Meets(((">=", low), ("<", below)))
        rows = finding.rows(broker, table, {"key": keys}, None, min(at_once, limit), RowOrder(backward=True))
        yield from (row._replace(**dict.fromkeys(without, "")) for row in rows)
        if len(rows) < min(at_once, limit):
            return
        limit, below = limit - len(rows), rows[-1].key
        at_once = next_at_once(rows, at_once, limit)


def oldest_at(broker: Broker, table: str, where: Mapping[str, Any], time: str) -> int | None:
    """The instant of the oldest row."""
    return min((int(getattr(row, time)) for row in _of_lanes(broker, table, where, 1, BY_KEY)), default=None)


def _of_lanes(broker: Broker, table: str, where: Mapping[str, Any], limit: int, order: RowOrder) -> Iterator[Any]:
    for keys in _keys_of_lanes(broker):
        yield from finding.rows(broker, table, {**where, "key": keys}, None, limit, order)
