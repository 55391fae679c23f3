"""The engine of all searches: filter, sort, page and count over what a store holds now; `paging` reads the rows.

What the store can sort by is never held in memory; what only items know is sorted here, up to a limit. Work is
bounded: the total is counted up to a number, and a page that would have to look at too much ends early, with a cursor
at which to continue.
"""

from collections.abc import Iterator, Sequence
from functools import total_ordering
from heapq import merge
from typing import Any, NamedTuple

from conjoin.errors import InputError, ReadStopped
from conjoin.gateway.search.engine.filters import Condition, split
from conjoin.gateway.search.engine.request import ConditionGroup, PageRequest, SearchRequest, SortKey
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding, paging
from conjoin.runtime.reading.finding import BY_KEY, TABLES, Meets, RowOrder
from conjoin.runtime.reading.paging import AT_ONCE, Position, Scan, ScanStep, positions_in, take
from conjoin.store.reading import at_most, is_late

MOST_COUNTED = 10_000
_COUNTING_S = 1.0
MOST_LOOKED_AT = 20_000
"""Making an item takes some 20 microseconds, during which no other thread runs."""
_MOST_TEXT = 16 * 1024 * 1024
"""Characters of a page."""
MOST_SORTED = 10_000
_MOST_TEXT_SORTED = 64 * 1024 * 1024


class Found(NamedTuple):
    items: list[Item]
    total: int
    has_more: bool
    """There may be more than `total`."""
    start: str | None
    end: str | None


def search(broker: Broker, what: Search, request: SearchRequest) -> Found:
    """Raises `InputError` for cursors of another search, and for what is too much to be sorted."""
    request = with_conditions(request, what.narrowed(broker, request.group.conditions))
    order = _order_of(request.sort, broker.hiding.is_active)
    if order is None:
        return _sorted_page(_SearchScan(broker, what, request))
    scan = _SearchScan(broker, what, request, order)
    items, start, end = _page(scan, request.page)
    total, has_more = _total(scan)
    return Found(items, max(total, len(items)), has_more, start, end)


def one(broker: Broker, what: Search, key: int) -> Item | None:
    """By its key."""
    request = SearchRequest(ConditionGroup([Condition(what.key, "$eq", key)]))
    return next((step.item for step in _SearchScan(broker, what, request).steps() if step.item is not None), None)


def page_as_json(what: Search, found: Found) -> dict[str, Any]:
    """As clients expect it."""
    page = {"totalItems": found.total, "hasMoreTotalItems": found.has_more}
    return {
        "items": [what.to_plain(item) for item in found.items],
        "page": page | {"startCursor": found.start, "endCursor": found.end},
    }


def with_conditions(request: SearchRequest, conditions: Sequence[Condition]) -> SearchRequest:
    """The same, and these conditions too."""
    return request._replace(group=ConditionGroup([*request.group.conditions, *conditions], request.group.row_tests))


def _order_of(sort: Sequence[SortKey], is_hiding: bool) -> RowOrder | None:
    """None: the store cannot sort so."""
    directions = {part.descending for part in sort}
    fields = [part.field for part in sort]
    if len(directions) > 1 or not all(it.orders_rows and not (is_hiding and it.quotes) for it in fields):
        return None
    columns = tuple(dict.fromkeys(field.column for field in fields))
    # No two rows have the same key.
    columns = columns[: columns.index("key") + 1] if "key" in columns else columns
    return RowOrder(columns, True in directions)


class _SearchScan:
    """What a search looks at. An item that does not meet the filter is a step without one."""

    def __init__(self, broker: Broker, what: Search, request: SearchRequest, order: RowOrder = BY_KEY) -> None:
        self.broker, self.what, self.request, self.order = broker, what, request, order
        in_store, rest = split(request.group.conditions, broker.hiding.is_active)
        columns = dict.fromkeys((*what.where, *in_store))
        self.where = {it: Meets((*what.where.get(it, ()), *in_store.get(it, ()))) for it in columns}
        self.is_decided_by_store = what.is_one and not (rest or request.group.row_tests or request.either)
        """Every row that the store finds is one item that meets the filter."""
        directions = [f"{part.field.name}{'-' if part.descending else '+'}" for part in request.sort]
        self.name = ":".join([what.name, *directions])
        """Of the search and its order."""

    def steps(
        self, after: Position | None = None, at_once: int = AT_ONCE, order: RowOrder | None = None
    ) -> Iterator[ScanStep]:
        scan = self._scan(order or self.order, at_once)
        more = self.what.more_rows(self.broker)
        if not more:
            return scan.steps(after)
        backward = scan.order.backward
        others = sorted(scan.steps_of(more, None), key=_position, reverse=backward)
        if after is not None:
            others = [it for it in others if (it.position < after if backward else it.position > after)]
        return merge(others, scan.steps(after), key=_position, reverse=backward)

    def more_met(self) -> int:
        """How many of the rows that are not in the table meet the filter."""
        more = self.what.more_rows(self.broker)
        return sum(step.item is not None for step in self._scan(self.order).steps_of(more, None)) if more else 0

    def types(self) -> list[type]:
        return paging.position_types(TABLES[self.what.table], self.order)

    def _scan(self, order: RowOrder, at_once: int = AT_ONCE) -> Scan:
        table, is_many = TABLES[self.what.table], not self.what.is_one
        return Scan(self.broker.store, table, self.where, self._show, order, min(at_once, AT_ONCE), is_many)

    def _show(self, rows: Sequence[Any]) -> Iterator[tuple[Any, Sequence[Item | None]]]:
        for row, items in zip(rows, self.what.items(self.broker, rows), strict=True):
            yield row, [item if self._meets(row, item) else None for item in items]

    def _meets(self, row: Any, item: Item) -> bool:
        either = self.request.either
        return self._holds(self.request.group, row, item) and (
            not either or any(self._holds(it, row, item) for it in either)
        )

    def _holds(self, group: ConditionGroup, row: Any, item: Item) -> bool:
        return all(it.holds(item) for it in group.conditions) and all(
            test(self.broker.hiding, row, item) for test in group.row_tests
        )


def _position(step: ScanStep) -> Position:
    return step.position


def _page(scan: _SearchScan, page: PageRequest) -> tuple[list[Item], str | None, str | None]:
    cursor, most = page.after or page.before, page.first + page.limit
    after = None if cursor is None else positions_in(cursor, scan.name, scan.types())[0]
    order = RowOrder(scan.order.columns, scan.order.backward != bool(page.before))
    steps = scan.steps(after, most if scan.is_decided_by_store else AT_ONCE, order)
    found, stopped = take(steps, most, is_late, MOST_LOOKED_AT, _MOST_TEXT)
    found = found[page.first :]
    positions = [step.position for step in (*found, *(() if stopped is None else (stopped,)))]
    if page.before:
        found.reverse()
        positions.reverse()
    return [step.item for step in found], *_ends(scan, positions)


def _ends(scan: _SearchScan, positions: Sequence[Position]) -> tuple[str | None, str | None]:
    """Cursors of the first and the last."""
    return (
        (paging.cursor_of(scan.name, positions[0]), paging.cursor_of(scan.name, positions[-1]))
        if positions
        else (None, None)
    )


def _total(scan: _SearchScan) -> tuple[int, bool]:
    if scan.is_decided_by_store:
        try:
            with at_most(_COUNTING_S):
                found = finding.count(scan.broker, scan.what.table, scan.where, MOST_COUNTED + 1) + scan.more_met()
        except ReadStopped:
            # What was found is worth more than how many there are.
            return 0, True
        return min(found, MOST_COUNTED), found > MOST_COUNTED
    found = looked_at = 0
    for step in scan.steps():
        looked_at += not step.is_mark
        if looked_at > MOST_COUNTED or (step.item is None and is_late()):
            return found, True
        found += step.item is not None
    return found, False


@total_ordering
class _Descending:
    """Compares the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: "_Descending") -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


def _sorted_page(scan: _SearchScan) -> Found:
    """An order that the store cannot give: by what only items know, or in several directions. Null comes first."""
    sort, page = scan.request.sort, scan.request.page
    found, stopped = take(scan.steps(), MOST_SORTED + 1, is_late, MOST_LOOKED_AT, _MOST_TEXT_SORTED)
    if stopped is not None or len(found) > MOST_SORTED:
        names = ", ".join(f"{part.field.name} {'DESC' if part.descending else 'ASC'}" for part in sort)
        able = ", ".join(it.name for it in scan.what.sort_fields.values() if it.orders_rows)
        text = f"There are too many to sort them by {names}: filter for fewer than {MOST_SORTED:,}, or sort by {able}"
        raise InputError([text])
    positions = [(*(step.item[part.field.name] for part in sort), *step.position) for step in found]
    ranks = [_rank(position, sort) for position in positions]
    ranked = sorted(zip(ranks, positions, found, strict=True), key=lambda it: it[0])
    begin, end = page.first, page.first + page.limit
    cursor = page.after or page.before
    if cursor is not None:
        types = [*[object] * len(sort), *scan.types()]
        at = _rank(positions_in(cursor, scan.name, types)[0], sort)
        before = sum(rank < at for rank, _, _ in ranked)
        is_there = before < len(ranked) and ranked[before][0] == at
        begin = max(before - page.limit, 0) if page.before else before + is_there
        end = before if page.before else begin + page.limit
    shown = ranked[begin:end]
    items = [step.item for _, _, step in shown]
    return Found(items, len(ranked), False, *_ends(scan, [position for _, position, _ in shown]))


def _rank(position: Position, sort: Sequence[SortKey]) -> tuple[Any, ...]:
    # A cursor is a client's: values of other types than the field's must compare, whatever comes of it.
    values = [(it is not None, type(it).__name__, str(it) if isinstance(it, (list, dict)) else it) for it in position]
    ranks = [_Descending(value) if part.descending else value for part, value in zip(sort, values, strict=False)]
    return (*ranks, *position[len(sort) :])
