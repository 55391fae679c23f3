"""Durations as people write them: all readers take the same, and nothing overflows."""

import pytest

from conjoin.times.durations import read_duration_ms, read_span_ms

MINUTE = 60_000


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        (1_500, 1_500),
        ("1500", 1_500),
        (" 300 ms ", 300),
        ("30s", 30_000),
        ("1.5s", 1_500),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        ("7d", 7 * 24 * 60 * MINUTE),
        ("PT1M30S", 90_000),
        ("P1W", 7 * 24 * 60 * MINUTE),
        ("0.0005s", 1),
        ("0.1234ms", 0),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_a_duration_is_read(written: object, ms: int) -> None:
    assert read_duration_ms(written) == ms


@pytest.mark.parametrize(
    "written",
    ["", "soon", "5 days", "1w", "1.5", "1h30", "s", "P1M", "P1Y", "-5s", "-5", "-PT5S", "9" * 65,
     "9223372036854775808", "9999999999999999d", "1 2s", True, 1.5, None, [], 2**63, "٣s"],
)  # fmt: skip
def test_what_is_no_duration_is_none(written: object) -> None:
    assert read_duration_ms(written) is None


def test_a_text_below_zero_is_read_where_it_is_asked_for() -> None:
    assert [read_duration_ms(text, signed=True) for text in ("-5", "-1h30m", "-PT5S")] == [-5, -90 * MINUTE, -5_000]


def test_a_span_is_not_negative_and_its_microseconds_fit() -> None:
    assert read_span_ms("1h30m") == 90 * MINUTE
    assert [read_span_ms(it) for it in (-1, 2**63 // 1_000 + 1, "P1M", None)] == [None] * 4
