"""What stands behind a dot: an entry of a context, a property of a temporal value or a range, each item's of a list."""

from collections.abc import Callable
from typing import Any

from conjoin.feel.budget import Budget
from conjoin.feel.errors import Unanswerable
from conjoin.feel.temporal import SECOND_US, Date, DateTime, DaysTime, Time, YearsMonths
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


def _part(unit_us: int, modulus: int | None = None) -> Callable[[DaysTime], int]:
    """A component of a duration, with the sign of the whole."""

    def read(duration: DaysTime) -> int:
        count = abs(duration.microseconds) // unit_us
        count = count % modulus if modulus else count
        return -count if duration.microseconds < 0 else count

    return read


def _months_part(months: int, whole_years: bool) -> int:
    count = abs(months) // 12 if whole_years else abs(months) % 12
    return -count if months < 0 else count


def _offset(value: Time | DateTime) -> DaysTime | None:
    return None if value.offset is None else DaysTime(value.offset * SECOND_US)


def _of_day(unit_us: int, modulus: int) -> Callable[[Time | DateTime], int]:
    return lambda value: value.local % DAY_US // unit_us % modulus


def _of_date(read: Callable[[int], int]) -> Callable[[Date | DateTime], int]:
    return lambda value: read(value.days if isinstance(value, Date) else value.local // DAY_US)


_CIVIL: dict[str, Callable[[int], int]] = {
    "year": lambda days: calendar.civil_from_days(days)[0],
    "month": lambda days: calendar.civil_from_days(days)[1],
    "day": lambda days: calendar.civil_from_days(days)[2],
    "weekday": calendar.weekday,
}
_CLOCK: dict[str, Callable[[Any], Any]] = {
    "hour": _of_day(3600 * SECOND_US, 24),
    "minute": _of_day(60 * SECOND_US, 60),
    "second": _of_day(SECOND_US, 60),
    "time offset": _offset,
    "timezone": lambda value: value.zone,
}
_PROPERTIES: dict[type, dict[str, Callable[[Any], Any]]] = {
    Date: {name: _of_date(read) for name, read in _CIVIL.items()},
    Time: _CLOCK,
    DateTime: {**{name: _of_date(read) for name, read in _CIVIL.items()}, **_CLOCK},
    DaysTime: {
        "days": _part(DAY_US),
        "hours": _part(3600 * SECOND_US, 24),
        "minutes": _part(60 * SECOND_US, 60),
        "seconds": _part(SECOND_US, 60),
    },
    YearsMonths: {
        "years": lambda value: _months_part(value.months, True),
        "months": lambda value: _months_part(value.months, False),
    },
    Range: {
        "start": lambda value: value.start,
        "end": lambda value: value.end,
        "start included": lambda value: value.start_included,
        "end included": lambda value: value.end_included,
    },
}
