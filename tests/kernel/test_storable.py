"""What a value may be, and what reads it: at its limits, and one beyond."""

from decimal import Decimal
from typing import Any

import pytest

from conjoin.kernel.instants import ALWAYS, NEVER, after, later
from conjoin.kernel.storable import (
    LARGEST_INT32,
    LONGEST_KEY,
    MOST_BYTES,
    MOST_DEPTH,
    MOST_DIGITS,
    MOST_EXPONENT,
    read_fraction,
    unstorable,
    unstorable_text,
    whole_number,
)
from conjoin.times.durations import read_duration_ms
from conjoin.times.iso8601 import read_cycle, read_interval


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -(2**64), 1.5, "", "\0", "😀", [], {}, (1, 2), {"": {"": [None]}}),
        *(10**MOST_DIGITS - 1, Decimal("1E+6144"), Decimal("9.999E-6150"), Decimal("0." + "3" * 4_000)),
        *(nested(MOST_DEPTH), "x" * MOST_BYTES),
    ],
    ids=lambda it: type(it).__name__,
)
def test_what_a_store_holds_is_storable(value: Any) -> None:
    assert unstorable(value) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (10**MOST_DIGITS, "digits"),
        (-(10**MOST_DIGITS), "digits"),
        (Decimal("1E+1000000"), "exponent"),
        (Decimal("1E-1000000"), "exponent"),
        (Decimal(f"1E+{MOST_EXPONENT}"), "exponent"),
        (Decimal("0." + "3" * 5_000), "digits"),
        (Decimal("NaN"), "finite"),
        (Decimal("-Infinity"), "finite"),
        (float("inf"), "finite"),
        ("\ud800", "surrogate"),
        ({"\udfff": 1}, "surrogate"),
        (["x", "é\ud800"], "surrogate"),
        (nested(MOST_DEPTH + 1), "nested"),
        ("x" * (MOST_BYTES + 1), "larger"),
        ({"a": ["x" * 1_000_000] * 20}, "larger"),
        ({1: 2}, "name"),
        ({"at": object()}, "object"),
        ([b"bytes"], "bytes"),
    ],
    ids=lambda it: it if isinstance(it, str) and len(it) < 10 and it.isalpha() else type(it).__name__,
)
def test_what_no_store_holds_is_refused_with_a_reason(value: Any, reason: str) -> None:
    assert reason in (unstorable([value]) or "")


def test_a_list_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    assert "nested" in (unstorable(value) or "")


def test_a_value_that_is_shared_a_billion_times_is_not_walked_to_its_end() -> None:
    value: Any = "abc"
    for _ in range(60):
        value = [value, value]
    assert "larger" in (unstorable(value) or "")


@pytest.mark.parametrize("text", ["1e5", "-0.0", "0e99", "1e6144", "1E-6176", "3." + "1" * 4_000])
def test_a_fraction_keeps_its_digits(text: str) -> None:
    assert read_fraction(text) == Decimal(text)


@pytest.mark.parametrize(
    "text",
    [
        *("1e1000000", "1E-1000000", "1e6201", "1e99999999999999999999999", "-1e-99999999999999999999999"),
        *("0e99999999999999999999", "0." + "3" * 5_000, "1" * 4_200 + "." + "1" * 200),
    ],
)
def test_a_fraction_beyond_the_limits_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        read_fraction(text)


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        *((7, 7), ("7", 7), (" -7 ", -7), ("+7", 7), (Decimal("7.9"), 7), (Decimal("1E+3"), 1_000), (7.9, 7)),
        *((True, None), ("--5", None), ("-", None), ("", None), ("²", None), ("1e5", None), ("9" * 5_000, None)),
        *((11111111111111111111, None), (Decimal("1E+1000000"), None), (Decimal("NaN"), None), (float("inf"), None)),
        *(([7], None), (None, None), (LARGEST_INT32 + 1, None)),
    ],
)
def test_a_whole_number_in_range(value: Any, whole: int | None) -> None:
    assert whole_number(value, LARGEST_INT32) == whole


def test_texts_with_a_column_of_their_own() -> None:
    assert unstorable_text("é" * LONGEST_KEY) is None
    for text in ("x" * (LONGEST_KEY + 1), "\0", "a\0é", "\ud800"):
        assert unstorable_text(text)


@pytest.mark.parametrize(
    "text", ["PT999999999999999999H", "P999999999Y", "P99999999999999999999D", f"PT{'9' * 5_000}S", "-P999999999Y"]
)
def test_a_duration_that_64_bits_do_not_hold_is_none(text: str) -> None:
    assert read_interval(text) is None
    assert read_cycle(f"R3/{text}") is None


def test_numbers_of_durations_are_bounded() -> None:
    assert read_duration_ms("1500") == 1_500
    for text in ("9" * 5_000, "99999999999999999999d", "9223372036854775808ms", 2**63, "9" * 5_000 + "s"):
        assert read_duration_ms(text) is None
    assert read_cycle("R99999999999999999999/PT1S") is None
    assert read_cycle(f"R{'9' * 5_000}/PT1S") is None


def test_no_instant_lies_beyond_the_ends_of_time() -> None:
    assert after(NEVER - 1, 2**63) == NEVER
    assert after(0, -(2**63)) == ALWAYS
    assert later(NEVER - 1, (12_000_000, 2**63)) == NEVER
    assert later(0, (-12_000_000, -(2**63))) == ALWAYS
