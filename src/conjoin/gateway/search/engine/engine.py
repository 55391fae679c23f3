"""The engine of all searches: filter, sort, page and count over what a store holds now.

What the store can sort by is never held in memory; what only items know is sorted here, so many at most. Work is
bounded: the total is counted up to a number, and a page that would have to look through too much ends early, with a
cursor at which to go on.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.errors import ReadStopped
from conjoin.gateway.search.engine.fields import Field
from conjoin.gateway.search.engine.filters import Condition
from conjoin.gateway.search.engine.paging import PageRequest, cursor_of, place_of
from conjoin.gateway.search.engine.request import ConditionGroup, SearchRequest, SortKey
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.gateway.search.engine.sorting import MOST_SEEN, Found, sorted_page, which_order
from conjoin.gateway.search.engine.walking import SearchWalk, SeenItem
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import RowOrder
from conjoin.store.reading import at_most, is_late

MOST_COUNTED = 10_000
_COUNTING_S = 1.0
_MOST_TEXT = 16 * 1024 * 1024
"""Of a page; whoever wants more takes the next one."""


def search(broker: Broker, what: Search, asked: SearchRequest) -> Found:
    """Raises `InputError` for cursors of another search, and for what is too much to be sorted."""
    asked = asked_with(asked, what.narrowed(broker, asked.group.conditions))
    order = _order_of(asked.sort, broker.hiding.is_active)
    if order is None:
        return sorted_page(SearchWalk(broker, what, asked))
    walk = SearchWalk(broker, what, asked, order)
    items, start, end = _page(walk, asked.page)
    total, has_more = _total(walk)
    return Found(items, max(total, len(items)), has_more, start, end)


def one(broker: Broker, what: Search, key: int) -> Item | None:
    """By its key."""
    asked = SearchRequest(ConditionGroup([Condition(what.key, "$eq", key)]))
    return next((seen.item for seen in SearchWalk(broker, what, asked).seen() if seen.item is not None), None)


def _order_of(sort: Sequence[SortKey], is_hiding: bool) -> RowOrder | None:
    """None: the store cannot sort so."""
    ways = {part.descending for part in sort}
    if len(ways) > 1 or not all(_orders(part.field, is_hiding) for part in sort):
        return None
    return RowOrder(tuple(dict.fromkeys(part.field.column for part in sort)), True in ways)


def _orders(field: Field, is_hiding: bool) -> bool:
    return field.orders_rows and not (is_hiding and field.quotes)


def _page(walk: SearchWalk, page: PageRequest) -> tuple[list[Item], str | None, str | None]:
    which = which_order(walk)
    cursor = page.after or page.before
    types = [*finding.types_of(walk.search.table, walk.order), int]
    place = None if cursor is None else place_of(which, cursor, types)
    walk = walk.turned() if page.before else walk
    found, stopped = _take(walk.seen(place, page.first + page.limit), page.first + page.limit)
    found = found[page.first :]
    places = [it.place for it in found] + ([] if stopped is None else [stopped])
    if page.before:
        found.reverse()
        places.reverse()
    items = [seen.item for seen in found if seen.item is not None]
    start, end = [cursor_of(which, it) for it in (*places[:1], *places[-1:])] or (None, None)
    return items, start, end


def _take(seen: Iterator[SeenItem], most: int) -> tuple[list[SeenItem], tuple[Any, ...] | None]:
    """The first of them, and where it had to stop looking, if it had."""
    found: list[SeenItem] = []
    size = 0
    for number, it in enumerate(seen, 1):
        if it.item is not None:
            found.append(it)
            size += sum(len(value) for value in it.item.values() if isinstance(value, str))
        if len(found) == most:
            break
        if number == MOST_SEEN or size > _MOST_TEXT or (it.item is None and is_late()):
            return found, it.place
    return found, None


def _total(walk: SearchWalk) -> tuple[int, bool]:
    if walk.is_decided_by_store:
        try:
            with at_most(_COUNTING_S):
                found = finding.count(walk.broker, walk.search.table, walk.where, MOST_COUNTED + 1) + walk.more_met()
        except ReadStopped:
            # What was found is worth more than how many there are.
            return 0, True
        return min(found, MOST_COUNTED), found > MOST_COUNTED
    found = 0
    for number, it in enumerate(walk.seen(), 1):
        if number > MOST_COUNTED or (it.item is None and is_late()):
            return found, True
        found += it.item is not None
    return found, False


def page_as_json(what: Search, found: Found) -> dict[str, Any]:
    """As clients expect it."""
    page = {"totalItems": found.total, "hasMoreTotalItems": found.has_more}
    return {
        "items": [what.told(item) for item in found.items],
        "page": page | {"startCursor": found.start, "endCursor": found.end},
    }


def asked_with(asked: SearchRequest, conditions: Sequence[Condition]) -> SearchRequest:
    """The same, and these conditions too."""
    return asked._replace(group=ConditionGroup([*asked.group.conditions, *conditions], asked.group.row_tests))
