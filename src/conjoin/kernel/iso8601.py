"""ISO 8601 texts of timers: instants, durations and repeating intervals, as integers.

A duration is calendar months and microseconds; adding months clamps to the last day of the month, in UTC. What is
not such a text answers None.
"""

import re
from typing import NamedTuple

from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.storable import LARGEST_INT64

DAY_US = 86_400_000_000
FOREVER = -1
"""As many repetitions as there is time for."""

_MOST_MONTHS = 12 * 1_000_000
"""More than there is time for."""
_DURATION = re.compile(
    r"([+-])?P(?!$)(?:(\d{1,19})Y)?(?:(\d{1,19})M)?(?:(\d{1,19})W)?(?:(\d{1,19})D)?"
    r"(?:T(?=\d)(?:(\d{1,19})H)?(?:(\d{1,19})M)?(?:(\d{1,19})(?:[.,](\d{1,9}))?S)?)?"
)
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?(?:\[[\w/+-]+\])?"
)
_REPEATING = re.compile(r"R(\d{0,19})/(?:([^/]+)/)?([^/]+)")


class Interval(NamedTuple):
    months: int
    microseconds: int


class Cycle(NamedTuple):
    """How often, from when on (None: from now), and how far apart."""

    repetitions: int
    start: int | None
    interval: Interval


def read_interval(text: str) -> Interval | None:
    """`P1Y2M3DT4H5M6.7S`; None also for one that 64 bits of microseconds do not hold."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    sign = -1 if match[1] == "-" else 1
    years, months, weeks, days, hours, minutes, seconds = (int(match[n] or 0) for n in range(2, 9))
    whole = ((days + weeks * 7) * 24 + hours) * 3600 + minutes * 60 + seconds
    interval = Interval(sign * (years * 12 + months), sign * (whole * 1_000_000 + _microseconds(match[9])))
    fits = abs(interval.months) <= _MOST_MONTHS and abs(interval.microseconds) <= LARGEST_INT64
    return interval if fits else None


def read_instant(text: str) -> int | None:
    """`2030-01-01T06:00:00Z`, with an offset, or without one: UTC."""
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[n]) for n in range(1, 6))
    second = int(match[6] or 0)
    if not 1 <= month <= 12 or not 1 <= day <= _days_in_month(year, month) or hour > 24 or minute > 59 or second > 60:
        return None
    seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - _offset_s(match[8])
    return seconds * 1_000_000 + _microseconds(match[7])


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


def instant_text(instant: int) -> str:
    """`2030-01-01T06:00:00Z`, with as much of a second as there is."""
    days, time = divmod(instant, DAY_US)
    year, month, day = civil_from_days(days)
    seconds, fraction = divmod(time, 1_000_000)
    told = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{year:04}-{month:02}-{day:02}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{told}Z"


def later(instant: int, interval: tuple[int, int]) -> int:
    """The instant an interval later; an end of time when that is farther away."""
    months, microseconds = interval
    if months:
        days, time = divmod(instant, DAY_US)
        year, month, day = civil_from_days(days)
        year, month = divmod(year * 12 + month - 1 + months, 12)
        day = min(day, _days_in_month(year, month + 1))
        instant = days_from_civil(year, month + 1, day) * DAY_US + time
    return max(ALWAYS, min(instant + microseconds, NEVER))


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01; a year begins in March here, so that the leap day is its last."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _microseconds(fraction: str | None) -> int:
    return int(fraction[:6].ljust(6, "0")) if fraction else 0


def _offset_s(text: str | None) -> int:
    if text is None or text == "Z":
        return 0
    digits = text[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if text[0] == "-" else seconds
