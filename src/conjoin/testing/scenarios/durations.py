"""Durations as scenarios and tests write them: milliseconds, or `30s`, `5m`, `1h`; also below zero."""

import re

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(-?\d{1,15})\s*(ms|s|m|h|d)?")


def read_ms(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else int(match[1]) * _UNITS_MS[match[2] or "ms"]
