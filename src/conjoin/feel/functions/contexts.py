"""Context functions. None changes the context it is given."""

from collections.abc import Sequence
from typing import Any

from conjoin.feel.budget import Budget, Cost, new_top, not_built, nothing, top
from conjoin.feel.functions.signatures import Overload, overload

Context = dict[str, Any]


def _get_nested(context: Context, keys: list[Any]) -> Any:
    if not keys:
        return None
    value: Any = context
    for key in keys:
        if type(key) is not str or type(value) is not dict:
            return None
        value = value.get(key)
    return value


def _put_nested(budget: Budget, context: Context, keys: list[Any], value: Any) -> Context | None:
    """Contexts on the way that are missing, or are none, are made; the others are copied."""
    if not keys or not all(type(key) is str for key in keys):
        return None
    budget.build(250 * len(keys))
    result = inner = dict(context)
    for key in keys[:-1]:
        there = inner.get(key)
        there = there if type(there) is dict else {}
        budget.build(100 * len(there))
        inner[key] = dict(there)
        inner = inner[key]
    inner[keys[-1]] = value
    return result


def _merge(budget: Budget, *contexts: Any) -> Context | None:
    """Of several contexts, or of one list of them; a later one wins."""
    if len(contexts) == 1 and type(contexts[0]) is list:
        contexts = tuple(contexts[0])
    merged: Context = {}
    for context in contexts:
        if type(context) is not dict:
            return None
        budget.work(len(context))
        budget.build(100 * len(context))
        merged.update(context)
    return merged


def _from_entries(entries: list[Any]) -> Context | None:
    made: Context = {}
    for entry in entries:
        if type(entry) is not dict or type(entry.get("key")) is not str or "value" not in entry:
            return None
        made[entry["key"]] = entry["value"]
    return made


def _copied(size: int) -> Cost:
    """The first argument is copied, with so many bytes for each entry."""

    def cost(budget: Budget, values: Sequence[Any]) -> None:
        budget.work(3 * len(values[0]))
        budget.build(size * len(values[0]))

    return cost


_PUT = (
    overload(
        "context:context, key:string, value:any", lambda it, key, value: {**it, key: value}, _copied(100), not_built
    ),
    overload("context:context, keys:list, value:any", _put_nested, _copied(100), not_built, spends=True),
)
_MERGE = tuple(overload(signature, _merge, top, new_top, spends=True) for signature in ("*contexts", "contexts:list"))

CONTEXTS: dict[str, tuple[Overload, ...]] = {
    "get value": (
        overload("context:context, key:string", dict.get, nothing, not_built),
        overload("context:context, keys:list", _get_nested, top, not_built),
    ),
    "get entries": (
        overload("context:context", lambda it: [{"key": key, "value": it[key]} for key in it], _copied(250), not_built),
    ),
    "context put": _PUT,
    "put": _PUT,
    "context merge": _MERGE,
    "put all": _MERGE,
    "context": (overload("entries:list", _from_entries, _copied(100), not_built),),
}
