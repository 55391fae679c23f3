"""No expression ever fails: random expressions over random variables, and the ones meant to do harm."""

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from conjoin.feel import FeelSyntaxError, compile_expression, to_json_value
from conjoin.feel.functions import FUNCTIONS
from tests.conftest import the_seed
from tests.feel.cases import NOW, value_of

NAMES = ["a", "b", "c", "item", "partial", "x"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.sampled_from([Decimal("1E+999999"), Decimal("1E-999999"), 10**4000, Decimal("NaN"), Decimal("Infinity")]),
    st.text(max_size=5),
    st.sampled_from(["2026-03-30", "2026-03-30T09:00:00Z", "09:00:00+02:00", "P1D", "-P1Y", "(a", "a+", "1.5", "x"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
VARIABLES = st.dictionaries(st.sampled_from(NAMES), JSON)

LITERALS = st.sampled_from(
    ["null", "true", "false", "0", "1", "-1", "2.5", "99999999999999999999999999999999999", '""', '"a"', '"P1D"', "[]",
     "{}", '@"2026-02-28"', '@"2026-02-28T23:59:59Z"', '@"2026-02-28T10:00:00"', '@"2026-01-01T00:00:00@Europe/Berlin"',
     '@"10:00:00"', '@"10:00:00-03:00"', '@"P1Y2M"', '@"-P1DT2H"', '@"P199999Y"', "now()", "today()", "[1..3]",
     '("a".."c"]', "function(a) a", "function(a, b) a < b"]
)  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "**", "=", "!=", "<", "<=", ">", ">=", "and", "or", "in"]
TYPES = ["number", "string", "list", "date and time", "Any", "function"]
PROPERTIES = ["a", "b", "year", "time offset", "days", "months", "start", "weekday", "timezone"]


def composed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One level more: every construct of the language around what there is."""
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda p: f"({p[0]}) {p[1]} ({p[2]})"),
        inner.map(lambda e: f"-({e})"),
        inner.map(lambda e: f"not({e})"),
        three.map(lambda p: f"if {p[0]} then {p[1]} else {p[2]}"),
        three.map(lambda p: f"({p[0]}) between ({p[1]}) and ({p[2]})"),
        two.map(lambda p: f"[{p[0]}, {p[1]}]"),
        two.map(lambda p: f"{{a: {p[0]}, b: {p[1]}}}"),
        two.map(lambda p: f"({p[0]})[{p[1]}]"),
        two.map(lambda p: f"for x in ({p[0]}) return {p[1]}"),
        two.map(lambda p: f"for x in ({p[0]})..({p[1]}) return x"),
        two.map(lambda p: f"some x in ({p[0]}) satisfies {p[1]}"),
        two.map(lambda p: f"({p[0]}) in [({p[1]})..({p[0]})]"),
        two.map(lambda p: f"({p[0]}) in (< ({p[1]}), not({p[1]}), ? = ({p[0]}))"),
        two.map(lambda p: f"{{f: function(a) {p[0]}, r: f({p[1]})}}.r"),
        st.tuples(inner, st.sampled_from(PROPERTIES)).map(lambda p: f"({p[0]}).{p[1]}"),
        st.tuples(inner, st.sampled_from(TYPES)).map(lambda p: f"({p[0]}) instance of {p[1]}"),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, min_size=1, max_size=4)).map(
            lambda p: f"{p[0]}({', '.join(p[1])})"
        ),
    )


EXPRESSIONS = st.recursive(LITERALS | st.sampled_from(NAMES), composed, max_leaves=8)


@seed(the_seed())
@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, VARIABLES)
def test_no_expression_fails_for_any_variables(text: str, variables: dict[str, Any]) -> None:
    try:
        expression = compile_expression(text)
    except FeelSyntaxError:
        return  # A function called with a number of arguments that it does not take.
    value = expression(variables, NOW)
    to_json_value(value)
    assert repr(expression(variables, NOW)) == repr(value) or "function" in text


@seed(the_seed())
@given(st.text(st.sampled_from('abx019.,:()[]{}<>=!+-*/@"`? \n\\truefalsniodfx'), max_size=40))
def test_any_text_is_compiled_or_refused_with_a_column_in_it(text: str) -> None:
    column = _column_refused(text)
    assert column is None or 1 <= column <= len(text) + 1


def _column_refused(text: str) -> int | None:
    try:
        compile_expression(text)({}, NOW)
    except FeelSyntaxError as refusal:
        return refusal.column
    return None


HARMFUL = [
    "for x in 1..1000000000000 return x",
    "for x in 1..2000, y in 1..2000 return 1",
    "some x in 1..1000000000000 satisfies x < 0",
    "(for x in 1..40 return if x = 1 then [1] else concatenate(partial[-1], partial[-1]))[-1]",
    '(for x in 1..60 return if x = 1 then "a" else partial[-1] + partial[-1])[-1]',
    "flatten((for x in 1..60 return [partial[-1], partial[-1]])[-1])",
    "string((for x in 1..60 return [partial[-1], partial[-1]])[-1])",
    "distinct values((for x in 1..60 return [partial[-1], partial[-1]]))",
    "{a: (for x in 1..60 return [partial[-1], partial[-1]])[-1], "
    "b: (for x in 1..60 return [partial[-1], partial[-1]])[-1], c: a = b}.c",
    "{a: (for x in 1..9999 return [partial[-1]])[-1], b: (for x in 1..9999 return [partial[-1]])[-1], c: a = b}.c.d",
    "(for x in 1..3000 return [partial[-1]]).a",
    "(for x in 1..300 return if x = 1 then 9 else partial[-1] * partial[-1])[-1]",
    "9 ** 9 ** 9 ** 9 ** 9 ** 9",
    "{w: function(f) f(f), r: w(w)}.r",
    "{w: function(f, n) [f(f, n), f(f, n)], r: w(w, 1)}.r",
    "decimal(1, 999999999999)",
    "sort(for x in 1..1000 return x, function(a, b) count(for y in 1..1000 return y) = a)",
]


@pytest.mark.parametrize("text", HARMFUL)
def test_an_expression_meant_to_hang_or_to_fill_the_memory_is_null_soon(text: str) -> None:
    started = time.thread_time()
    assert value_of(text, {}) is None
    assert time.thread_time() - started < 20


def test_a_value_nested_deeper_than_the_stack_is_compared_and_stored_without_failing() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    other: Any = 1
    for _ in range(50_000):
        other = [other]
    assert value_of("a = b", {"a": deep, "b": other}) is True
    assert value_of("string(a)", {"a": deep}) is None
    assert value_of("flatten(a)", {"a": deep}) is None
    assert value_of("a.b", {"a": deep}) is None
    assert value_of("distinct values(a)", {"a": deep}) is None
    assert to_json_value(deep) is None
