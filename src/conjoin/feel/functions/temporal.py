"""Temporal functions. `now` and `today` read the command's time: every replay of it sees the same."""

from collections.abc import Callable

from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.temporal import Date, DateTime
from conjoin.times import calendar
from conjoin.times.calendar import DAY_US

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def days_of(value: Date | DateTime) -> int:
    return value.days if isinstance(value, Date) else value.local // DAY_US


def _day_of_week(value: Date | DateTime) -> str:
    return _DAYS[calendar.weekday(days_of(value)) - 1]


def _month_of_year(value: Date | DateTime) -> str:
    return _MONTHS[calendar.civil_from_days(days_of(value))[1] - 1]


def _last_day_of_month(value: Date | DateTime) -> Date:
    year, month, _ = calendar.civil_from_days(days_of(value))
    return Date(calendar.days_from_civil(year, month, calendar.days_in_month(year, month)))


_DAY = "date:date|date and time"

TEMPORAL: dict[str, tuple[Overload, ...]] = {
    "day of week": (overload(_DAY, _day_of_week),),
    "day of year": (overload(_DAY, lambda value: calendar.day_of_year(days_of(value))),),
    "week of year": (overload(_DAY, lambda value: calendar.week_of_year(days_of(value))),),
    "month of year": (overload(_DAY, _month_of_year),),
    "last day of month": (overload(_DAY, _last_day_of_month),),
}

CLOCK: dict[str, Callable[[int], Date | DateTime]] = {
    "now": lambda now: DateTime(now, 0),
    "today": lambda now: Date(now // DAY_US),
}
