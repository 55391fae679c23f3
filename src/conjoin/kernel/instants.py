"""Instants and durations: integers only.

An instant is a count of microseconds since 1970 in UTC; a duration is a count of milliseconds. The end of time
is a number like any other, so a deadline never overflows and "never" needs no special case.
"""

import re

from conjoin.kernel.storable import LARGEST_INT64

NEVER = 2**63 - 1
"""The instant that does not come: the deadline of a message that is kept for ever."""

ALWAYS = -(2**63)
"""The instant before all others."""

_UNITS_MS = {None: 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d{1,19})\s*(ms|s|m|h|d)?")


def after(at: int, duration_ms: int) -> int:
    """The instant a duration later; the end of time when that is farther away, and so at its other end."""
    return max(ALWAYS, min(at + duration_ms * 1_000, NEVER))


def elapsed_ms(start: int, end: int) -> int:
    """Whole milliseconds from one instant to another, never negative. (It answers for columns of instants, too.)"""
    span = end - start
    return (span > 0) * span // 1_000


def read_duration_ms(text: object) -> int | None:
    """Milliseconds of `1500`, `"1500ms"`, `"30s"`, `"5m"`, `"1h"`, `"7d"`; None when it is none of these.

    Nor is one that 64 bits do not hold.
    """
    if isinstance(text, str):
        match = _DURATION.fullmatch(text.strip())
        text = int(match[1]) * _UNITS_MS[match[2]] if match else None
    if isinstance(text, bool) or not isinstance(text, int):
        return None
    return text if abs(text) <= LARGEST_INT64 else None
