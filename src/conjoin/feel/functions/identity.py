"""What makes two values the same one: a key for a dict, so that a list is made distinct in one pass.

Two values have the same key exactly when FEEL finds them equal: 1 and 1.0 do, 1 and true do not.
"""

from decimal import Decimal
from typing import Any

from conjoin.feel.errors import Unanswerable

_DEEPEST = 200
_MOST_VALUES = 100_000
_NUMBER = "number"


def identity(value: Any) -> Any:
    return _key(value, [_MOST_VALUES], 0)


def _key(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        raise Unanswerable
    kind = type(value)
    if kind is int or kind is Decimal:
        return _NUMBER, value
    if kind is list:
        return kind, tuple(_key(item, left, depth + 1) for item in value)
    if kind is dict:
        return kind, frozenset((key, _key(item, left, depth + 1)) for key, item in value.items())
    return kind, value
