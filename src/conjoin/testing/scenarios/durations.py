"""Durations as scenarios and tests write them: milliseconds, or `30s`, `5m`, `1h`; also below zero."""

from conjoin.times.durations import read_duration_ms


def read_ms(value: object) -> int | None:
    return read_duration_ms(value, signed=True)
