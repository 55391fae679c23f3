"""List functions. Positions count from 1, or from -1 backwards. None changes the list it is given."""

from collections.abc import Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from conjoin.feel.budget import CHARACTERS_SHIFT, Budget, all_new, each, new_top, not_built, nothing, top
from conjoin.feel.comparison import equal
from conjoin.feel.errors import Unanswerable
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import Number, as_int, same_number
from conjoin.feel.types import Function

Items = list[Any]
_DEEPEST = 200
_IDENTITY_WORK = 8
_IDENTITY_BYTES = 150


def index_of(position: Number, count: int) -> int | None:
    """The index of a position among so many items; None when there is none."""
    wanted = as_int(position)
    if not wanted or abs(wanted) > count:
        return None
    return wanted - 1 if wanted > 0 else count + wanted


def part(whole: Sequence[Any], start: Number, length: Number | None = None) -> Any:
    """So many items, or characters, from a position on; what lies beyond the end is left out."""
    first = as_int(start)
    count = len(whole) if length is None else as_int(length)
    if not first or count is None or count < 0:
        return None
    begin = first - 1 if first > 0 else max(len(whole) + first, 0)
    return whole[begin : begin + count]


def identity(value: Any, budget: Budget, depth: int = 0) -> Any:
    """A key for a dict, so that a list is made distinct in one pass.

    Two values have the same key exactly when FEEL finds them equal: 1 and 1.0 do, 1 and true do not.
    """
    if depth > _DEEPEST:
        raise Unanswerable
    budget.spend(_IDENTITY_WORK, _IDENTITY_BYTES)
    kind = type(value)
    if kind is int or kind is Decimal:
        budget.number(value)
        return "number", same_number(value)
    if kind is list:
        return kind, tuple([identity(item, budget, depth + 1) for item in value])
    if kind is dict:
        return kind, frozenset([(key, identity(item, budget, depth + 1)) for key, item in value.items()])
    if kind is str:
        budget.work(len(value) >> CHARACTERS_SHIFT)
    return kind, value


def _contains(budget: Budget, items: Items, element: Any) -> bool:
    return any(equal(item, element, budget) is True for item in items)


def _positions_of(budget: Budget, items: Items, match: Any) -> list[int]:
    return [position for position, item in enumerate(items, 1) if equal(item, match, budget) is True]


def _append(budget: Budget, items: Items, *added: Any) -> Items:
    budget.items(len(items) + len(added))
    return [*items, *added]


def _concatenate(budget: Budget, *lists: Any) -> Items | None:
    if not all(type(items) is list for items in lists):
        return None
    budget.items(sum(map(len, lists)))
    return [item for items in lists for item in items]


def _insert_before(items: Items, position: Number, added: Any) -> Items | None:
    index = len(items) if position == len(items) + 1 else index_of(position, len(items))
    return None if index is None else [*items[:index], added, *items[index:]]


def _replace(items: Items, position: Number, *new: Any) -> Items:
    index = index_of(position, len(items))
    return items if index is None else [*items[:index], *new, *items[index + 1 :]]


def _replace_matching(items: Items, match: Function, new: Any) -> Items:
    return [new if match((item, new)) is True else item for item in items]


def _distinct(budget: Budget, items: Items) -> Items:
    """The first of each."""
    firsts: dict[Any, Any] = {}
    for item in items:
        firsts.setdefault(identity(item, budget), item)
    return list(firsts.values())


def _union(budget: Budget, *lists: Any) -> Items | None:
    joined = _concatenate(budget, *lists)
    return None if joined is None else _distinct(budget, joined)


def _duplicates(budget: Budget, items: Items) -> Items:
    """The first of each that is there twice."""
    firsts: dict[Any, Any] = {}
    again: dict[Any, None] = {}
    for item in items:
        key = identity(item, budget)
        if key in firsts:
            again[key] = None
        firsts.setdefault(key, item)
    return [item for key, item in firsts.items() if key in again]


def _flatten(budget: Budget, items: Items, flat: Items | None = None, depth: int = 0) -> Items:
    if depth > _DEEPEST:
        raise Unanswerable
    budget.work(5 + 3 * len(items))
    budget.items(len(items))
    flat = [] if flat is None else flat
    for item in items:
        if type(item) is list:
            _flatten(budget, item, flat, depth + 1)
        else:
            flat.append(item)
    return flat


def _sort(items: Items, precedes: Function) -> Items:
    def order(first: Any, second: Any) -> int:
        if precedes((first, second)) is True:
            return -1
        return 1 if precedes((second, first)) is True else 0

    return sorted(items, key=cmp_to_key(order))


def _partition(items: Items, size: Number) -> list[Items] | None:
    step = as_int(size)
    return [items[at : at + step] for at in range(0, len(items), step)] if step and step > 0 else None


def _join(
    budget: Budget, items: Items, delimiter: str | None = None, prefix: str | None = None, suffix: str | None = None
) -> Any:
    texts = [item for item in items if item is not None]
    if not all(type(text) is str for text in texts):
        return None
    before, between, after = prefix or "", delimiter or "", suffix or ""
    budget.text(len(before) + sum(map(len, texts)) + len(between) * len(texts) + len(after))
    return before + between.join(texts) + after


def _of_lists(run: Any) -> tuple[Overload, ...]:
    """Lists one by one, or by name as a list of lists."""
    return (
        overload("*lists", run, top, new_top, spends=True),
        overload("lists:list", lambda budget, lists: run(budget, *lists), top, new_top, spends=True),
    )


def _copied(budget: Budget, values: Sequence[Any]) -> None:
    """The first argument is copied, what is inside of it is not looked at."""
    items = values[0]
    budget.work(len(items) >> 3)
    budget.items(len(items))


def _searched(budget: Budget, values: Sequence[Any]) -> None:
    """Each item of the first argument is compared with the second."""
    budget.work(2 * len(values[0]))


def _parted(budget: Budget, values: Sequence[Any]) -> None:
    _copied(budget, values)
    budget.build(64 * len(values[0]))


_OWN = (nothing, not_built)
"""For those that pay for everything themselves."""
LISTS: dict[str, tuple[Overload, ...]] = {
    "list contains": (overload("list:list, element:any", _contains, _searched, not_built, spends=True),),
    "count": (overload("list:list", len, nothing, not_built),),
    "sublist": (overload("list:list, start position:number, length?:number", part, nothing, new_top),),
    "append": (
        overload("list:list, *items", _append, *_OWN, spends=True),
        overload("list:list, items:list", lambda budget, it, added: _append(budget, it, *added), *_OWN, spends=True),
    ),
    "concatenate": _of_lists(_concatenate),
    "insert before": (overload("list:list, position:number, newItem:any", _insert_before, _copied, not_built),),
    "remove": (overload("list:list, position:number", _replace, _copied, not_built),),
    "list replace": (
        overload("list:list, position:number, newItem:any", _replace, _copied, not_built),
        overload("list:list, match:function, newItem:any", _replace_matching, _copied, not_built),
    ),
    "reverse": (overload("list:list", lambda items: items[::-1], _copied, not_built),),
    "index of": (overload("list:list, match:any", _positions_of, _searched, all_new, spends=True),),
    "union": _of_lists(_union),
    "distinct values": (overload("list:list", _distinct, top, new_top, spends=True),),
    "duplicate values": (overload("list:list", _duplicates, top, new_top, spends=True),),
    "flatten": (overload("list:list", _flatten, *_OWN, spends=True),),
    # What the function of the caller does is paid by itself.
    "sort": (overload("list:list, precedes:function", _sort, each(20), new_top),),
    "string join": (
        overload("list:list, delimiter?:string?, prefix?:string?, suffix?:string?", _join, top, not_built, spends=True),
    ),
    "is empty": (overload("list:list", lambda items: not items, nothing, not_built),),
    "partition": (overload("list:list, size:number", _partition, _parted, not_built),),
}
