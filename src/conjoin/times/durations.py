"""Durations as people write them, as milliseconds: `1500`, `300ms`, `1.5s`, `1h30m`, `7d`, or ISO 8601's `PT30S`.

Months and years are none: how long they are depends on where they begin.
"""

import re

from conjoin.times.iso8601 import LARGEST_INT64, read_interval

_UNITS_MS = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NUMBER = re.compile(r"(-?)\s*([0-9]{1,19})")
_PART = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,9}))?\s*(ms|s|m|h|d)\s*")
_PARTS = re.compile(rf"(-?)((?:{_PART.pattern})+)")
_LONGEST_TEXT = 64
"""No duration is written with more characters."""


def read_duration_ms(value: object, signed: bool = False) -> int | None:
    """None for what is no duration, or one that 64 bits do not hold; a text below zero only where it is `signed`."""
    if isinstance(value, str):
        value = _read_text(value.strip(), signed) if len(value) <= _LONGEST_TEXT else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= LARGEST_INT64 else None


def read_span_ms(value: object) -> int | None:
    """A duration that an instant may lie away: never negative, and 64 bits hold its microseconds."""
    span = read_duration_ms(value)
    return span if span is not None and 0 <= span <= LARGEST_INT64 // 1_000 else None


def _read_text(text: str, signed: bool) -> int | None:
    match = _NUMBER.fullmatch(text) or _PARTS.fullmatch(text)
    if match is None:
        interval = read_interval(text)
        ms = None if interval is None or interval.months else interval.microseconds // 1_000
    else:
        parts = _PART.findall(match[2]) or [(match[2], "", "")]
        ms = sum(map(_part_ms, *zip(*parts, strict=True))) * (-1 if match[1] else 1)
    return ms if ms is None or ms >= 0 or signed else None


def _part_ms(whole: str, fraction: str, unit: str) -> int:
    """Rounded to the nearest."""
    scale: int = 10 ** len(fraction)
    return (2 * int(whole + fraction) * _UNITS_MS[unit] + scale) // (2 * scale)
