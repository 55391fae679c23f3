"""Values of expressions: of a certain kind where one is needed, as plain values where a variable gets them.

Whatever becomes state passes here, and what no store could hold is a `Failure`, so an incident, never an exception.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.kernel.plan import Expression, ExpressionStoppedError
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR, Failure
from conjoin.kernel.storable import LARGEST_INT32, MOST_DIGITS, unstorable, unstorable_text, whole_number


def evaluated(expression: Expression, view: Mapping[str, Any], at: int) -> Any | Failure:
    """The value, or why there is none: the evaluation cost too much."""
    try:
        return expression(view, at)
    except ExpressionStoppedError as stopped:
        return Failure(EXTRACT_VALUE_ERROR, str(stopped))


def text_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> str | Failure:
    value = evaluated(expression, view, at)
    return value if isinstance(value, Failure) else text_of(expression, value, what)


def text_of(expression: Expression, value: Any, what: str) -> str | Failure:
    """A text that has a column of its own: a name, a key, a type."""
    if not isinstance(value, str):
        return failure_of(what, expression, value, "a string")
    problem = unstorable_text(value)
    return value if problem is None else no_state(what, expression, problem)


def retries_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> int | Failure:
    value = evaluated(expression, view, at)
    if isinstance(value, Failure):
        return value
    whole = whole_number(value, LARGEST_INT32)
    if whole is not None:
        return whole
    is_number = whole_number(value, 10**MOST_DIGITS) is not None
    wanted = f"one between -{LARGEST_INT32} and {LARGEST_INT32}" if is_number else "a number"
    return failure_of(what, expression, value, wanted)


def stored_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> Any:
    """A value that becomes a variable, or a `Failure`. One that was only looked up is a variable already."""
    value = evaluated(expression, view, at)
    if isinstance(value, Failure) or getattr(expression, "is_reference", False):
        return value
    problem = unstorable(value)
    return value if problem is None else no_state(what, expression, problem)


def boolean_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> bool | Failure:
    value = evaluated(expression, view, at)
    return value if isinstance(value, (bool, Failure)) else failure_of(what, expression, value, "a boolean")


def list_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> list[Any] | Failure:
    value = stored_value(expression, view, at, what)
    return value if isinstance(value, (list, Failure)) else failure_of(what, expression, value, "a list")


def failure_of(what: str, expression: Expression, value: Any, wanted: str) -> Failure:
    text = f"the {what} {expression.text} gave {kind_of(value)}, but {wanted} is needed"
    return Failure(EXTRACT_VALUE_ERROR, text)


def no_state(what: str, expression: Expression, problem: str) -> Failure:
    return Failure(
        EXTRACT_VALUE_ERROR, f"the {what} {expression.text} gave a value that cannot be stored: it {problem}"
    )


def kind_of(value: Any) -> str:
    """What a value is, in the words of FEEL."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, Mapping):
        return "a context"
    return "a number" if isinstance(value, int) or hasattr(value, "as_tuple") else f"the value {value}"
