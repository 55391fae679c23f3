"""Schemas for the OpenAPI document: texts, keys, tenants, and records as they are answered.

They describe what the reading of requests checks, and check nothing themselves.
"""

import types
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string", "pattern": r"^[^\u0000]*$"}
NAME: Schema = {"type": "string", "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}
"""Not blank."""
KEY: Schema = {"type": "string", "pattern": "^-?[0-9]{1,25}$", "examples": ["2251799813685249"]}
TENANT: Schema = {"type": "string", "pattern": "^(<default>|[A-Za-z0-9_.-]{0,31})$"}
INSTANT: Schema = {"type": "string", "format": "date-time"}
ANSWERED_INSTANT: Schema = {"type": "string", "examples": ["2030-01-31T08:00:00Z", "never"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
INT64: Schema = {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}
_PLAIN: Mapping[Any, Schema] = {str: {"type": "string"}, bool: FLAG, int: {"type": "integer"}}
NULL: Schema = {"type": "null"}
_KEYS = ("key", "instance")


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, NULL]}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def closed(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> dict[str, Any]:
    """An object with these properties and no others."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def whole(properties: Mapping[str, Schema]) -> dict[str, Any]:
    """An object with all of these properties, and no others."""
    return closed(properties, list(properties))


def one_of_words(words: Collection[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


def record(kind: Any, **known: Schema) -> dict[str, Any]:
    """Of a NamedTuple as `to_plain` encodes it: instants and keys are texts. `known`: what its types do not express."""
    hints = get_type_hints(kind)
    return whole({name: known.get(name) or _of(name, hints[name]) for name in kind._fields})


def page(items: Schema) -> dict[str, Any]:
    """Of a list: its items, and where the next page goes on."""
    return whole({"items": array(items), "cursor": nullable(_PLAIN[str]), "is_cut": _PLAIN[bool]})


def _of(name: str, hint: Any) -> Schema:
    if get_origin(hint) in (Union, types.UnionType):
        inner = next(it for it in get_args(hint) if it is not type(None))
        return nullable(_of(name, inner))
    if name.endswith("_at"):
        return ANSWERED_INSTANT
    if hint is int and (name in _KEYS or name.endswith("_key")):
        return KEY
    if hasattr(hint, "_fields"):
        return record(hint)
    if get_origin(hint) is not None and get_args(hint) and not issubclass(get_origin(hint), Mapping):
        return array(_of("", get_args(hint)[0]))
    return _PLAIN.get(hint, OBJECT)
