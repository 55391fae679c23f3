"""Walking over what a search may find: rows in the order of the store, forward or backward, as items with their places.

A place is where a row stands in the order, and the number of the item in it. What is walked over is bounded by whoever
walks: nothing is read before it is asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import Any, NamedTuple

from conjoin.gateway.search.engine.filters import split
from conjoin.gateway.search.engine.request import ConditionGroup, SearchRequest
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import BY_KEY, Meets, RowOrder

_AT_ONCE = 500
_NO_ITEM = 2**62


class SeenItem(NamedTuple):
    """An item, or None where a row or an item does not meet the filter."""

    place: tuple[Any, ...]
    item: Item | None


class Looked(NamedTuple):
    """In place of a row: everything up to this key was looked at."""

    key: int

    def place(self, order: RowOrder) -> tuple[Any, ...]:
        """Behind all items of that row."""
        return (self.key, -1 if order.backward else _NO_ITEM)


@dataclass(frozen=True, slots=True)
class SearchWalk:
    broker: Broker
    search: Search
    asked: SearchRequest
    order: RowOrder = BY_KEY

    @property
    def where(self) -> dict[str, Meets]:
        """What the store looks at."""
        conditions = {column: [*tests] for column, tests in self.search.where.items()}
        for column, tests in split(self.asked.group.conditions, self.broker.hiding.is_active).where.items():
            conditions.setdefault(column, []).extend(tests)
        return {column: Meets(tuple(tests)) for column, tests in conditions.items()}

    @property
    def is_decided_by_store(self) -> bool:
        """Is every row that the store finds one item that meets the filter?"""
        group = self.asked.group
        rest = split(group.conditions, self.broker.hiding.is_active).rest
        return self.search.is_one and not (rest or group.row_tests or self.asked.either)

    def more_met(self) -> int:
        """How many of the rows that are not in the table meet the filter."""
        more = self.search.more_rows(self.broker)
        return sum(self._meets(row, item) for row, items in zip(more, self._items(more), strict=True) for item in items)

    def turned(self) -> "SearchWalk":
        return replace(self, order=RowOrder(self.order.columns, not self.order.backward))

    def seen(self, after: tuple[Any, ...] | None = None, at_once: int = _AT_ONCE) -> Iterator[SeenItem]:
        """Everything after a place, in the order. So many rows are read at first.

        Now and then it tells a place without an item: to there everything was looked at.
        """
        for row, items in self._rows(after, min(at_once, _AT_ONCE)):
            if isinstance(row, Looked):
                yield SeenItem(row.place(self.order), None)
                continue
            row_place = finding.place_of(self.search.table, row, self.order)
            numbered = list(enumerate(items))
            for number, item in reversed(numbered) if self.order.backward else numbered:
                place = (*row_place, number)
                if after is None or (place < after if self.order.backward else place > after):
                    yield SeenItem(place, item if self._meets(row, item) else None)

    def _rows(self, after: tuple[Any, ...] | None, at_once: int) -> Iterator[tuple[Any, Sequence[Item]]]:
        stored = self._stored(after, at_once)
        more = self.search.more_rows(self.broker)
        if not more:
            return stored

        def place(it: tuple[Any, Sequence[Item]]) -> tuple[Any, ...]:
            if isinstance(it[0], Looked):
                return (it[0].key,)
            return finding.place_of(self.search.table, it[0], self.order)

        others = sorted(zip(more, self._items(more), strict=True), key=place, reverse=self.order.backward)
        return merge(others, stored, key=place, reverse=self.order.backward)

    def _stored(self, after: tuple[Any, ...] | None, at_once: int) -> Iterator[tuple[Any, Sequence[Item]]]:
        place = None if after is None else after[:-1]
        if place is not None and not self.search.is_one:
            yield from self._row_at(place)
        if finding.can_be_walked(self.search.table, self.where, self.order):
            yield from self._in_stretches(place, at_once)
            return
        at_once = min(at_once, finding.FIRST_AT_ONCE)
        while True:
            rows = finding.rows(self.broker, self.search.table, self.where, place, at_once, self.order)
            yield from zip(rows, self._items(rows), strict=True)
            if len(rows) < at_once:
                return
            place = finding.place_of(self.search.table, rows[-1], self.order)
            at_once = finding.next_at_once(rows, at_once, _AT_ONCE)

    def _in_stretches(self, place: tuple[Any, ...] | None, at_once: int) -> Iterator[tuple[Any, Sequence[Item]]]:
        after = None if place is None else place[0]
        for rows, looked_to in finding.stretches(
            self.broker, self.search.table, self.where, after, at_once, self.order.backward
        ):
            yield from zip(rows, self._items(rows), strict=True)
            yield Looked(looked_to), ()

    def _row_at(self, place: tuple[Any, ...]) -> Iterator[tuple[Any, Sequence[Item]]]:
        """The row of the cursor, some of whose items may still be to come. Its key is the last of its place."""
        key = ("=", place[-1])
        where = {**self.where, "key": Meets((*self.where.get("key", Meets(())).tests, key))}
        rows = finding.rows(self.broker, self.search.table, where, None, 1)
        yield from zip(rows, self._items(rows), strict=True)

    def _items(self, rows: Sequence[Any]) -> Iterator[Sequence[Item]]:
        return iter(self.search.items(self.broker, rows) if rows else ())

    def _meets(self, row: Any, item: Item) -> bool:
        either = self.asked.either
        return self._holds(self.asked.group, row, item) and (
            not either or any(self._holds(it, row, item) for it in either)
        )

    def _holds(self, group: ConditionGroup, row: Any, item: Item) -> bool:
        return all(it.holds(item) for it in group.conditions) and all(
            test(self.broker.hiding, row, item) for test in group.row_tests
        )
