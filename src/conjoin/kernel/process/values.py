"""Values of expressions: of a certain kind where one is needed, as plain values where a variable gets them.

Whatever becomes state passes here. What is of another kind, costs too much, or could be held by no store raises a
`Failure`, which becomes an incident.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.kernel.plan import Expression, ExpressionStoppedError
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR, Failure
from conjoin.kernel.storable import LARGEST_INT32, MOST_DIGITS, unstorable, unstorable_text, whole_number


def evaluated(expression: Expression, view: Mapping[str, Any], at: int) -> Any:
    try:
        return expression(view, at)
    except ExpressionStoppedError as stopped:
        raise Failure(EXTRACT_VALUE_ERROR, str(stopped)) from None


def text_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> str:
    """A text that has a column of its own: a name, a key, a type."""
    value = evaluated(expression, view, at)
    if not isinstance(value, str):
        raise wrong_kind(what, expression, value, "a string")
    problem = unstorable_text(value)
    if problem is not None:
        raise not_storable(what, expression, problem)
    return value


def retries_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> int:
    value = evaluated(expression, view, at)
    whole = whole_number(value, LARGEST_INT32)
    if whole is not None:
        return whole
    is_number = whole_number(value, 10**MOST_DIGITS) is not None
    wanted = f"one between -{LARGEST_INT32} and {LARGEST_INT32}" if is_number else "a number"
    raise wrong_kind(what, expression, value, wanted)


def stored_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> Any:
    """A value that becomes a variable. One that was only looked up is a variable already."""
    value = evaluated(expression, view, at)
    problem = None if getattr(expression, "is_reference", False) else unstorable(value)
    if problem is not None:
        raise not_storable(what, expression, problem)
    return value


def boolean_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> bool:
    value = evaluated(expression, view, at)
    if isinstance(value, bool):
        return value
    raise wrong_kind(what, expression, value, "a boolean")


def list_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> list[Any]:
    value = stored_value(expression, view, at, what)
    if isinstance(value, list):
        return value
    raise wrong_kind(what, expression, value, "a list")


def wrong_kind(what: str, expression: Expression, value: Any, wanted: str) -> Failure:
    text = f"the {what} {expression.text} gave {kind_of(value)}, but {wanted} is needed"
    return Failure(EXTRACT_VALUE_ERROR, text)


def not_storable(what: str, expression: Expression, problem: str) -> Failure:
    text = f"the {what} {expression.text} gave a value that cannot be stored: it {problem}"
    return Failure(EXTRACT_VALUE_ERROR, text)


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
