"""Instants and durations: integers only.

An instant is a count of microseconds since 1970 in UTC; a duration is a count of milliseconds. The end of time
is a number like any other, so a deadline never overflows and "never" needs no special case.
"""

from typing import Final

from conjoin.times import calendar

NEVER: Final = 2**63 - 1
"""The instant that does not come: the deadline of a message that is kept for ever."""

ALWAYS: Final = -(2**63)
"""The instant before all others."""


def after(at: int, duration_ms: int) -> int:
    """The instant a duration later; the end of time when that is farther away, and so at its other end."""
    return max(ALWAYS, min(at + duration_ms * 1_000, NEVER))


def elapsed_ms(start: int, end: int) -> int:
    """Whole milliseconds from one instant to another, never negative."""
    return max(end - start, 0) // 1_000


def later(instant: int, interval: tuple[int, int]) -> int:
    """The instant so many months and microseconds later, in UTC; an end of time when that is farther away."""
    return max(ALWAYS, min(calendar.after(instant, *interval), NEVER))
