"""ISO 8601 texts read into temporal values; None for what is none.

More than microseconds is cut off. Dates the calendar does not have, and durations longer than it, are none.
"""

import re

from conjoin.feel import temporal as t
from conjoin.times.calendar import DAY_US, read_civil
from conjoin.times.iso8601 import DATE_TEXT, TIME_TEXT, read_clock_us, read_duration, read_offset_s

_ZONE_TEXT = r"(Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?(?:@([\w/+:-]{1,255})|\[([\w/+:-]{1,255})\])?"
_TIME_TEXT = TIME_TEXT.replace("[.,]", r"\.")
_DATE = re.compile(DATE_TEXT)
_TIME = re.compile(f"T?{_TIME_TEXT}{_ZONE_TEXT}")
_DATE_TIME = re.compile(f"{DATE_TEXT}T{_TIME_TEXT}{_ZONE_TEXT}")
_FARTHEST_OFFSET_S = 18 * 3600
_OFFSET_FORM = re.compile(r"[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?")
_ELSEWHERE = re.compile(r"[+,]")
"""Signs that ISO 8601 has in a duration, and FEEL has not."""
_UTC_NAMES = {"Z", "UTC", "GMT", "Etc/UTC", "Etc/GMT"}

Zone = tuple[int | None, str | None]
"""An offset in seconds or a name; neither: local time."""


def parse_date(text: str) -> t.Date | None:
    match = _DATE.fullmatch(text)
    if not match:
        return None
    days = read_civil(int(match[1]), int(match[2]), int(match[3]))
    return None if days is None else t.Date(days)


def parse_time(text: str) -> t.Time | None:
    match = _TIME.fullmatch(text)
    if not match:
        return None
    hour, minute, second, fraction, *zone_parts = match.groups()
    local, zone = _clock(hour, minute, second, fraction), _zone(*zone_parts)
    return None if local is None or zone is None else t.Time(local, *zone)


def parse_date_time(text: str) -> t.DateTime | None:
    """`2026-03-01T09:30:00`, with an optional fraction, and `Z`, `+02:00`, `@Europe/Berlin` or `[Europe/Berlin]`."""
    match = _DATE_TIME.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, *zone_parts = match.groups()
    days = read_civil(int(year), int(month), int(day))
    local, zone = _clock(hour, minute, second, fraction), _zone(*zone_parts)
    if days is None or local is None or zone is None:
        return None
    return t.DateTime(days * DAY_US + local, *zone)


def parse_duration(text: str) -> t.Duration | None:
    """`P1Y2M3DT4H5M6.7S` and any part of it; `YearsMonths` or `DaysTime` when it is purely of that kind."""
    parts = None if _ELSEWHERE.search(text) else read_duration(text)
    if parts is None or abs(parts.months) > t.LONGEST_MONTHS or abs(parts.microseconds) > t.LONGEST_US:
        return None
    months, microseconds, has_months, has_time = parts
    if has_months and has_time:
        return t.Duration(months, microseconds)
    return t.YearsMonths(months) if has_months else t.DaysTime(microseconds)


def parse_temporal(text: str) -> t.Temporal | None:
    """Whatever temporal value the text is: the part in quotes of `@"..."`. A duration is of one of FEEL's kinds."""
    found: t.Temporal | None
    for parse in (parse_date, parse_date_time, parse_time, parse_feel_duration):
        found = parse(text)
        if found is not None:
            return found
    return None


def parse_feel_duration(text: str) -> t.Duration | None:
    """A duration of months or of time; one of both kinds at once is none in FEEL."""
    duration = parse_duration(text)
    return None if type(duration) is t.Duration else duration


def looks_temporal(text: str) -> bool:
    """Whether the text has the form of a temporal value, even one the calendar does not have."""
    is_duration = not _ELSEWHERE.search(text) and read_duration(text) is not None
    return is_duration or any(form.fullmatch(text) for form in (_DATE, _DATE_TIME, _TIME))


def _clock(hour: str, minute: str, second: str | None, fraction: str | None) -> int | None:
    """FEEL knows neither the end of a day nor leap seconds."""
    return None if hour == "24" or second == "60" else read_clock_us(hour, minute, second, fraction)


def _zone(offset: str | None, at_zone: str | None, bracket_zone: str | None) -> Zone | None:
    """A zone's name wins over an offset beside it, as its offset follows from it."""
    text = at_zone or bracket_zone or offset
    return (None, None) if text is None else read_zone(text)


def read_zone(text: str) -> Zone | None:
    """(offset, None) of `Z`, `UTC` or `+02:00`; (None, zone) of a name; None for an offset that cannot be."""
    if text in _UTC_NAMES:
        return 0, None
    if not _OFFSET_FORM.fullmatch(text):
        return None, text
    seconds = read_offset_s(text)
    return None if seconds is None or abs(seconds) > _FARTHEST_OFFSET_S else (seconds, None)
