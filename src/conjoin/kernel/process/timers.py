"""Timers: when one is due, and when it is due again (levels: date, duration, cycle).

A value is an ISO text or a temporal value of an expression; a value of neither kind is an incident. A repeating timer
that is late fires at once and does not make up for what it missed beyond that: its next time is the larger of the
previous one plus the interval, and now.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from conjoin.kernel.instants import later
from conjoin.kernel.plan import TimerDefinition
from conjoin.kernel.process.state import Timer
from conjoin.kernel.process.values import evaluated, not_storable, wrong_kind
from conjoin.kernel.storable import FIRST_INSTANT, LARGEST_INT64, LAST_INSTANT
from conjoin.times.iso8601 import FOREVER, Cycle, Interval, read_cycle, read_instant, read_interval

_ONCE = Interval(0, 0)


class Schedule(NamedTuple):
    """`repetitions` are those after the first time; negative is without end."""

    due_at: int
    repetitions: int
    interval: tuple[int, int]


def schedule(timer: TimerDefinition, view: Mapping[str, Any], at: int) -> Schedule:
    value = evaluated(timer.value, view, at)
    when = _READ[timer.kind](value, at)
    if when is None:
        raise wrong_kind("timer", timer.value, value, _WANTED[timer.kind])
    if not FIRST_INSTANT <= when.due_at <= LAST_INSTANT or max(map(abs, when.interval)) > LARGEST_INT64:
        raise not_storable("timer", timer.value, "is farther away than any instant that is stored")
    return when


def next_time(timer: Timer, at: int) -> Schedule | None:
    """When a timer that has just fired is due again."""
    if timer.repetitions == 0:
        return None
    left = timer.repetitions if timer.repetitions < 0 else timer.repetitions - 1
    return Schedule(max(later(timer.due_at, timer.interval), at), left, timer.interval)


def _at_date(value: Any, at: int) -> Schedule | None:
    instant = read_instant(value) if isinstance(value, str) else getattr(value, "instant", None)
    return None if instant is None else Schedule(instant, 0, _ONCE)


def _after_duration(value: Any, at: int) -> Schedule | None:
    interval = _interval(value)
    return None if interval is None else Schedule(later(at, interval), 0, _ONCE)


def _in_cycles(value: Any, at: int) -> Schedule | None:
    interval = _interval(value)
    cycle = Cycle(FOREVER, None, interval) if interval else read_cycle(value) if isinstance(value, str) else None
    if cycle is None or later(at, cycle.interval) <= at:
        # An interval that takes no time would never let go.
        return None
    left = cycle.repetitions if cycle.repetitions < 0 else max(cycle.repetitions - 1, 0)
    first = later(at, cycle.interval)
    if cycle.start is not None:
        first = cycle.start if cycle.start > at else max(later(cycle.start, cycle.interval), at)
    return Schedule(first, left, cycle.interval)


def _interval(value: Any) -> Interval | None:
    if isinstance(value, str):
        return read_interval(value)
    months, microseconds = getattr(value, "months", None), getattr(value, "microseconds", None)
    return None if months is None or microseconds is None else Interval(months, microseconds)


_READ = {"date": _at_date, "duration": _after_duration, "cycle": _in_cycles}
_WANTED = {
    "date": "a date such as 2030-01-01T06:00:00Z",
    "duration": "a duration such as PT1H",
    "cycle": "a cycle such as R3/PT10M",
}
