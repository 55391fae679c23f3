"""`$like` agrees with a plain reading of patterns, and its cost does not grow with them."""

import random
import re
import time

import pytest

from conjoin.gateway.search.engine.like import is_like
from tests.conftest import the_seed

MILLION = 1_000_000


def _plain(value: str, pattern: str) -> bool:
    parts = re.findall(r"\\.|\\|\*|\?|[^\\*?]", pattern, re.DOTALL)
    meaning = {"*": ".*", "?": "."}
    text = "".join(meaning.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(text, value, re.DOTALL) is not None


def test_any_pattern_means_what_a_plain_reading_of_it_means() -> None:
    chance = random.Random(the_seed())
    for _ in range(5_000):
        value = "".join(chance.choices("aab\n*é", k=chance.randrange(9)))
        pattern = "".join(chance.choices(["a", "b", "é", "?", "*", "\\*", "\\"], k=chance.randrange(7)))
        assert is_like(value, pattern) == _plain(value, pattern), (value, pattern)


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("a" * 4 * MILLION, "*" + "a?" * 490 + "b*", False),
        ("a" * 4 * MILLION, "*" + "a?" * 490 + "*", True),
        ("a" * 4 * MILLION + "b", "*" + "?" * 900 + "ab*", True),
        ("a" * 2 * MILLION, ("*" + "a" * 30 + "?" + "a" * 30) * 15 + "b*", False),
        (("a" * 499 + "c") * 4_000, "*" + "a" * 499 + "?" + "a" * 498 + "b*", False),
        ("".join(map(chr, range(0x400, 0x600))) * 4_000, "*" + "".join(map(chr, range(0x400, 0x5FE))) + "?x*", False),
    ],
    ids=["no-end", "found", "at-the-end", "many-parts", "almost", "many-letters"],
)
def test_no_pattern_takes_long_over_a_large_text(value: str, pattern: str, expected: bool) -> None:
    started = time.thread_time()
    assert is_like(value, pattern) is expected
    assert time.thread_time() - started < 5


def test_a_match_that_lies_across_two_blocks_is_found() -> None:
    value = "x" * 65_530 + "abcdefghijkl" + "x" * 10
    assert is_like(value, "*ab?def?hij?l*")
    assert not is_like(value, "*ab?def?hij?m*")
