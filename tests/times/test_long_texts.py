"""Durations as people write them, and texts that look like one for very long."""

import time

import pytest

from conjoin.times.durations import read_duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [("1500", 1_500), (" 30s ", 30_000), ("5 m", 300_000), ("\t1\n h ", 3_600_000), ("7d", 604_800_000), ("0", 0)],
)
def test_blanks_around_and_between_count_for_nothing(text: str, ms: int) -> None:
    assert read_duration_ms(text) == ms
    assert read_duration_ms(text, signed=True) == ms


@pytest.mark.parametrize("text", ["", " ", "s", "1x", "1 s s", "-1s", "1.5x", "9" * 20, "9223372036854775807d"])
def test_other_texts_are_none(text: str) -> None:
    assert read_duration_ms(text) is None


@pytest.mark.parametrize("text", ["1" + " " * 1_000_000 + "x", " " * 1_000_000 + "1" + " " * 1_000_000 + "s x"])
def test_blanks_take_no_time(text: str) -> None:
    started = time.thread_time()
    assert read_duration_ms(text) is None
    assert read_duration_ms(text, signed=True) is None
    assert time.thread_time() - started < 5
