"""ISO 8601 texts of timers."""

import datetime as clock

import pytest

from conjoin.kernel.instants import later
from conjoin.times.calendar import civil_from_days, days_from_civil
from conjoin.times.iso8601 import Cycle, Interval, instant_text, read_cycle, read_instant, read_interval

SECOND = 1_000_000
HOUR = 3_600 * SECOND


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("PT1H", Interval(0, HOUR)),
        ("P1Y2M3DT4H5M6.7S", Interval(14, (3 * 24 + 4) * HOUR + 306 * SECOND + 700_000)),
        ("P2W", Interval(0, 14 * 24 * HOUR)),
        ("-PT30S", Interval(0, -30 * SECOND)),
        ("PT0.000001S", Interval(0, 1)),
        ("+PT0,5S", Interval(0, SECOND // 2)),
        ("PT-5S", Interval(0, -5 * SECOND)),
        ("-P-1M", Interval(1, 0)),
        ("PT-0.5S", Interval(0, -SECOND // 2)),
        ("PT٣S", None),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("1h", None),
        ("PT1H ", Interval(0, HOUR)),
        ("", None),
    ],
)
def test_durations(text: str, interval: Interval | None) -> None:
    assert read_interval(text) == interval


@pytest.mark.parametrize(
    "text",
    ["2030-01-01T06:00:00Z", "2030-01-01T06:00:00+02:00", "1969-12-31T23:59:59.5Z", "2024-02-29T00:00:00-11:30"],
)
def test_instants_agree_with_the_standard_library(text: str) -> None:
    expected = clock.datetime.fromisoformat(text)
    found = read_instant(text)
    assert found is not None
    assert clock.datetime.fromtimestamp(0, clock.UTC) + clock.timedelta(microseconds=found) == expected


@pytest.mark.parametrize(
    "text",
    ["2030-02-30T00:00:00Z", "2030-13-01T00:00:00Z", "2030-01-01", "soon", "2030-01-01T25:00Z", "2030-01-01T24:59:60Z",
     "2030-01-01T24:00:01Z", "2030-01-01T12:30:60Z", "2030-01-01T12:00+24:00", "2030-01-01T12:00+01:75"],
)  # fmt: skip
def test_what_is_no_instant_is_none(text: str) -> None:
    assert read_instant(text) is None


def test_the_end_of_a_day_and_leap_seconds_are_the_next_one() -> None:
    assert read_instant("2030-01-01T24:00Z") == read_instant("2030-01-02T00:00Z")
    assert read_instant("2016-12-31T23:59:60Z") == read_instant("2017-01-01T00:00:00Z")


@pytest.mark.parametrize("instant", [-(10**18), 10**18, 253_402_300_800_000_000, -62_198_755_200_000_000])
def test_an_instant_is_read_back_however_far_it_is(instant: int) -> None:
    assert read_instant(instant_text(instant)) == instant


def test_an_instant_without_a_place_is_read_as_utc() -> None:
    assert read_instant("2030-01-01T06:00") == read_instant("2030-01-01T06:00:00Z")
    assert read_instant("2030-01-01T06:00:00+01:00[Europe/Berlin]") == read_instant("2030-01-01T05:00:00Z")


@pytest.mark.parametrize(
    ("text", "cycle"),
    [
        ("R3/PT10M", Cycle(3, None, Interval(0, 600 * SECOND))),
        ("R/P1M", Cycle(-1, None, Interval(1, 0))),
        ("R2/1970-01-01T01:00:00Z/PT1S", Cycle(2, HOUR, Interval(0, SECOND))),
        ("R/later/PT1S", None),
        ("R3", None),
        ("PT10M", None),
        ("0 0 * * * *", None),
    ],
)
def test_cycles(text: str, cycle: Cycle | None) -> None:
    assert read_cycle(text) == cycle


@pytest.mark.parametrize(
    ("begin", "interval", "end"),
    [
        ("2030-01-31T12:00:00Z", "P1M", "2030-02-28T12:00:00Z"),
        ("2032-01-31T12:00:00Z", "P1M", "2032-02-29T12:00:00Z"),
        ("2032-02-29T00:00:00Z", "P1Y", "2033-02-28T00:00:00Z"),
        ("2030-12-15T00:00:00Z", "P1M", "2031-01-15T00:00:00Z"),
        ("2030-03-31T00:00:00Z", "-P1M", "2030-02-28T00:00:00Z"),
        ("2030-01-01T00:00:00Z", "P1DT1H", "2030-01-02T01:00:00Z"),
    ],
)
def test_months_clamp_to_the_last_day(begin: str, interval: str, end: str) -> None:
    at, step = read_instant(begin), read_interval(interval)
    assert at is not None
    assert step is not None
    assert instant_text(later(at, step)) == end


def test_days_and_dates_agree_with_the_standard_library() -> None:
    first = clock.date(1970, 1, 1).toordinal()
    for days in range(-800_000, 2_900_000, 997):
        if days + first < 1:
            continue
        date = clock.date.fromordinal(days + first)
        assert civil_from_days(days) == (date.year, date.month, date.day)
        assert days_from_civil(date.year, date.month, date.day) == days


def test_a_fraction_of_a_second_is_told_as_far_as_it_goes() -> None:
    assert instant_text(1_500_000) == "1970-01-01T00:00:01.5Z"
    assert instant_text(-1) == "1969-12-31T23:59:59.999999Z"
