"""Conversion functions: values to text and JSON and back, and temporal values from text or from their parts."""

from typing import Any

from conjoin.feel import iso
from conjoin.feel.budget import not_built, nothing
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.functions.temporal import days_of
from conjoin.feel.numbers import Number, as_int, read_number
from conjoin.feel.temporal import SECOND_US, Date, DateTime, DaysTime, Time, YearsMonths
from conjoin.feel.text import json_text, read_json, text_of
from conjoin.times import calendar
from conjoin.times.calendar import DAY_US

_FARTHEST_OFFSET_US = 18 * 3600 * SECOND_US


def _number(text: str, grouping: str | None = None, decimal: str | None = None) -> Number | None:
    if grouping not in (None, " ", ",", ".") or decimal not in (None, ",", ".") or (grouping and grouping == decimal):
        return None
    if grouping:
        text = text.replace(grouping, "")
    return read_number(text.replace(decimal, ".") if decimal else text)


def _date_of(year: Number, month: Number, day: Number) -> Date | None:
    parts = as_int(year), as_int(month), as_int(day)
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    days = calendar.read_civil(parts[0], parts[1], parts[2])
    return None if days is None else Date(days)


def _time_of(hour: Number, minute: Number, second: Number, offset: DaysTime | None = None) -> Time | None:
    whole = as_int(hour), as_int(minute)
    if whole[0] is None or whole[1] is None or not (0 <= whole[0] < 24 and 0 <= whole[1] < 60 and 0 <= second < 60):
        return None
    local = (whole[0] * 60 + whole[1]) * 60 * SECOND_US + int(second * SECOND_US)
    if offset is None:
        return Time(local)
    if abs(offset.microseconds) > _FARTHEST_OFFSET_US:
        return None
    return Time(local, offset.microseconds // SECOND_US)


def _date_time_from(text: str) -> DateTime | None:
    date = iso.parse_date(text)
    return iso.parse_date_time(text) if date is None else DateTime(date.days * DAY_US)


def _date_time_of(date: Date | DateTime, time: Time) -> DateTime:
    return DateTime(days_of(date) * DAY_US + time.local, time.offset, time.zone)


def _date_time_at(value: DateTime, timezone: str) -> DateTime | None:
    """The same instant at another place; a named zone, there or here, has no offset that we know."""
    place, instant = iso.read_zone(timezone), value.instant
    if place is None or place[0] is None or instant is None:
        return None
    return DateTime(instant + place[0] * SECOND_US, place[0])


def _months_between(start: Date | DateTime, end: Date | DateTime) -> YearsMonths:
    return YearsMonths(calendar.months_between(days_of(start), days_of(end)))


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
}
