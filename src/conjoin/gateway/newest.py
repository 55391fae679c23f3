"""Lists with the newest first. A key begins with its shard, so each shard's rows are a lane, and the lanes are merged.

Every lane is read backward by its key, a page at most: no row is sorted, however many there are. The cursor is where
each lane has come to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conjoin.errors import InputError
from conjoin.runtime import finding
from conjoin.runtime.broker import Broker
from conjoin.runtime.cursors import cursor_of
from conjoin.runtime.finding import BY_KEY, Meets, Order
from conjoin.runtime.lists import Asked, Listing, Page, page_of

_SHARD_BITS = 51
_COUNTER = (1 << _SHARD_BITS) - 1
_KEYS = "keys of a lane"
_OVER = "-"


@dataclass(slots=True)
class _Lane:
    """What is left of a lane, the newest first; `cursor` is where it began."""

    items: list[Any]
    is_last: bool
    cursor: str
    taken: int = 0

    @property
    def has_more(self) -> bool:
        return self.taken < len(self.items)

    def after(self, listing: Listing) -> str:
        if not self.has_more and self.is_last:
            return _OVER
        return cursor_of(listing.table, self.items[self.taken - 1]) if self.taken else self.cursor


def newest_page(broker: Broker, what: str, listing: Listing, asked: Asked) -> Page:
    """As `page_of`; the key of the table must be `key` alone."""
    by_lane = replace(listing, columns={**listing.columns, _KEYS: "key"})
    lanes = []
    for keys, cursor in zip(_keys_of_lanes(broker), _cursors(broker, asked.after), strict=True):
        if cursor == _OVER:
            lanes.append(_Lane([], True, cursor))
            continue
        inside = replace(asked, filters={**asked.filters, _KEYS: keys}, after=cursor or None, newest_first=True)
        page = page_of(broker, what, by_lane, inside)
        lanes.append(_Lane(page.items, page.after is None, cursor))
    items = list(_merged(listing, lanes, asked.limit))
    after = [lane.after(listing) for lane in lanes]
    return Page(items, None if set(after) == {_OVER} else ".".join(after))


def _merged(listing: Listing, lanes: list[_Lane], limit: int) -> Iterator[Any]:
    for _ in range(limit):
        open_lanes = [lane for lane in lanes if lane.has_more]
        if not open_lanes:
            return
        newest = max(open_lanes, key=lambda lane: _age(listing, lane.items[lane.taken]))
        newest.taken += 1
        yield newest.items[newest.taken - 1]


def _age(listing: Listing, item: Any) -> int:
    """Without a time, how many keys its shard had given out."""
    return int(getattr(item, listing.time)) if listing.time else item.key & _COUNTER


def _cursors(broker: Broker, cursor: str | None) -> list[str]:
    lanes = len(lanes_of(broker))
    cursors = [""] * lanes if cursor is None else cursor.split(".")
    if len(cursors) != lanes:
        raise InputError([f"{cursor!r:.60} is no place in this list: take the one that the page before gave"])
    return cursors


def lanes_of(broker: Broker) -> list[tuple[int, int]]:
    """The first key of each lane and the one behind its last: a lane for every number that shards have ever had."""
    numbers = broker.homes.number_of(broker.shard_count)
    return [(number << _SHARD_BITS, (number + 1) << _SHARD_BITS) for number in range(1, numbers + 1)]


def _keys_of_lanes(broker: Broker) -> Iterator[Meets]:
    for low, below in lanes_of(broker):
        yield Meets(((">=", low), ("<", below)))


def newest_rows(broker: Broker, table: str, where: Mapping[str, Any], limit: int, time: str) -> list[Any]:
    found = _of_lanes(broker, table, where, limit, Order(backward=True))
    return sorted(found, key=lambda row: int(getattr(row, time)), reverse=True)[:limit]


def oldest_at(broker: Broker, table: str, where: Mapping[str, Any], time: str) -> int | None:
    """The instant of the oldest row."""
    return min((int(getattr(row, time)) for row in _of_lanes(broker, table, where, 1, BY_KEY)), default=None)


def _of_lanes(broker: Broker, table: str, where: Mapping[str, Any], limit: int, order: Order) -> Iterator[Any]:
    for keys in _keys_of_lanes(broker):
        yield from finding.rows(broker, table, {**where, "key": keys}, None, limit, order)
