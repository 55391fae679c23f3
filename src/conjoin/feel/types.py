"""Ranges and functions (values that JSON does not have), and the types of all values by their names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from conjoin.feel.temporal import Date, DateTime, DaysTime, Time, YearsMonths


class Range(NamedTuple):
    start: Any
    end: Any
    start_included: bool = True
    end_included: bool = True


@dataclass(slots=True, eq=False)
class Function:
    """A function that an expression defines. Called with a value for each parameter; anything else is null.

    Its body sees what was in scope where it was defined. Two functions are never equal.
    """

    parameters: tuple[str, ...]
    body: Callable[[dict[str, Any]], Any]

    def __call__(self, arguments: Sequence[Any]) -> Any:
        if len(arguments) != len(self.parameters):
            return None
        return self.body(dict(zip(self.parameters, arguments, strict=True)))


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
