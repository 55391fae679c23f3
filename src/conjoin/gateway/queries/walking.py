"""Searches that answer in a moment, however little they find: the newest first, and as far back as the time allows.

Each shard's keys are a lane, walked backward in stretches, the lane with the newest rows first. When the time is up,
what was found is told with the instant back to which everything was looked at, and the cursor goes on there: that there
is nothing is only said when all was looked at.
"""

from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.gateway.queries.newest import lanes_of
from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import Meets, RowOrder, next_at_once
from conjoin.runtime.reading.lists import Listing, ListPage, ListQuery, passing, refuse_unknown, where_of
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.store.reading import is_late

BUDGET_S = 0.12
_AS_LONG_AS_IT_TAKES = 60.0
_STEP_S = 0.04
"""A stretch takes no longer than about this."""
_FIRST_STRETCH, _LATER_STRETCH, _LONGEST_STRETCH = 1 << 14, 1 << 18, 1 << 40
"""Keys. Who goes on has not found much so far."""
_TESTED_AT_ONCE = 500
_COUNTER = (1 << COUNTER_BITS) - 1
_OVER = "-"
_BACKWARD = RowOrder(backward=True)
_BORN_IN_ORDER = ("message", "instance")
"""Their times grow with their keys: behind the first that is too old, all are."""


class Walked(NamedTuple):
    """`after`: where to go on. `looked_to`: all that is younger was looked at; None if the page is full or all was."""

    items: list[Any]
    after: str | None
    looked_to: int | None = None


class _Walk(NamedTuple):
    broker: Broker
    listing: Listing
    asked: ListQuery
    where: dict[str, Any]

    def age(self, row: Any) -> int:
        """When it was; without a time, how many keys its shard had given out."""
        return int(getattr(row, self.listing.time)) if self.listing.time else row.key & _COUNTER

    def rows(self, where: dict[str, Any], low: int, below: int, limit: int) -> list[Any]:
        keys = Meets(((">=", low), ("<", below)))
        return list(self.broker.store.rows(self.listing.table, {**where, "key": keys}, None, limit, _BACKWARD))

    def newest(self, low: int, below: int) -> Any:
        """Of whoever's row it is: a caller who may see few rows does not look for the next of them here."""
        store: Any = getattr(self.broker.store, "whole", self.broker.store)
        keys = Meets(((">=", low), ("<", below)))
        return next(iter(store.rows(self.listing.table, {"key": keys}, None, 1, _BACKWARD)), None)


class _ShardLane:
    """`found` is not shown yet; `edge` is the newest row that was not looked at, None when there is none."""

    def __init__(self, walk: _Walk, low: int, below: int) -> None:
        self.low, self.below = low, below
        self.found: deque[tuple[Any, Any]] = deque()
        self._walk = walk
        self._stretch = _FIRST_STRETCH if walk.asked.after is None else _LATER_STRETCH
        self._at_once = 0
        self.edge: Any = None
        self._find_edge()

    @property
    def is_over(self) -> bool:
        return not self.found and self.edge is None

    def age(self) -> tuple[int, bool]:
        """Of what comes next. What is found already goes first."""
        return (self._walk.age(self.found[0][0]), True) if self.found else (self._walk.age(self.edge), False)

    def look(self) -> None:
        walk, began = self._walk, monotonic()
        low = max(self.edge.key + 1 - self._stretch, self.low)
        most = _TESTED_AT_ONCE if walk.listing.tests_itself(walk.asked) else walk.asked.limit + 1
        # The next row tells how large rows are, until some were read.
        at_once = min(self._at_once or next_at_once([self.edge], most, most), most)
        rows = walk.rows(walk.where, low, self.below, at_once)
        self.found.extend(passing(walk.broker, walk.listing, walk.asked, rows))
        self.below = rows[-1].key if len(rows) == at_once else low
        self._at_once = next_at_once(rows, at_once, most)
        took = monotonic() - began
        self._stretch = _next_stretch(self._stretch, took) if len(rows) < at_once else self._stretch
        self._find_edge()

    def _find_edge(self) -> None:
        walk, since = self._walk, self._walk.asked.since
        self.edge = walk.newest(self.low, self.below)
        if self.edge is not None and since is not None and walk.listing.table.name in _BORN_IN_ORDER:
            self.edge = self.edge if walk.age(self.edge) >= since else None

    def cursor(self) -> str:
        if self.is_over:
            return _OVER
        return str(self.found[0][0].key + 1 if self.found else self.below)


def _next_stretch(stretch: int, took_s: float) -> int:
    if took_s < _STEP_S / 4:
        # An index leads straight to what there is: then a few steps are enough for all of it.
        return min(stretch * (16 if took_s < _STEP_S / 8 else 4), _LONGEST_STRETCH)
    return max(stretch // 2, 1) if took_s > _STEP_S else stretch


def walk(broker: Broker, what: str, listing: Listing, asked: ListQuery, budget_s: float | None = None) -> Walked:
    """The key of the table must be `key` alone. Raises `InputError` for filters and cursors that are none."""
    refuse_unknown(what, listing, asked)
    lanes = list(_lanes(_Walk(broker, listing, asked, where_of(listing, asked)), asked.after))
    give_up = monotonic() + (BUDGET_S if budget_s is None else budget_s)
    # One more than is shown tells whether there are more.
    shown = list(_merged(lanes, asked.limit + 1, lambda: monotonic() >= give_up or is_late()))
    for lane, pair in reversed(shown[asked.limit :]):
        lane.found.appendleft(pair)
    items = [item for _, (_, item) in shown[: asked.limit]]
    if all(lane.is_over for lane in lanes):
        return Walked(items, None)
    is_cut = len(items) < asked.limit
    looked_to = max(lane.age()[0] for lane in lanes if not lane.is_over) if is_cut else None
    return Walked(items, ".".join(lane.cursor() for lane in lanes), looked_to)


def newest_page(broker: Broker, what: str, listing: Listing, asked: ListQuery) -> ListPage:
    """As `page_of`, the newest first; it takes the time that its reading has."""
    walked = walk(broker, what, listing, asked, _AS_LONG_AS_IT_TAKES)
    return ListPage(walked.items, walked.after, walked.looked_to is not None)


def page_as_json(page: ListPage) -> dict[str, Any]:
    return {"items": [to_plain(item) for item in page.items], "cursor": page.after, "is_cut": page.is_cut}


def _merged(lanes: list[_ShardLane], limit: int, is_late: Callable[[], bool]) -> Iterator[tuple[_ShardLane, Any]]:
    """At least one stretch is looked at, so that whoever asks again comes further."""
    looked, left = False, limit
    while left:
        open_lanes = [lane for lane in lanes if not lane.is_over]
        if not open_lanes:
            return
        lane = max(open_lanes, key=_ShardLane.age)
        if lane.found:
            left -= 1
            yield lane, lane.found.popleft()
        elif looked and is_late():
            return
        else:
            lane.look()
            looked = True


def _lanes(walk: _Walk, cursor: str | None) -> Iterator[_ShardLane]:
    bounds = lanes_of(walk.broker)
    places = [""] * len(bounds) if cursor is None else cursor.split(".")
    if len(places) != len(bounds) or not all(map(_is_place, places)):
        raise InputError([f"{cursor!r:.60} is no place in this list: take the one that the page before gave"])
    for (low, top), place in zip(bounds, places, strict=True):
        yield _ShardLane(walk, low, low if place == _OVER else int(place or top))


def _is_place(text: str) -> bool:
    return text in ("", _OVER) or (text.isascii() and text.isdigit() and len(text) < 19)
