"""Boolean functions, and the ones about null."""

from typing import Any

from conjoin.feel.budget import not_built, nothing
from conjoin.feel.comparison import negated
from conjoin.feel.errors import Unanswerable
from conjoin.feel.functions.signatures import Overload, overload


def _is_defined(value: Any) -> bool:
    """A null is not defined, whether the variable is missing or null."""
    return value is not None


def _get_or_else(value: Any, default: Any) -> Any:
    return default if value is None else value


def _assert(value: Any, condition: Any, cause: Any = None) -> Any:
    """A condition that does not hold makes the whole expression null, not only this part of it."""
    if condition is not True:
        raise Unanswerable
    return value


def _tagged(value: Any, *description: Any) -> Any:
    """The description is for others who read the model; to the engine the value is itself."""
    return value


BOOLEAN: dict[str, tuple[Overload, ...]] = {
    "not": (overload("negand:any", negated, nothing, not_built),),
    "is defined": (overload("value:any", _is_defined, nothing, not_built),),
    "get or else": (overload("value:any, default:any", _get_or_else, nothing, not_built),),
    "assert": (overload("value:any, condition:any, cause?:any", _assert, nothing, not_built),),
    "fromAi": (
        overload("value:any, description?:any, type?:any, schema?:any, options?:any", _tagged, nothing, not_built),
    ),
}
