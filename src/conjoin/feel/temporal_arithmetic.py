"""What `+`, `-`, `*` and `/` mean for temporal values: one table an operator, by the types of both sides.

A result that no calendar has (too far away, too long) is None.
"""

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import Any

from conjoin.feel import numbers
from conjoin.feel import temporal as t
from conjoin.feel.numbers import CONTEXT, NUMBERS, Number
from conjoin.times import calendar
from conjoin.times.calendar import DAY_US

Operation = Callable[[Any, Any], Any]
_FIRST_DAY = calendar.days_from_civil(-calendar.LAST_YEAR, 1, 1)
_LAST_DAY = calendar.days_from_civil(calendar.LAST_YEAR, 12, 31)


def days_time(microseconds: int | None) -> t.DaysTime | None:
    return None if microseconds is None or abs(microseconds) > t.LONGEST_US else t.DaysTime(microseconds)


def years_months(months: int | None) -> t.YearsMonths | None:
    return None if months is None or abs(months) > t.LONGEST_MONTHS else t.YearsMonths(months)


def _date_after(date: t.Date, duration: t.Duration) -> t.Date | None:
    """A date with a duration of time is its midnight plus that; the date of the result."""
    days = duration.after(date.days * DAY_US) // DAY_US
    return t.Date(days) if _FIRST_DAY <= days <= _LAST_DAY else None


def _date_time_after(start: t.DateTime, duration: t.Duration) -> t.DateTime | None:
    local = duration.after(start.local)
    return t.DateTime(local, start.offset, start.zone) if _FIRST_DAY <= local // DAY_US <= _LAST_DAY else None


def _time_after(time: t.Time, duration: t.DaysTime) -> t.Time:
    return t.Time((time.local + duration.microseconds) % DAY_US, time.offset, time.zone)


def _difference(left: t.DateTime | t.Time, right: t.DateTime | t.Time) -> t.DaysTime | None:
    """Both local, or both with an offset."""
    if left.zone or right.zone or (left.offset is None) != (right.offset is None):
        return None
    offsets = (left.offset or 0) - (right.offset or 0)
    return days_time(left.local - right.local - offsets * t.SECOND_US)


def _date_difference(left: t.Date | t.DateTime, right: t.Date | t.DateTime) -> t.DaysTime | None:
    """Of a date and a date-time: the date is midnight, in the zone of the other."""
    like = next((value for value in (left, right) if isinstance(value, t.DateTime)), t.DateTime(0))
    return _difference(_midnight(left, like), _midnight(right, like))


def _midnight(value: t.Date | t.DateTime, like: t.DateTime) -> t.DateTime:
    return value if isinstance(value, t.DateTime) else t.DateTime(value.days * DAY_US, like.offset, like.zone)


def _scaled(compute: Callable[[Any, Any], Decimal]) -> dict[type, Operation]:
    """Durations times or by a number, cut off to whole months or microseconds."""

    def scaled(units: int, number: Number) -> int | None:
        return numbers.as_int(compute(units, number).to_integral_value(ROUND_DOWN, CONTEXT))

    return {
        t.DaysTime: lambda duration, number: days_time(scaled(duration.microseconds, number)),
        t.YearsMonths: lambda duration, number: years_months(scaled(duration.months, number)),
    }


def _swapped(operation: Operation) -> Operation:
    return lambda left, right: operation(right, left)


def _with_reversed(after: Operation) -> Operation:
    return lambda point, duration: after(point, t.Duration(-duration.months, -duration.microseconds))


_AFTER: dict[tuple[type, type], Operation] = {
    **{(t.Date, kind): _date_after for kind in (t.DaysTime, t.YearsMonths)},
    **{(t.DateTime, kind): _date_time_after for kind in (t.DaysTime, t.YearsMonths)},
    (t.Time, t.DaysTime): _time_after,
}
ADDED: dict[tuple[type, type], Operation] = {
    **_AFTER,
    **{(duration, point): _swapped(after) for (point, duration), after in _AFTER.items()},
    (t.DaysTime, t.DaysTime): lambda left, right: days_time(left.microseconds + right.microseconds),
    (t.YearsMonths, t.YearsMonths): lambda left, right: years_months(left.months + right.months),
}
SUBTRACTED: dict[tuple[type, type], Operation] = {
    **{types: _with_reversed(after) for types, after in _AFTER.items()},
    **{(left, right): _date_difference for left in (t.Date, t.DateTime) for right in (t.Date, t.DateTime)},
    (t.Time, t.Time): _difference,
    (t.DaysTime, t.DaysTime): lambda left, right: days_time(left.microseconds - right.microseconds),
    (t.YearsMonths, t.YearsMonths): lambda left, right: years_months(left.months - right.months),
}
MULTIPLIED: dict[tuple[type, type], Operation] = {
    **{(kind, number): scale for kind, scale in _scaled(CONTEXT.multiply).items() for number in NUMBERS},
    **{(number, kind): _swapped(scale) for kind, scale in _scaled(CONTEXT.multiply).items() for number in NUMBERS},
}
DIVIDED: dict[tuple[type, type], Operation] = {
    **{(kind, number): scale for kind, scale in _scaled(CONTEXT.divide).items() for number in NUMBERS},
    (t.DaysTime, t.DaysTime): lambda left, right: numbers.divide(left.microseconds, right.microseconds),
    (t.YearsMonths, t.YearsMonths): lambda left, right: numbers.divide(left.months, right.months),
}
