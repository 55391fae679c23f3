"""Values as Camunda 7 wants them: each with its type.

Whole numbers are `Integer` or `Long` by their size, fractions `Double`; lists, objects and numbers beyond 64 bits are
`Json`, written as text. A correlation variable may also be given as Camunda's own `{"value": ..., "type": ...}`, as
an `Integer` there never equals a `Long`.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conjoin.runtime.codec.json_text import json_text

_INTEGER_END, _LONG_END = 2**31, 2**63


def typed_values(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: typed(value) for name, value in variables.items()}


def typed(value: Any) -> dict[str, Any]:
    name = _type_name(value)
    return {"value": json_text(value) if name == "Json" else value, "type": name}


def typed_key(value: Any) -> dict[str, Any] | None:
    """A correlation variable; None if Camunda cannot compare such a value."""
    if isinstance(value, Mapping):
        return dict(value) if isinstance(value.get("type"), str) and "value" in value else None
    key = typed(value)
    return None if key["type"] == "Json" else key


def _type_name(value: Any) -> str:
    if value is None:
        return "Null"
    if isinstance(value, bool):
        return "Boolean"
    if isinstance(value, str):
        return "String"
    if isinstance(value, int):
        return _name_of_whole_number(value)
    return "Double" if isinstance(value, float | Decimal) else "Json"


def _name_of_whole_number(value: int) -> str:
    if -_INTEGER_END <= value < _INTEGER_END:
        return "Integer"
    return "Long" if -_LONG_END <= value < _LONG_END else "Json"
