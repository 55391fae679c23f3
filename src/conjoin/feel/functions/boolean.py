"""Boolean functions, and the ones about null."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from conjoin.feel.budget import not_built, nothing, top
from conjoin.feel.comparison import both, either, negated
from conjoin.feel.errors import Unanswerable
from conjoin.feel.functions.signatures import Overload, overload


def _assert(value: Any, condition: Any, cause: Any = None) -> Any:
    """A condition that does not hold makes the whole expression null, not only this part of it."""
    if condition is not True:
        raise Unanswerable
    return value


def _joined(join: Callable[[Any, Any], Any], first: bool) -> tuple[Overload, ...]:
    return (
        overload("list:list", lambda values: reduce(join, values, first), top, not_built),
        overload("*booleans", lambda *values: reduce(join, values, first), top, not_built),
    )


def _cheap(signature: str, run: Callable[..., Any]) -> tuple[Overload, ...]:
    return (overload(signature, run, nothing, not_built),)


BOOLEAN: dict[str, tuple[Overload, ...]] = {
    "not": _cheap("negand:any", negated),
    **dict.fromkeys(("and", "all"), _joined(both, True)),
    **dict.fromkeys(("or", "any"), _joined(either, False)),
    # Null is not defined, whether the variable is missing or null.
    "is defined": _cheap("value:any", lambda value: value is not None),
    "get or else": _cheap("value:any, default:any", lambda value, default: default if value is None else value),
    "assert": _cheap("value:any, condition:any, cause?:any", _assert),
    # The description is for others who read the model; to the engine the value is itself.
    "fromAi": _cheap("value:any, description?:any, type?:any, schema?:any, options?:any", lambda value, *_: value),
}
