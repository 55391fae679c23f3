"""What stands behind a dot: an entry of a context, a property of a temporal value or a range, each item's of a list."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from conjoin.feel.budget import Budget
from conjoin.feel.errors import Unanswerable
from conjoin.feel.temporal import SECOND_US, Date, DateTime, DaysTime, Time, YearsMonths, days_of
from conjoin.feel.types import Range
from conjoin.times import calendar
from conjoin.times.calendar import DAY_US

_DEEPEST_LISTS = 100


def property_of(value: Any, key: str, budget: Budget, depth: int = 0) -> Any:
    """The value behind the dot, or None. Of a list: the list of what stands behind the dot of each item."""
    kind = type(value)
    if kind is dict:
        return value.get(key)
    if kind is list:
        if depth > _DEEPEST_LISTS:
            raise Unanswerable
        budget.work(8 * len(value))
        budget.items(len(value))
        return [property_of(item, key, budget, depth + 1) for item in value]
    read = _PROPERTIES.get(kind, {}).get(key)
    return read(value) if read else None


def _signed_part(read: Callable[[Any], int], unit: int, modulus: int | None = None) -> Callable[[Any], int]:
    """A component of a duration, with the sign of the whole."""

    def part(duration: Any) -> int:
        whole = read(duration)
        count = abs(whole) // unit
        count = count % modulus if modulus else count
        return -count if whole < 0 else count

    return part


def _of_day(unit_us: int, modulus: int) -> Callable[[Time | DateTime], int]:
    return lambda value: value.local % DAY_US // unit_us % modulus


def _civil(index: int) -> Callable[[Date | DateTime], int]:
    return lambda value: calendar.civil_from_days(days_of(value))[index]


_microseconds, _months = attrgetter("microseconds"), attrgetter("months")
_DATE: dict[str, Callable[[Any], Any]] = {
    **{"year": _civil(0), "month": _civil(1), "day": _civil(2)},
    "weekday": lambda value: calendar.weekday(days_of(value)),
}
_CLOCK: dict[str, Callable[[Any], Any]] = {
    "hour": _of_day(3600 * SECOND_US, 24),
    "minute": _of_day(60 * SECOND_US, 60),
    "second": _of_day(SECOND_US, 60),
    "time offset": lambda value: None if value.offset is None else DaysTime(value.offset * SECOND_US),
    "timezone": lambda value: value.zone,
}
_PROPERTIES: dict[type, dict[str, Callable[[Any], Any]]] = {
    Date: _DATE,
    Time: _CLOCK,
    DateTime: _DATE | _CLOCK,
    DaysTime: {
        "days": _signed_part(_microseconds, DAY_US),
        "hours": _signed_part(_microseconds, 3600 * SECOND_US, 24),
        "minutes": _signed_part(_microseconds, 60 * SECOND_US, 60),
        "seconds": _signed_part(_microseconds, SECOND_US, 60),
    },
    YearsMonths: {"years": _signed_part(_months, 12), "months": _signed_part(_months, 1, 12)},
    Range: {name: attrgetter(name.replace(" ", "_")) for name in ("start", "end", "start included", "end included")},
}
