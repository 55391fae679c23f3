"""Durations as people write them in configurations and headers, as milliseconds.

Both ways are read everywhere: ours (`30s`, `5m`, or a number of milliseconds) and ISO 8601 (`PT30S`). Months and
years are none: how long they are depends on where they begin.
"""

from conjoin.kernel.instants import NEVER, read_duration_ms
from conjoin.kernel.iso8601 import read_interval

LONGEST_MS = NEVER // 1_000
_LONGEST_TEXT = 64
"""No duration is written with more characters, and turning endless digits into a number would raise."""


def read_span_ms(value: object) -> int | None:
    """The milliseconds, never negative; None when it is no duration."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return None
    milliseconds = read_duration_ms(value)
    if milliseconds is None and isinstance(value, str):
        interval = read_interval(value)
        if interval is not None and not interval.months:
            milliseconds = interval.microseconds // 1_000
    return milliseconds if milliseconds is not None and 0 <= milliseconds <= LONGEST_MS else None
