"""The types of FEEL by their names: for `instance of`, and for the arguments of built-in functions."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conjoin.feel.values.callables import Function
from conjoin.feel.values.ranges import Range
from conjoin.feel.values.temporal import Date, DateTime, DaysTime, Time, YearsMonths


def _exactly(*kinds: type) -> Callable[[Any], bool]:
    """bool is no number, and a date-time no date, so a type is its own and not a kind of another."""
    return lambda value: type(value) in kinds


IS_OF_TYPE: dict[str, Callable[[Any], bool]] = {
    "number": _exactly(int, Decimal),
    "string": _exactly(str),
    "boolean": _exactly(bool),
    "date": _exactly(Date),
    "time": _exactly(Time),
    "date and time": _exactly(DateTime),
    "days and time duration": _exactly(DaysTime),
    "years and months duration": _exactly(YearsMonths),
    "list": _exactly(list),
    "context": _exactly(dict),
    "range": _exactly(Range),
    "function": _exactly(Function),
    "Any": lambda value: value is not None,
}
