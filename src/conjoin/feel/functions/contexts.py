"""Context functions. None changes the context it is given."""

from typing import Any

from conjoin.feel.functions.signatures import Overload, overload

Context = dict[str, Any]


def _get_value(context: Context, key: str) -> Any:
    return context.get(key)


def _get_nested(context: Context, keys: list[Any]) -> Any:
    if not keys:
        return None
    value: Any = context
    for key in keys:
        if type(key) is not str or type(value) is not dict:
            return None
        value = value.get(key)
    return value


def _get_entries(context: Context) -> list[Context]:
    return [{"key": key, "value": value} for key, value in context.items()]


def _put(context: Context, key: str, value: Any) -> Context:
    return {**context, key: value}


def _put_nested(context: Context, keys: list[Any], value: Any) -> Context | None:
    """Contexts on the way that are missing, or are none, are made; the others are copied."""
    if not keys or not all(type(key) is str for key in keys):
        return None
    result = dict(context)
    place = result
    for key in keys[:-1]:
        inner = place.get(key)
        place[key] = dict(inner) if type(inner) is dict else {}
        place = place[key]
    place[keys[-1]] = value
    return result


def _merge(*contexts: Any) -> Context | None:
    """Of several contexts, or of one list of them; a later one wins."""
    if len(contexts) == 1 and type(contexts[0]) is list:
        contexts = tuple(contexts[0])
    merged: Context = {}
    for context in contexts:
        if type(context) is not dict:
            return None
        merged.update(context)
    return merged


def _from_entries(entries: list[Any]) -> Context | None:
    made: Context = {}
    for entry in entries:
        if type(entry) is not dict or type(entry.get("key")) is not str or "value" not in entry:
            return None
        made[entry["key"]] = entry["value"]
    return made


_PUT = (
    overload("context:context, key:string, value:any", _put),
    overload("context:context, keys:list, value:any", _put_nested),
)
_MERGE = (overload("*contexts", _merge), overload("contexts:list", _merge))

CONTEXTS: dict[str, tuple[Overload, ...]] = {
    "get value": (
        overload("context:context, key:string", _get_value),
        overload("context:context, keys:list", _get_nested),
    ),
    "get entries": (overload("context:context", _get_entries),),
    "context put": _PUT,
    "put": _PUT,
    "context merge": _MERGE,
    "put all": _MERGE,
    "context": (overload("entries:list", _from_entries),),
}
