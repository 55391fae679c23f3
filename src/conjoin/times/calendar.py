"""Civil dates by arithmetic: a day is a count of days since 1970-01-01 in the Gregorian calendar, for ever both ways.

No clock and no time zones. Years are limited so that every instant, in microseconds, fits 64 bits.
"""

LAST_YEAR = 200_000
"""No date lies farther from the year 0 than this, in either direction."""

DAY_US = 86_400_000_000
_DAYS_IN_ERA = 146_097
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_from_civil(year: int, month: int, day: int) -> int:
    """The day's number. The year is taken to begin in March, so that the leap day is its last."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _DAYS_IN_ERA + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a day's number."""
    era, day_of_era = divmod(days + 719_468, _DAYS_IN_ERA)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted_month + 2) // 5 + 1


def date_text(days: int) -> str:
    """`2030-01-31`"""
    year, month, day = civil_from_days(days)
    return f"{year:0{5 if year < 0 else 4}}-{month:02}-{day:02}"


def clock_text(time_us: int) -> str:
    """`06:00:00` of the microseconds since midnight, with as much of a second as there is."""
    seconds, fraction = divmod(time_us, 1_000_000)
    part = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{part}"


def after(instant: int, months: int, microseconds: int) -> int:
    """The instant so many months and microseconds later, in UTC."""
    if months:
        days, time = divmod(instant, DAY_US)
        instant = add_months(days, months) * DAY_US + time
    return instant + microseconds


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and is_leap(year) else _DAYS_IN_MONTH[month - 1]


def read_civil(year: int, month: int, day: int) -> int | None:
    """The day's number, or None when the calendar has no such day."""
    if abs(year) > LAST_YEAR or not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        return None
    return days_from_civil(year, month, day)


def add_months(days: int, months: int) -> int:
    """The same day of the month that many months later, or that month's last day when it is shorter."""
    year, month, day = civil_from_days(days)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return days_from_civil(year, month + 1, min(day, days_in_month(year, month + 1)))


def months_between(start: int, end: int) -> int:
    """Whole months from one day to another; negative when the other lies before."""
    if end < start:
        return -months_between(end, start)
    first, last = civil_from_days(start), civil_from_days(end)
    return (last[0] - first[0]) * 12 + last[1] - first[1] - (last[2] < first[2])


def weekday(days: int) -> int:
    """1 for Monday to 7 for Sunday."""
    return (days + 3) % 7 + 1


def day_of_year(days: int) -> int:
    year, _, _ = civil_from_days(days)
    return days - days_from_civil(year, 1, 1) + 1


def week_of_year(days: int) -> int:
    """The ISO 8601 week: it belongs to the year that has its Thursday."""
    return (day_of_year(days + 4 - weekday(days)) - 1) // 7 + 1
