"""Conversion functions (values to text and JSON and back, temporal values from text or from their parts), and temporal
ones. `now` and `today` read the command's time: every replay of it sees the same.
"""

from collections.abc import Callable
from typing import Any

from conjoin.feel import iso
from conjoin.feel.budget import not_built, nothing
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.numbers import Number, as_int, read_number
from conjoin.feel.temporal import SECOND_US, Date, DateTime, DaysTime, Time, YearsMonths, days_of
from conjoin.feel.text import json_text, read_json, text_of
from conjoin.times import calendar
from conjoin.times.calendar import DAY_US

_FARTHEST_OFFSET_US = 18 * 3600 * SECOND_US
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _number(text: str, grouping: str | None = None, decimal: str | None = None) -> Number | None:
    if grouping not in (None, " ", ",", ".") or decimal not in (None, ",", ".") or (grouping and grouping == decimal):
        return None
    if grouping:
        text = text.replace(grouping, "")
    return read_number(text.replace(decimal, ".") if decimal else text)


def _date_of(*parts: Number) -> Date | None:
    whole = [part for part in map(as_int, parts) if part is not None]
    days = calendar.read_civil(*whole) if len(whole) == 3 else None
    return None if days is None else Date(days)


def _time_of(hour: Number, minute: Number, second: Number, offset: DaysTime | None = None) -> Time | None:
    hours, minutes = as_int(hour), as_int(minute)
    if hours is None or minutes is None or not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= second < 60):
        return None
    local = (hours * 60 + minutes) * 60 * SECOND_US + int(second * SECOND_US)
    if offset is None:
        return Time(local)
    is_near = abs(offset.microseconds) <= _FARTHEST_OFFSET_US
    return Time(local, offset.microseconds // SECOND_US) if is_near else None


def _date_time_from(text: str) -> DateTime | None:
    date = iso.parse_date(text)
    return iso.parse_date_time(text) if date is None else DateTime(date.days * DAY_US)


def _date_time_of(date: Date | DateTime, time: Time) -> DateTime:
    return DateTime(days_of(date) * DAY_US + time.local, time.offset, time.zone)


def _date_time_at(value: DateTime, timezone: str) -> DateTime | None:
    """The same instant at another offset; that of a named zone, there or here, is not known."""
    zone, instant = iso.read_zone(timezone), value.instant
    if zone is None or zone[0] is None or instant is None:
        return None
    return DateTime(instant + zone[0] * SECOND_US, zone[0])


def _months_between(start: Date | DateTime, end: Date | DateTime) -> YearsMonths:
    return YearsMonths(calendar.months_between(days_of(start), days_of(end)))


def _last_day_of_month(days: int) -> Date:
    year, month, _ = calendar.civil_from_days(days)
    return Date(calendar.days_from_civil(year, month, calendar.days_in_month(year, month)))


def _of_day(read: Callable[[int], Any]) -> tuple[Overload, ...]:
    return (overload("date:date|date and time", lambda value: read(days_of(value))),)


def _same(value: Any) -> Any:
    return value


CONVERSION: dict[str, tuple[Overload, ...]] = {
    "string": (overload("from:any", text_of, nothing, not_built, spends=True),),
    "number": (
        overload("from:string, grouping separator?:string?, decimal separator?:string?", _number),
        overload("from:number", _same),
    ),
    "date": (
        overload("from:string", iso.parse_date),
        overload("from:date|date and time", lambda value: Date(days_of(value))),
        overload("year:number, month:number, day:number", _date_of),
    ),
    "time": (
        overload("from:string", iso.parse_time),
        overload("from:date and time", lambda value: value.time),
        overload("from:time", _same),
        overload("hour:number, minute:number, second:number, offset?:days and time duration?", _time_of),
    ),
    "date and time": (
        overload("from:string", _date_time_from),
        overload("from:date and time", _same),
        overload("date:date|date and time, time:time", _date_time_of),
        overload("date:date and time, timezone:string", _date_time_at),
    ),
    "duration": (
        overload("from:string", iso.parse_feel_duration),
        overload("from:days and time duration|years and months duration", _same),
    ),
    "years and months duration": (overload("from:date|date and time, to:date|date and time", _months_between),),
    "from json": (overload("value:string", read_json, nothing, not_built, spends=True),),
    "to json": (overload("value:any", json_text, nothing, not_built, spends=True),),
    "day of week": _of_day(lambda days: _DAYS[calendar.weekday(days) - 1]),
    "day of year": _of_day(calendar.day_of_year),
    "week of year": _of_day(calendar.week_of_year),
    "month of year": _of_day(lambda days: _MONTHS[calendar.civil_from_days(days)[1] - 1]),
    "last day of month": _of_day(_last_day_of_month),
}

CLOCK_FUNCTIONS: dict[str, Callable[[int], Date | DateTime]] = {
    "now": lambda now: DateTime(now, 0),
    "today": lambda now: Date(now // DAY_US),
}
"""Called with the command's time."""
