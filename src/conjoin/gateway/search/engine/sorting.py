"""Sorting in memory, for orders that the store cannot give: by what only items know, or in several directions.

It takes everything that a search finds, so there is a limit: more than that is refused, with what can be done instead.
"""

from collections.abc import Sequence
from functools import total_ordering
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.gateway.search.engine.paging import PageRequest, cursor_of, place_of
from conjoin.gateway.search.engine.request import SortKey
from conjoin.gateway.search.engine.search import Item
from conjoin.gateway.search.engine.walking import SearchWalk, SeenItem
from conjoin.runtime.reading import finding
from conjoin.store.reading import is_late

MOST_SORTED = 10_000
_MOST_TEXT = 64 * 1024 * 1024
MOST_SEEN = 20_000
"""Making an item takes some 20 microseconds, during which nobody else runs."""


class Found(NamedTuple):
    items: list[Item]
    total: int
    has_more: bool
    """There may be more than `total`."""
    start: str | None
    end: str | None


@total_ordering
class _Turned:
    """Compares the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: "_Turned") -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Turned) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


def sorted_page(walk: SearchWalk) -> Found:
    """Nothing comes before something."""
    sort, page, which = walk.asked.sort, walk.asked.page, which_order(walk)
    ranked = sorted(((_rank(_place(it, sort), sort), it) for it in _all(walk)), key=lambda pair: pair[0])
    begin, end = _bounds(walk, page, [rank for rank, _ in ranked])
    found = [it for _, it in ranked[begin:end]]
    start, last = [cursor_of(which, _place(it, sort)) for it in (*found[:1], *found[-1:])] or (None, None)
    return Found([it.item for it in found if it.item is not None], len(ranked), False, start, last)


def _bounds(walk: SearchWalk, page: PageRequest, ranks: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
    cursor = page.after or page.before
    if cursor is None:
        return page.first, page.first + page.limit
    sort = walk.asked.sort
    types = [*[object] * len(sort), *finding.types_of(walk.search.table, walk.order), int]
    at = _rank(place_of(which_order(walk), cursor, types), sort)
    before = sum(rank < at for rank in ranks)
    if page.before:
        return max(before - page.limit, 0), before
    begin = before + (before < len(ranks) and ranks[before] == at)
    return begin, begin + page.limit


def _all(walk: SearchWalk) -> list[SeenItem]:
    found: list[SeenItem] = []
    size = 0
    for number, it in enumerate(walk.seen(), 1):
        if it.item is not None:
            found.append(it)
            size += sum(len(value) for value in it.item.values() if isinstance(value, str))
        if len(found) > MOST_SORTED or number > MOST_SEEN or size > _MOST_TEXT or is_late():
            raise _too_many(walk)
    return found


def _too_many(walk: SearchWalk) -> InputError:
    names = ", ".join(f"{part.field.name} {'DESC' if part.descending else 'ASC'}" for part in walk.asked.sort)
    able = ", ".join(it.name for it in walk.search.sort_fields.values() if it.orders_rows)
    text = f"There are too many to sort them by {names}: filter for fewer than {MOST_SORTED:,}, or sort by {able}"
    return InputError([text])


def _place(seen: SeenItem, sort: Sequence[SortKey]) -> tuple[Any, ...]:
    item = seen.item or {}
    return (*(item[part.field.name] for part in sort), *seen.place)


def _rank(place: tuple[Any, ...], sort: Sequence[SortKey]) -> tuple[Any, ...]:
    # A cursor is a client's: values of other types than the field's must compare, whatever comes of it.
    values = [(it is not None, type(it).__name__, str(it) if isinstance(it, (list, dict)) else it) for it in place]
    ranks = [_Turned(value) if part.descending else value for part, value in zip(sort, values, strict=False)]
    return (*ranks, *place[len(sort) :])


def which_order(walk: SearchWalk) -> str:
    """Names a search and an order of it."""
    ways = [f"{part.field.name}{'-' if part.descending else '+'}" for part in walk.asked.sort]
    return ":".join([walk.search.name, *ways])
