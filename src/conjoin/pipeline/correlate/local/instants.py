"""Texts as instants and instants as texts, as Spark's `cast` and its formats have them, in UTC.

What Spark would look up in its own tables (the name of a region, a year beyond the calendar) is `NotLocal`.
"""

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import available_timezones

from conjoin.pipeline.correlate.local.not_local import NotLocal

BLANKS = "".join(map(chr, (*range(0x21), 0x7F)))
"""What Spark takes away at the ends of a text before it reads a number or an instant in it."""

_TEXT = re.compile(
    r"""(?P<sign>[+-])?(?P<year>[0-9]{4,6})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})(?:[ T]
    (?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})
    (?:\.(?P<fraction>[0-9]*))?(?P<zone>[^0-9].*)?)?)?)?)?)?""",
    re.VERBOSE | re.DOTALL,
)
_EXACT_OFFSET = re.compile(r"[+-](?:[0-9]|[0-9]{2}|[0-9]{4}|[0-9]{6}|[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)")
_EPOCH = datetime(1970, 1, 1)
_MOST_OFFSET_S = 18 * 3600


@lru_cache(maxsize=500_000)
def micros_of(text: str) -> int | None:
    """Microseconds since 1970; None where the text is no instant. Remembered, as tables are looked over twice."""
    found = _TEXT.fullmatch(text.strip(BLANKS))
    if found is None:
        return None
    sign, year, month, day, hour, minute, second, fraction, zone = found.groups()
    offset = _offset_s(zone.strip()) if zone else 0
    if offset is None:
        return None
    if sign or len(year) > 4 or year == "0000":
        raise NotLocal(f"{text!r} has the year 0, one of an era, or one of more than four digits")
    part = int(fraction.ljust(6, "0")[:6]) if fraction else 0
    try:
        since = (
            datetime(
                int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), part
            )
            - _EPOCH
        )
    except ValueError:
        return None
    return (since.days * 86_400 + since.seconds - offset) * 1_000_000 + since.microseconds


@lru_cache(maxsize=10_000)
def _offset_s(zone: str) -> int | None:
    """How far a zone is from UTC; None where it is no zone."""
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    for prefix in ("UTC", "GMT", "UT"):
        if zone.startswith(prefix) and zone[len(prefix) :][:1] in ("+", "-"):
            raise NotLocal(f"the zone {zone}")
    if zone[:1] in ("+", "-"):
        return _seconds_of(zone)
    if ":" in zone or len(zone) < 2:
        return None
    if (len(zone) == 3 and zone.isupper()) or zone in _zones():
        raise NotLocal(f"the zone {zone}")
    return None


@lru_cache(maxsize=1)
def _zones() -> set[str]:
    return available_timezones()


def _seconds_of(zone: str) -> int | None:
    """Spark fills up `+1:00` and `+01:0`; the rest is Java's."""
    zone = re.sub(r"^([+-])([0-9]):", r"\g<1>0\2:", zone, count=1)
    zone = re.sub(r"^([+-])([0-9]{2}):([0-9])$", r"\1\2:0\3", zone, count=1)
    if not _EXACT_OFFSET.fullmatch(zone):
        return None
    digits = zone[1:].replace(":", "")
    digits = digits.zfill(2) if len(digits) < 2 else digits
    hours, minutes, seconds = (int(digits[at : at + 2] or 0) for at in (0, 2, 4))
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST_OFFSET_S:
        return None
    return -total if zone[0] == "-" else total


def moment_of(micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise NotLocal(f"the instant {micros} beyond the calendar") from None


def to_the_millisecond(micros: int) -> str:
    """As `to_json` writes an instant."""
    return f"{moment_of(micros).isoformat(timespec='milliseconds')}Z"


def to_the_microsecond(micros: int) -> str:
    """As text files have an instant: `TIME_PATTERN`."""
    return f"{moment_of(micros).isoformat(timespec='microseconds')}Z"


def plainly(micros: int) -> str:
    """As `cast` to a string writes one without a zone."""
    whole = moment_of(micros).isoformat(sep=" ", timespec="microseconds")
    return whole.rstrip("0").rstrip(".")


def day_of(days: int) -> str:
    try:
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    except OverflowError:
        raise NotLocal(f"the day {days} beyond the calendar") from None
