"""ISO 8601 texts: instants, durations, repeating intervals and their parts, as integers.

A duration is calendar months and microseconds; more than microseconds is cut off. What is not such a text, and what
the calendar does not have, answers None.
"""

import re
from typing import NamedTuple

from conjoin.times.calendar import DAY_US, clock_text, date_text, read_civil

SECOND_US = 1_000_000
FOREVER = -1
"""As many repetitions as there is time for."""

LARGEST_INT64 = 2**63 - 1
_MOST_MONTHS = 12 * 1_000_000
"""More than there is time for."""
_FARTHEST_OFFSET_S = 24 * 3600 - 1
"""As RFC 3339 has it; no place on earth is farther than 14 hours away."""

DATE_TEXT = r"(-?[0-9]{4,9})-([0-9]{2})-([0-9]{2})"
TIME_TEXT = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
_NUMBER = r"(-?[0-9]{1,19})"
_DURATION = re.compile(
    rf"([+-])?P(?=.)(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}(?:[.,]([0-9]{{1,9}}))?S)?)?"
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})(?::([0-9]{2}))?")
_INSTANT = re.compile(rf"{DATE_TEXT}T{TIME_TEXT}(Z|[+-][0-9:]{{4,8}})?(?:\[[\w/+-]+\])?")
_REPEATING = re.compile(r"R([0-9]{0,19})/(?:([^/]+)/)?([^/]+)")


class Interval(NamedTuple):
    months: int
    microseconds: int


class Cycle(NamedTuple):
    """How often, from when on (None: from now), and how far apart."""

    repetitions: int
    start: int | None
    interval: Interval


class DurationParts(NamedTuple):
    """A duration of any length, and which of its parts are written."""

    months: int
    microseconds: int
    has_months: bool
    has_time: bool


def read_duration(text: str) -> DurationParts | None:
    """`P1Y2M3DT4H5M6.7S` and any part of it; the whole or a part may be negative."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match[1] == "-" else 1
    years, months, weeks, days, hours, minutes, seconds = (int(match[n] or 0) for n in range(2, 9))
    whole = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds
    fraction = microseconds_of(match[9])
    microseconds = whole * SECOND_US + (-fraction if (match[8] or "").startswith("-") else fraction)
    written = any(match.group(2, 3)), any(match.group(4, 5, 6, 7, 8))
    return DurationParts(sign * (years * 12 + months), sign * microseconds, *written)


def read_interval(text: str) -> Interval | None:
    """A duration; None also for one that 64 bits of microseconds do not hold."""
    parts = read_duration(text.strip())
    if parts is None or abs(parts.months) > _MOST_MONTHS or abs(parts.microseconds) > LARGEST_INT64:
        return None
    return Interval(parts.months, parts.microseconds)


def read_instant(text: str) -> int | None:
    """`2030-01-01T06:00:00Z`, with an offset, or without one: UTC."""
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        return None
    days, clock = read_civil(int(match[1]), int(match[2]), int(match[3])), read_clock_us(*match.group(4, 5, 6, 7))
    offset_s = read_offset_s(match[8] or "Z")
    if days is None or clock is None or offset_s is None:
        return None
    return days * DAY_US + clock - offset_s * SECOND_US


def read_cycle(text: str) -> Cycle | None:
    """`R3/PT10M`, `R/2030-01-01T00:00:00Z/P1D`"""
    match = _REPEATING.fullmatch(text.strip())
    if match is None:
        return None
    interval = read_interval(match[3])
    start = None if match[2] is None else read_instant(match[2])
    if interval is None or (match[2] is not None and start is None):
        return None
    repetitions = int(match[1]) if match[1] else FOREVER
    return Cycle(repetitions, start, interval) if repetitions <= LARGEST_INT64 else None


def read_clock_us(hour: str, minute: str, second: str | None, fraction: str | None) -> int | None:
    """Microseconds since midnight. `24:00` is the end of a day, and second 60 of a last minute is the next one's."""
    seconds = int(second or 0)
    if int(minute) > 59 or seconds > (60 if minute == "59" else 59):
        return None
    clock = ((int(hour) * 60 + int(minute)) * 60 + seconds) * SECOND_US + microseconds_of(fraction)
    return clock if int(hour) < 24 or clock == DAY_US else None


def read_offset_s(text: str) -> int | None:
    """Seconds of `Z`, `+02:00`, `-1130`; None for what is no offset of a day."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        return 0 if text == "Z" else None
    seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4] or 0)
    if int(match[3]) > 59 or int(match[4] or 0) > 59 or seconds > _FARTHEST_OFFSET_S:
        return None
    return -seconds if match[1] == "-" else seconds


def microseconds_of(fraction: str | None) -> int:
    """Of the digits after a full stop."""
    return int(fraction[:6].ljust(6, "0")) if fraction else 0


def instant_text(instant: int) -> str:
    """`2030-01-01T06:00:00Z`, with as much of a second as there is."""
    days, time = divmod(instant, DAY_US)
    return f"{date_text(days)}T{clock_text(time)}Z"
