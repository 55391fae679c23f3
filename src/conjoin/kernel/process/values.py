"""Values of expressions: of a certain kind where one is needed, as plain values where a variable gets them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conjoin.kernel.plan import Expression
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR, Failure

LARGEST_EXPONENT = 4_000
"""1E+999999999 is a short text and a number of a gigabyte."""


def text_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> str | Failure:
    value = expression(view, at)
    return value if isinstance(value, str) else failure_of(what, expression, value, "a string")


def whole_number(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> int | Failure:
    value = expression(view, at)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    if value is None or isinstance(value, (str, bool, list, dict)):
        return failure_of(what, expression, value, "a number")
    cut = integer_part(value)
    return failure_of(what, expression, value, "a number") if cut is None else cut


def integer_part(value: Any) -> int | None:
    """A number cut towards zero; None where it is none, or too large to be written out."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > LARGEST_EXPONENT:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def boolean_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> bool | Failure:
    value = expression(view, at)
    return value if isinstance(value, bool) else failure_of(what, expression, value, "a boolean")


def list_value(expression: Expression, view: Mapping[str, Any], at: int, what: str) -> list[Any] | Failure:
    value = expression(view, at)
    return value if isinstance(value, list) else failure_of(what, expression, value, "a list")


def failure_of(what: str, expression: Expression, value: Any, wanted: str) -> Failure:
    text = f"the {what} {expression.text} gave {kind_of(value)}, but {wanted} is needed"
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
