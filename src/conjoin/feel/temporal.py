"""Dates, times and durations as values: integers inside, ISO 8601 outside.

Microseconds throughout. A time or date-time may carry an offset, or the name of a zone. What a zone's offset is on
some day is knowledge of the world that this package does not have: a named zone is kept and written as text, and
whatever would need its offset (comparing, subtracting, an instant) has no answer.
"""

from dataclasses import dataclass

from conjoin.times import calendar
from conjoin.times.calendar import DAY_US

SECOND_US = 1_000_000
LONGEST_MONTHS = calendar.LAST_YEAR * 12
LONGEST_US = calendar.LAST_YEAR * 366 * DAY_US


@dataclass(frozen=True, slots=True)
class Date:
    days: int

    def __str__(self) -> str:
        return calendar.date_text(self.days)


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day: microseconds since midnight; local when it has neither offset (in seconds) nor zone."""

    local: int
    offset: int | None = None
    zone: str | None = None

    def __str__(self) -> str:
        return calendar.clock_text(self.local) + _zone_text(self.offset, self.zone)


@dataclass(frozen=True, slots=True)
class DateTime:
    """A date with a time: microseconds since 1970 on the local clock."""

    local: int
    offset: int | None = None
    zone: str | None = None

    @property
    def instant(self) -> int | None:
        """Microseconds since 1970 in UTC; a local date-time is read as UTC; a named zone has no answer."""
        if self.zone is not None:
            return None
        return self.local - (self.offset or 0) * SECOND_US

    @property
    def date(self) -> Date:
        return Date(self.local // DAY_US)

    @property
    def time(self) -> Time:
        return Time(self.local % DAY_US, self.offset, self.zone)

    def __str__(self) -> str:
        return f"{self.date}T{self.time}"


@dataclass(frozen=True, slots=True)
class Duration:
    """Calendar months, then microseconds. FEEL knows only the two kinds below; a timer may have both parts."""

    months: int
    microseconds: int

    def after(self, instant: int) -> int:
        return calendar.after(instant, self.months, self.microseconds)

    def __str__(self) -> str:
        sign = "-" if self.months < 0 or self.microseconds < 0 else ""
        years, months = divmod(abs(self.months), 12)
        days, rest = divmod(abs(self.microseconds), DAY_US)
        minutes, rest = divmod(rest, 60 * SECOND_US)
        seconds = f"{rest // SECOND_US}.{rest % SECOND_US:06}".rstrip("0").rstrip(".") if rest else ""
        date = _units((years, "Y"), (months, "M"), (days, "D"))
        time = _units((minutes // 60, "H"), (minutes % 60, "M"), (seconds, "S"))
        return f"{sign}P{date}" + (f"T{time}" if time else "")


@dataclass(frozen=True, slots=True)
class YearsMonths(Duration):
    def __init__(self, months: int) -> None:
        Duration.__init__(self, months, 0)

    def __str__(self) -> str:
        return Duration.__str__(self) if self.months else "P0Y"


@dataclass(frozen=True, slots=True)
class DaysTime(Duration):
    def __init__(self, microseconds: int) -> None:
        Duration.__init__(self, 0, microseconds)

    def __str__(self) -> str:
        return Duration.__str__(self) if self.microseconds else "P0D"


Temporal = Date | Time | DateTime | Duration


def days_of(value: Date | DateTime) -> int:
    return value.days if isinstance(value, Date) else value.local // DAY_US


def _zone_text(offset: int | None, zone: str | None) -> str:
    if zone is not None:
        return f"@{zone}"
    if offset is None:
        return ""
    if offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def _units(*counts: tuple[int | str, str]) -> str:
    return "".join(f"{count}{unit}" for count, unit in counts if count)
