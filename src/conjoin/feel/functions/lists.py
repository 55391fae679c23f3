"""List functions. Positions count from 1, or from -1 backwards; what is too long to be built is null."""

from functools import cmp_to_key
from typing import Any

from conjoin.feel.comparison import both, either, equal
from conjoin.feel.errors import Unanswerable
from conjoin.feel.functions.identity import identity
from conjoin.feel.functions.positions import index_of, part
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import Number, as_int
from conjoin.feel.values.callables import Function

Items = list[Any]
_LONGEST_LIST = 1_000_000
_DEEPEST_LISTS = 200


def _contains(items: Items, element: Any) -> bool:
    return any(equal(item, element) is True for item in items)


def _positions_of(items: Items, match: Any) -> list[int]:
    return [position for position, item in enumerate(items, 1) if equal(item, match) is True]


def _all(*values: Any) -> bool | None:
    answer: bool | None = True
    for value in values:
        answer = both(answer, value)
    return answer


def _any(*values: Any) -> bool | None:
    answer: bool | None = False
    for value in values:
        answer = either(answer, value)
    return answer


def _fitting(items: Items) -> Items:
    if len(items) > _LONGEST_LIST:
        raise Unanswerable
    return items


def _append(items: Items, *added: Any) -> Items:
    return _fitting([*items, *added])


def _concatenate(*lists: Any) -> Items | None:
    if not all(type(items) is list for items in lists) or sum(map(len, lists)) > _LONGEST_LIST:
        return None
    return [item for items in lists for item in items]


def _insert_before(items: Items, position: Number, added: Any) -> Items | None:
    index = len(items) if position == len(items) + 1 else index_of(position, len(items))
    return None if index is None else [*items[:index], added, *items[index:]]


def _remove(items: Items, position: Number) -> Items:
    index = index_of(position, len(items))
    return items if index is None else [*items[:index], *items[index + 1 :]]


def _replace_at(items: Items, position: Number, new: Any) -> Items:
    index = index_of(position, len(items))
    return items if index is None else [*items[:index], new, *items[index + 1 :]]


def _replace_matching(items: Items, match: Function, new: Any) -> Items:
    return [new if match((item, new)) is True else item for item in items]


def _distinct(items: Items) -> Items:
    """The first of each."""
    firsts: dict[Any, Any] = {}
    for item in items:
        firsts.setdefault(identity(item), item)
    return list(firsts.values())


def _union(*lists: Any) -> Items | None:
    joined = _concatenate(*lists)
    return None if joined is None else _distinct(joined)


def _duplicates(items: Items) -> Items:
    seen: dict[Any, int] = {}
    for item in items:
        seen[identity(item)] = seen.get(identity(item), 0) + 1
    return [item for item in _distinct(items) if seen[identity(item)] > 1]


def _flatten(items: Items) -> Items:
    flat: Items = []
    _flatten_into(flat, items, 0)
    return flat


def _flatten_into(flat: Items, items: Items, depth: int) -> None:
    if depth > _DEEPEST_LISTS:
        raise Unanswerable
    for item in items:
        if type(item) is list:
            _flatten_into(flat, item, depth + 1)
        else:
            flat.append(item)
            _fitting(flat)


def _sort(items: Items, precedes: Function) -> Items:
    def order(first: Any, second: Any) -> int:
        if precedes((first, second)) is True:
            return -1
        return 1 if precedes((second, first)) is True else 0

    return sorted(items, key=cmp_to_key(order))


def _partition(items: Items, size: Number) -> list[Items] | None:
    step = as_int(size)
    return [items[at : at + step] for at in range(0, len(items), step)] if step and step > 0 else None


def _join(items: Items, delimiter: str | None = None, prefix: str | None = None, suffix: str | None = None) -> Any:
    texts = [item for item in items if item is not None]
    if not all(type(text) is str for text in texts):
        return None
    return (prefix or "") + (delimiter or "").join(texts) + (suffix or "")


def _of_lists(run: Any) -> tuple[Overload, ...]:
    """Lists one by one, or by name as a list of lists."""
    return overload("*lists", run), overload("lists:list", lambda lists: run(*lists))


def _of_booleans(run: Any) -> tuple[Overload, ...]:
    return overload("list:list", lambda values: run(*values)), overload("*booleans", run)


LISTS: dict[str, tuple[Overload, ...]] = {
    "list contains": (overload("list:list, element:any", _contains),),
    "count": (overload("list:list", len),),
    **dict.fromkeys(("and", "all"), _of_booleans(_all)),
    **dict.fromkeys(("or", "any"), _of_booleans(_any)),
    "sublist": (overload("list:list, start position:number, length?:number", part),),
    "append": (
        overload("list:list, *items", _append),
        overload("list:list, items:list", lambda items, added: _append(items, *added)),
    ),
    "concatenate": _of_lists(_concatenate),
    "insert before": (overload("list:list, position:number, newItem:any", _insert_before),),
    "remove": (overload("list:list, position:number", _remove),),
    "list replace": (
        overload("list:list, position:number, newItem:any", _replace_at),
        overload("list:list, match:function, newItem:any", _replace_matching),
    ),
    "reverse": (overload("list:list", lambda items: items[::-1]),),
    "index of": (overload("list:list, match:any", _positions_of),),
    "union": _of_lists(_union),
    "distinct values": (overload("list:list", _distinct),),
    "duplicate values": (overload("list:list", _duplicates),),
    "flatten": (overload("list:list", _flatten),),
    "sort": (overload("list:list, precedes:function", _sort),),
    "string join": (overload("list:list, delimiter?:string?, prefix?:string?, suffix?:string?", _join),),
    "is empty": (overload("list:list", lambda items: not items),),
    "partition": (overload("list:list, size:number", _partition),),
}
