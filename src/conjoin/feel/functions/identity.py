"""What makes two values the same one: a key for a dict, so that a list is made distinct in one pass.

Two values have the same key exactly when FEEL finds them equal: 1 and 1.0 do, 1 and true do not.
"""

from decimal import Decimal
from typing import Any

from conjoin.feel.budget import CHARACTERS_SHIFT, Budget
from conjoin.feel.errors import Unanswerable
from conjoin.feel.numbers import same_number

_DEEPEST = 200
_WORK = 8
_BYTES = 150
_NUMBER = "number"


def identity(value: Any, budget: Budget, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise Unanswerable
    budget.work(_WORK)
    budget.build(_BYTES)
    kind = type(value)
    if kind is int or kind is Decimal:
        budget.number(value)
        return _NUMBER, same_number(value)
    if kind is list:
        return kind, tuple([identity(item, budget, depth + 1) for item in value])
    if kind is dict:
        return kind, frozenset([(key, identity(item, budget, depth + 1)) for key, item in value.items()])
    if kind is str:
        budget.work(len(value) >> CHARACTERS_SHIFT)
    return kind, value
