"""ISO 8601 texts read into temporal values; None for what is none.

More than microseconds is cut off. Dates the calendar does not have, and durations longer than it, are none.
"""

import re

from conjoin.feel.values import calendar
from conjoin.feel.values.calendar import DAY_US
from conjoin.feel.values.temporal import (
    LONGEST_MONTHS,
    LONGEST_US,
    SECOND_US,
    Date,
    DateTime,
    DaysTime,
    Duration,
    Temporal,
    Time,
    YearsMonths,
)

_DATE_TEXT = r"(-?[0-9]{4,9})-([0-9]{2})-([0-9]{2})"
_TIME_TEXT = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_PLACE_TEXT = r"(Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?(?:@([\w/+:-]{1,255})|\[([\w/+:-]{1,255})\])?"
_DATE = re.compile(_DATE_TEXT)
_TIME = re.compile(f"T?{_TIME_TEXT}{_PLACE_TEXT}")
_DATE_TIME = re.compile(f"{_DATE_TEXT}T{_TIME_TEXT}{_PLACE_TEXT}")
_NUMBER = r"(-?[0-9]{1,18})"
_DURATION = re.compile(
    rf"(-)?P(?=.)(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:(-?[0-9]{{1,18}})(?:\.([0-9]{{1,9}}))?S)?)?"
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?")
_UTC_NAMES = {"Z", "UTC", "GMT", "Etc/UTC", "Etc/GMT"}
_FARTHEST_OFFSET_S = 18 * 3600

Place = tuple[int | None, str | None]


def parse_date(text: str) -> Date | None:
    match = _DATE.fullmatch(text)
    if not match:
        return None
    days = calendar.read_civil(int(match[1]), int(match[2]), int(match[3]))
    return None if days is None else Date(days)


def parse_time(text: str) -> Time | None:
    match = _TIME.fullmatch(text)
    if not match:
        return None
    hour, minute, second, fraction, *place_parts = match.groups()
    local, place = _clock(hour, minute, second, fraction), _place(*place_parts)
    return None if local is None or place is None else Time(local, *place)


def parse_date_time(text: str) -> DateTime | None:
    """`2026-03-01T09:30:00`, with an optional fraction, and `Z`, `+02:00`, `@Europe/Berlin` or `[Europe/Berlin]`."""
    match = _DATE_TIME.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, *place_parts = match.groups()
    days = calendar.read_civil(int(year), int(month), int(day))
    local, place = _clock(hour, minute, second, fraction), _place(*place_parts)
    if days is None or local is None or place is None:
        return None
    return DateTime(days * DAY_US + local, *place)


def parse_duration(text: str) -> Duration | None:
    """`P1Y2M3DT4H5M6.7S` and any part of it; `YearsMonths` or `DaysTime` when it is purely of that kind."""
    match = _DURATION.fullmatch(text)
    if not match:
        return None
    sign = -1 if match[1] else 1
    years, months, weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:8])
    all_months = sign * (years * 12 + months)
    whole_seconds = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds
    fraction = int((match[9] or "").ljust(6, "0")[:6])
    microseconds = sign * (whole_seconds * SECOND_US + (-fraction if (match[8] or "").startswith("-") else fraction))
    if abs(all_months) > LONGEST_MONTHS or abs(microseconds) > LONGEST_US:
        return None
    return _of_its_kind(all_months, microseconds, any(match.group(2, 3)), any(match.group(4, 5, 6, 7, 8)))


def _of_its_kind(months: int, microseconds: int, has_months: bool, has_time: bool) -> Duration:
    if has_months and has_time:
        return Duration(months, microseconds)
    return YearsMonths(months) if has_months else DaysTime(microseconds)


def parse_temporal(text: str) -> Temporal | None:
    """Whatever temporal value the text is: the part in quotes of `@"..."`. A duration is of one of FEEL's kinds."""
    found: Temporal | None
    for parse in (parse_date, parse_date_time, parse_time, parse_feel_duration):
        found = parse(text)
        if found is not None:
            return found
    return None


def parse_feel_duration(text: str) -> Duration | None:
    """A duration of months or of time; one of both kinds at once is none in FEEL."""
    duration = parse_duration(text)
    return None if type(duration) is Duration else duration


def looks_temporal(text: str) -> bool:
    """Whether the text has the form of a temporal value, even one the calendar does not have."""
    return any(form.fullmatch(text) for form in (_DATE, _DATE_TIME, _TIME, _DURATION))


def _clock(hour: str, minute: str, second: str | None, fraction: str | None) -> int | None:
    seconds = int(second or 0)
    if int(hour) > 23 or int(minute) > 59 or seconds > 59:
        return None
    whole = (int(hour) * 60 + int(minute)) * 60 + seconds
    return whole * SECOND_US + int((fraction or "").ljust(6, "0")[:6])


def _place(offset: str | None, at_zone: str | None, bracket_zone: str | None) -> Place | None:
    """(offset, zone): a zone's name wins over an offset beside it, as its offset follows from it."""
    zone = at_zone or bracket_zone
    if zone is not None:
        return read_zone(zone)
    if offset is None:
        return None, None
    return read_zone(offset)


def read_zone(text: str) -> Place | None:
    """(offset, None) of `Z`, `UTC` or `+02:00`; (None, zone) of a name; None for an offset that cannot be."""
    if text in _UTC_NAMES:
        return 0, None
    match = _OFFSET.fullmatch(text)
    if not match:
        return None, text
    seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4] or 0)
    if int(match[3]) > 59 or int(match[4] or 0) > 59 or seconds > _FARTHEST_OFFSET_S:
        return None
    return (-seconds if match[1] == "-" else seconds), None
