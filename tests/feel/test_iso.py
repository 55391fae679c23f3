"""ISO texts and the calendar, against Python's own where it has one."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from conjoin.feel import DateTime, Duration, parse_date_time, parse_duration
from conjoin.times import calendar
from tests.conftest import the_seed

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
DAY = 86_400 * SECOND


@seed(the_seed())
@given(st.dates())
def test_days_are_counted_as_the_calendar_counts_them(day: date) -> None:
    days = calendar.days_from_civil(day.year, day.month, day.day)
    assert days == day.toordinal() - date(1970, 1, 1).toordinal()
    assert calendar.civil_from_days(days) == (day.year, day.month, day.day)
    assert calendar.weekday(days) == day.isoweekday()
    assert calendar.week_of_year(days) == day.isocalendar().week
    assert calendar.day_of_year(days) == day.timetuple().tm_yday


@seed(the_seed())
@given(st.integers(-70_000_000, 70_000_000))
def test_a_day_far_away_is_read_back_as_it_was_written(days: int) -> None:
    assert calendar.days_from_civil(*calendar.civil_from_days(days)) == days


@seed(the_seed())
@given(st.datetimes(), st.timedeltas(timedelta(hours=-18), timedelta(hours=18)))
def test_an_instant_is_the_one_python_finds(moment: datetime, offset: timedelta) -> None:
    zone = timezone(timedelta(minutes=offset // timedelta(minutes=1)))
    expected = (moment.replace(tzinfo=zone) - EPOCH) // timedelta(microseconds=1)
    found = parse_date_time(moment.replace(tzinfo=zone).isoformat())
    assert found is not None
    assert found.instant == expected
    assert parse_date_time(str(found)) == found


def instant(text: str) -> int:
    found = parse_date_time(text)
    assert found is not None
    assert found.instant is not None
    return found.instant


@pytest.mark.parametrize(
    ("duration", "start", "end"),
    [
        ("PT0S", "2026-03-30T09:00:00Z", "2026-03-30T09:00:00Z"),
        ("PT1.5S", "2026-03-30T09:00:00Z", "2026-03-30T09:00:01.5Z"),
        ("P1W", "2026-03-30T09:00:00Z", "2026-04-06T09:00:00Z"),
        ("P1M", "2026-01-31T09:00:00Z", "2026-02-28T09:00:00Z"),
        ("P1Y", "2024-02-29T09:00:00Z", "2025-02-28T09:00:00Z"),
        ("P1Y2M3DT4H5M6.7S", "2026-03-30T09:00:00Z", "2027-06-02T13:05:06.7Z"),
        ("-P1M", "2026-03-31T09:00:00Z", "2026-02-28T09:00:00Z"),
        ("P1M", "1969-12-31T23:59:59Z", "1970-01-31T23:59:59Z"),
    ],
)
def test_a_duration_is_added_by_the_calendar(duration: str, start: str, end: str) -> None:
    found = parse_duration(duration)
    assert found is not None
    assert found.after(instant(start)) == instant(end)


@pytest.mark.parametrize("text", ["", "P", "PT", "P1", "1D", "P1H", "PT1D", "P1.5D", "P1DT", "R3/PT1H", "P 1D", "p1d"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "2026-03-30", "2026-13-01T00:00:00Z", "2026-03-30T24:00:00Z", "2026-03-30 09:00:00Z", "2026-03-30T09:00:00+2",
     "26-03-30T09:00:00Z", "2026-03-30T09:00:00Zulu", "٢٠٢٦-03-30T09:00:00Z", "999999999-01-01T00:00:00Z"],
)  # fmt: skip
def test_what_is_no_date_time_is_none(text: str) -> None:
    assert parse_date_time(text) is None


def test_a_duration_longer_than_the_calendar_is_none() -> None:
    assert parse_duration("P200001Y") is None
    assert parse_duration("P999999999999999999D") is None


def test_a_duration_of_both_kinds_is_read_for_timers() -> None:
    found = parse_duration("P1M1D")
    assert type(found) is Duration
    assert (found.months, found.microseconds) == (1, DAY)
    assert str(found) == "P1M1D"


def test_a_local_date_time_is_read_as_utc_and_a_named_zone_has_no_instant() -> None:
    assert parse_date_time("1970-01-02T00:00:00") == DateTime(DAY)
    assert instant("1970-01-02T00:00:00") == DAY
    zoned = parse_date_time("1970-01-02T00:00:00@Europe/Berlin")
    assert zoned is not None
    assert zoned.instant is None
