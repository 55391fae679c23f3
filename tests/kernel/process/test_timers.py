"""Timers: when they are due, when again, and what is no time at all."""

import pytest

from conjoin.kernel.plan import Literal, TimerDefinition
from conjoin.kernel.process.state import Timer
from conjoin.kernel.process.step import Failure
from conjoin.kernel.process.timers import Schedule, next_time, schedule
from conjoin.times.iso8601 import read_instant

MINUTE = 60_000_000
NOW = read_instant("2030-01-01T00:00:00Z") or 0


def due(kind: str, text: object) -> Schedule:
    return schedule(TimerDefinition(kind, Literal(text, f"={text}")), {}, NOW)


class Span:
    """Stands for a duration that an expression gave."""

    months, microseconds = 0, 5 * MINUTE


class Moment:
    """Stands for a date-time that an expression gave; None in a zone nobody knows."""

    def __init__(self, instant: int | None) -> None:
        self.instant = instant


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("duration", "PT10M", Schedule(NOW + 10 * MINUTE, 0, (0, 0))),
        ("duration", Span(), Schedule(NOW + 5 * MINUTE, 0, (0, 0))),
        ("date", "2029-12-31T23:59:00Z", Schedule(NOW - MINUTE, 0, (0, 0))),
        ("date", Moment(7), Schedule(7, 0, (0, 0))),
        ("cycle", "R3/PT10M", Schedule(NOW + 10 * MINUTE, 2, (0, 10 * MINUTE))),
        ("cycle", "R/PT10M", Schedule(NOW + 10 * MINUTE, -1, (0, 10 * MINUTE))),
        ("cycle", "R2/2030-01-01T01:00:00Z/PT10M", Schedule(NOW + 60 * MINUTE, 1, (0, 10 * MINUTE))),
        ("cycle", Span(), Schedule(NOW + 5 * MINUTE, -1, (0, 5 * MINUTE))),
    ],
)
def test_when_a_timer_is_due(kind: str, value: object, expected: Schedule) -> None:
    assert due(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("duration", "soon"),
        ("duration", None),
        ("duration", 5),
        ("date", "PT1H"),
        ("date", Moment(None)),
        ("cycle", "R/PT0S"),
        ("cycle", "R/-PT1S"),
        ("cycle", "0 0 12 * * *"),
        ("cycle", True),
    ],
)
def test_what_is_no_time_is_a_failure_that_says_so(kind: str, value: object) -> None:
    with pytest.raises(Failure) as found:
        due(kind, value)
    assert found.value.error_type == "EXTRACT_VALUE_ERROR"
    assert "such as" in found.value.text


@pytest.mark.parametrize(
    ("looked_at", "again"),
    [(10, 20), (12, 20), (20, 20), (25, 25), (99, 99)],
)
def test_a_late_timer_catches_up_once(looked_at: int, again: int) -> None:
    """Due at 10, every 10 minutes."""
    timer = Timer(1, 2, "tick", NOW + 10 * MINUTE, -1, (0, 10 * MINUTE))
    found = next_time(timer, NOW + looked_at * MINUTE)
    assert found is not None
    assert found.due_at == NOW + again * MINUTE


def test_repetitions_come_to_an_end() -> None:
    timer = Timer(1, 2, "tick", NOW, 1, (0, MINUTE))
    found = next_time(timer, NOW)
    assert found is not None
    assert found.repetitions == 0
    assert next_time(timer._replace(repetitions=0), NOW) is None
