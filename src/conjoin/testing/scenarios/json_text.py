"""JSON with exact numbers: integers of any size stay integers, other numbers are decimals, both ways."""

import json
from decimal import Decimal
from typing import Any


def read_json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def as_json(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(name))}: {as_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(as_json(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)
