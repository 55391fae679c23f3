"""One budget for everything that an evaluation does: no function, operator or loop gets around it."""

import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.feel.budget import MOST_BYTES, MOST_WORK, Budget
from conjoin.feel.compiling import running
from conjoin.feel.functions import FUNCTIONS
from conjoin.feel.functions.signatures import overload
from tests.feel.cases import NOW, value_of

AT_MOST_S = 20
"""Of processor time: ten times and more of what a budget takes, and nothing beside what was possible without one."""

LIST = list(range(100_000))
LARGE: dict[str, Any] = {
    "numbers": LIST,
    "text": "abc " * 100_000,
    "nested": [[number, [number]] for number in range(30_000)],
    "context": {f"k{number}": number for number in range(50_000)},
    "entries": [{"key": f"k{number}", "value": number} for number in range(50_000)],
    "texts": ["abc" * 30] * 20_000,
    "one": 1,
    "document": "[" + "{}," * 100_000 + "1]",
    "temporal": "2030-01-01T00:00:00Z",
    "digits": "7" * 100_000,
    "long": 10**4_299 + 7,
    "third": Decimal("0." + "3" * 4_000),
    "long_ones": [10**4_299 + number for number in range(300)] + [Decimal("0.5")] * 300,
    "like_hashes": [number * sys.hash_info.modulus for number in range(1, 50_000)],
    "like_fractions": [Decimal(number * sys.hash_info.modulus).scaleb(-1) for number in range(1, 30_000)],
}
SECOND = ["one", "text", "numbers", "nested", "context", "function(a, b) a < b", '"[a-c ]+x"', '["k1", "k2"]']


class Stopped(Exception):  # noqa: N818 - what the expression is told to raise
    pass


def test_every_function_that_looks_at_large_arguments_in_a_loop_is_stopped_or_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a small budget, so that all can be tried: what does not pay takes as long as without one."""
    monkeypatch.setattr(running, "MOST_WORK", 20_000)
    monkeypatch.setattr(running, "MOST_BYTES", 2_000_000)
    slow = [text for text in _calls() if _taken(f"count(for i in 1..1000 return {text})") > AT_MOST_S / 10]
    assert slow == []


def _calls() -> Iterator[str]:
    """Each function with each large argument, alone and with a second and third one, as far as it takes them."""
    for name, overloads in FUNCTIONS.items():
        first = next(iter(overloads))
        for large in LARGE:
            if first.takes_count(1):
                yield f"{name}({large})"
        for number, large in enumerate(("numbers", "text", "nested", "context")):
            if any(each.takes_count(2) for each in overloads):
                yield f"{name}({large}, {SECOND[number % len(SECOND)]})"
            if any(each.takes_count(3) for each in overloads):
                yield f"{name}({large}, {SECOND[(number + 1) % len(SECOND)]}, {SECOND[number % len(SECOND)]})"


def _taken(text: str) -> float:
    expression = compile_expression(text).stored()
    started = time.thread_time()
    expression(LARGE, NOW)
    return time.thread_time() - started


@pytest.mark.parametrize(
    "text",
    [
        "count(for x in numbers return index of(numbers, -1))",
        "count(for x in numbers return contains(text, string(x)))",
        "count(for x in numbers return upper case(text))",
        "count(for x in numbers return text = text + string(x))",
        "count(for x in numbers return nested = reverse(reverse(nested)))",
        "for x in numbers return concatenate(numbers, numbers)",
        "for x in numbers return insert before(numbers, 1, x)",
        "for x in numbers return append(numbers, x)",
        "for x in numbers return union(numbers, numbers)",
        "for x in numbers return string join(texts, text)",
        'for x in numbers return replace(text, "a", text)',
        'for x in numbers return split(text, " ")',
        "for x in numbers return from json(document)",
        "for x in numbers return to json(entries)",
        "for x in numbers return string(nested)",
        "for x in numbers return context put(context, string(x), x)",
        "for x in numbers return get entries(context)",
        "for x in numbers return text",
        "for x in numbers return {a: [x, x, x], b: {c: x}}",
        "for x in numbers return sort(numbers, function(a, b) a > b)",
        "for x in numbers return distinct values(nested)",
        "for x in numbers return flatten(nested)",
        "for x in numbers return (3 ** 512) * (7 ** 511)",
        "for x in numbers return exp(x) + log(x)",
        "for x in numbers return 1000000000000000000000000000000007 ** 512",
        "for x in numbers return third ** third",
        "for x in numbers return third * third",
        "for x in numbers return long * 0.5",
        "for x in numbers return long / 3",
        'for x in numbers return duration("P1D") * long',
        "for x in numbers return floor(long)",
        "for x in numbers return sqrt(long)",
        "for x in numbers return string(long)",
        "for x in numbers return to json([long])",
        "for x in numbers return 0.5 < long",
        "for x in numbers return 0.5 = long",
        "for x in numbers return median(long_ones)",
        "for x in numbers return list contains(long_ones, 0.7)",
        "for x in numbers return distinct values(long_ones)",
        "for x in numbers return x in numbers",
        "for x in numbers return nested.a",
        "for x in numbers return numbers[item = x]",
        "some x in numbers satisfies sum(numbers) < x",
        "+".join(["text"] * 500),
    ],
)
def test_what_once_took_minutes_or_gigabytes_is_stopped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tenth of the budget: what does not pay takes minutes all the same."""
    monkeypatch.setattr(running, "MOST_WORK", MOST_WORK // 10)
    monkeypatch.setattr(running, "MOST_BYTES", MOST_BYTES // 10)
    expression = compile_expression(text, Stopped).stored()
    started = time.thread_time()
    with pytest.raises(Stopped, match=r"was stopped: it (takes|builds) .*more than"):
        expression(LARGE, NOW)
    assert time.thread_time() - started < AT_MOST_S


def test_an_expression_within_its_budget_is_evaluated_as_ever() -> None:
    assert value_of("count(for x in numbers return x + 1)", LARGE) == 100_000
    assert value_of("index of(numbers, 5)", LARGE) == [6]
    assert value_of("count(numbers[item > 50])", LARGE) == 99_949
    assert value_of("string length(upper case(text))", LARGE) == 400_000


@pytest.mark.parametrize("items", ["like_hashes", "like_fractions"])
@pytest.mark.parametrize("function", ["distinct values", "union", "mode"])
def test_numbers_with_the_same_hash_take_no_longer_than_others(function: str, items: str) -> None:
    started = time.thread_time()
    assert value_of(f"count({function}({items}))", LARGE) == len(LARGE[items])
    assert time.thread_time() - started < AT_MOST_S / 4


def test_numbers_are_the_same_however_they_are_written() -> None:
    large = [10**40, Decimal("1E+40"), Decimal("10.0E+39"), 10**40 + 1, 2**61, Decimal(2**61)]
    small = [0, Decimal("0E+6000"), Decimal("0.50"), Decimal("0.5"), Decimal("-0.5"), Decimal("1E-6000")]
    numbers = {"numbers": [*large, *small, 1, Decimal("1.0"), -1]}
    distinct = [10**40, 10**40 + 1, 2**61, 0, Decimal("0.50"), Decimal("-0.5"), Decimal("1E-6000"), 1, -1]
    assert value_of("distinct values(numbers)", numbers) == distinct
    assert value_of("mode(numbers)", numbers) == [10**40]


def test_a_power_of_very_long_fractions_is_rounded_first() -> None:
    started = time.thread_time()
    assert str(value_of("third ** third", LARGE))[:12] == "0.6933612743"
    assert time.thread_time() - started < 1


def test_where_an_evaluation_stops_is_the_same_every_time() -> None:
    expression = compile_expression("for x in numbers return index of(numbers, x)", Stopped)
    texts = set()
    for _ in range(2):
        with pytest.raises(Stopped) as stopped:
            expression(LARGE, NOW)
        texts.add(str(stopped.value))
    assert texts == {
        "the expression =for x in numbers return index of(numbers, x) was stopped: "
        f"it takes more than {MOST_WORK:,} steps"
    }


def test_a_function_that_says_nothing_of_its_cost_pays_for_all_inside_its_arguments_and_result() -> None:
    budget = Budget()
    overload("list:list", lambda items: items).call(budget, [[["a" * 6_400], {"b": [1, 2]}]])
    assert MOST_WORK - budget.work_left > 100
    assert MOST_BYTES - budget.bytes_left > 6_400


@pytest.mark.parametrize("depth", [3, 20])
def test_a_pattern_that_repeats_nothing_very_often_is_refused_at_once(depth: int) -> None:
    pattern = "(?:" * depth + ")" + "{1000})" * (depth - 1) + "{1000}"
    with pytest.raises(FeelSyntaxError, match="repeats too much"):
        compile_expression(f'matches(a, "{pattern}")')
