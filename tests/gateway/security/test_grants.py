"""Patterns of roles: what an asterisk stands for, and that no name takes long, whatever the pattern."""

import time

import pytest

from conjoin.gateway.security.grants import Patterns


@pytest.mark.parametrize(
    ("pattern", "met", "not_met"),
    [
        ("order-*", ["order-", "order-1", "order-a\nb"], ["order", "an order-1", ""]),
        ("*-eu", ["-eu", "a-eu", "-eu-eu"], ["-eu ", "eu"]),
        ("a*b*c", ["abc", "aXbYc", "abbcc", "abcbc"], ["ac", "acb", "abcd"]),
        ("*a*a*", ["aa", "banana"], ["a", ""]),
        ("a**b", ["ab", "aXb"], ["a"]),
        ("a.c", ["a.c"], ["abc"]),
        ("", [""], ["a"]),
    ],
)
def test_an_asterisk_is_any_characters(pattern: str, met: list[str], not_met: list[str]) -> None:
    patterns = Patterns((pattern, "another"))
    assert [name for name in met if not patterns.meets(name)] == []
    assert [name for name in not_met if patterns.meets(name)] == []


@pytest.mark.parametrize("pattern", ["*-order-*-eu", "a*b*c*d", "*x*x*x*x*y"])
def test_no_name_takes_long(pattern: str) -> None:
    started = time.thread_time()
    for part in ("-order-", "ab", "abc", "x"):
        assert not Patterns((pattern,)).meets(part * 500_000)
    assert time.thread_time() - started < 10
