"""Our expressions and those of `feelin`, an interpreter by others: what we parse it parses, what is no number is equal.

Where they differ we follow Camunda's engine, and the reason stands here. Needs node, and once `npm install` in this
folder; without them the tests are skipped.
"""

import json
import shutil
import subprocess
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conjoin.feel import to_json_value
from tests.feel import test_comparison, test_functions, test_list_functions, test_lists_and_contexts, test_literals
from tests.feel.cases import Case

HERE = Path(__file__).parent
FAR = 10**15
"""Beyond this a double, which is what they compute with, is not exact."""

OURS = {
    "backticks and $ in names are Camunda's": [
        *("$x", "`first name`", "`a-b` + 1", "`if`", "a.`total price`"),
        *("{foo bar: 1}.`foo bar`", "{foo+bar: 1}.`foo+bar`", "{if: 1}.`if`"),
    ],
    "functions and calls that Camunda adds": [
        *('get or else(null, "d")', 'get or else(x.y, "d")', 'get or else(0, "d")'),
        *('get or else(assert(x, x != null, "x is needed"), 1)', "get or else(exp(100000), 0)"),
        *("and([true,false])", "and(false,null,true)", "or([false,true])", 'max("a", "b")'),
        *('get value({x: {y: {z: 0}}}, ["x", "y"])', 'context put({x: 1}, ["y", "z"], 2)'),
        'min([@"2017-01-01", @"2016-01-01"])',
    ],
    "strings: a line break, an escaped quote, half a character": ['"line\nbreak"', r'"a\"b\\c\n\t\r\'"', r'"\uD83D"'],
    "types that differ are not comparable, but differ inside a list": [
        *("[1] = [1, 2]", "[1] = [true]", '1 < "2"', "true < false", "[1] < [2]", 'before(1, "a")', '5 in ("a", 6)'),
    ],
    "ranges and functions are not comparable": ["[1..3] = [1..3]", "(function(a) a) = (function(a) a)"],
    "a condition that is no boolean does not hold": ['if "yes" then 1 else 2'],
    "`?` in the tests of `in`, and `in` before `and`": [
        *("5 in (? > 3 and ? < 10)", '"abc" in (starts with(?, "a"))', "x in xs and y"),
    ],
    "names of types are Camunda's": [
        *("(function(a) a) instance of function", '@"2026-01-01T00:00:00" instance of date time'),
        *('@"P1D" instance of day-time-duration', '@"P1M" instance of year-month-duration'),
        "2 * 3 instance of number",
    ],
    "a filter may be any condition, and null is an item like any other": [
        *("[1,2,null][item = null]", "[1,2,3,4][even(item)]", '[1,2]["no filter"]', "orders[open].id"),
        "[{f: function(x) x > 1, v: 2}][f(v)].v",
    ],
    "a path maps lists in lists": ["[[{a: 1}], [{a: 2}]].a"],
    "some and every have three answers": [
        *("some x in [1,null] satisfies x > 3", "every x in [1,null] satisfies x >= 1"),
    ],
    "texts of numbers, contexts, ranges and functions": [
        *("string(1.10)", "string(1.0)", "string(n)", 'string({a: 1, b: "x"})', "string([1..5))"),
        "string(function(a) a)",
    ],
    "arguments out of range are null": [
        *('substring("foobar", 0)', "even(2.5)", 'number("1.5", ".", ".")', 'number("1;500", ";")', 'number("")'),
        *("concatenate([1], 2)", "insert before([1,3], -1, 2)", "insert before([1,3], 9, 2)"),
        "sort([2,1], function(x) x)",
    ],
    "they do not end": [
        "for x in 1..1.5 return x",
        "for x in [1,2] return partial",
        "{w: function(f) f(f), r: w(w)}.r",
    ],
}
REASONS = {text: reason for reason, texts in OURS.items() for text in texts}
MISSING = {"NO_FUNCTION_FOUND", "FUNCTION_INVOCATION_FAILURE"}

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (HERE / "node_modules").exists(), reason="npm install in tests/oracles/feel"
)


def tables(module: ModuleType) -> list[Case]:
    return [case for table in vars(module).values() if isinstance(table, list) for case in table]


def is_comparable(case: Case) -> bool:
    """Neither a number, nor about one that is no double, nor listed above."""
    text, variables, expected = case
    numbers = [value for value in variables.values() if isinstance(value, (int, Decimal))]
    if text in REASONS or (isinstance(expected, (int, Decimal)) and not isinstance(expected, bool)):
        return False
    return "999999" not in text and all(Decimal(number).is_finite() and abs(number) < FAR for number in numbers)


MODULES = (test_literals, test_comparison, test_lists_and_contexts, test_functions, test_list_functions)
CASES = [case for module in MODULES for case in tables(module) if is_comparable(case)]


def as_double(value: Any) -> float:
    return float(value)


@cache
def answers() -> list[dict[str, Any]]:
    asked = json.dumps([[text, variables] for text, variables, _ in CASES], default=as_double)
    run = subprocess.run(["node", HERE / "evaluate.js"], input=asked, capture_output=True, text=True, check=True)
    told: list[dict[str, Any]] = json.loads(run.stdout)
    return told


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda index: CASES[index][0])
def test_the_other_interpreter_agrees(index: int) -> None:
    answer, expected = answers()[index], CASES[index][2]
    if not MISSING.isdisjoint(answer.get("warnings", ())):
        pytest.skip("a function that feelin does not have")
    assert answer.get("value", answer) == json.loads(json.dumps(to_json_value(expected), default=as_double))


def test_every_listed_difference_is_a_case() -> None:
    texts = {text for module in MODULES for text, _, _ in tables(module)}
    assert set(REASONS) <= texts


def test_the_comparison_is_not_empty() -> None:
    same = [answer for answer in answers() if MISSING.isdisjoint(answer.get("warnings", ()))]
    assert len(same) > 250
