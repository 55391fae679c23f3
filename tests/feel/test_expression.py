"""What an expression tells about itself, and how its value is stored."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from conjoin.feel import compile_expression, to_json_value
from conjoin.kernel.plan import Expression
from tests.feel.cases import NOW, d, t, value_of


class Nested(Mapping[str, Any]):
    """Variables of nested scopes, looked up one by one; who asks for all of them fails the test."""

    def __init__(self, **variables: Any) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> Any:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all variables were asked for")

    def __len__(self) -> int:
        raise AssertionError("all variables were counted")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("orderId", ("orderId",)),
        ("b.c + a + b", ("b", "a")),
        ("1 + 2", ()),
        ("for x in xs return x + y", ("xs", "y")),
        ("{a: 1, b: a + c}", ("c",)),
        ("{b: a, a: 1}", ("a",)),
        ("function(a) a + b", ("b",)),
        ("some x in [1] satisfies x = z", ("z",)),
        ("orders[status = wanted and item.id > 1]", ("orders",)),
        ("x in (? > y)", ("x", "y")),
        ("for i in 1..3 return partial", ()),
        ("count(xs)", ("xs",)),
        ("if a then `b c` else null", ("a", "b c")),
    ],
)
def test_names_are_the_variables_in_order_of_first_use(text: str, names: tuple[str, ...]) -> None:
    assert compile_expression(text).names == names


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ('"order" + "-placed"', True),
        ("for x in [1, 2] return x", True),
        ("[1, 2][item > 1]", True),
        ("[1, 2][v > 1]", False),
        ("v", False),
        ("now()", False),
        ("today().year", False),
        ('date("2026-01-01")', True),
    ],
)
def test_an_expression_is_constant_when_it_reads_neither_variables_nor_the_clock(text: str, constant: bool) -> None:
    assert compile_expression(text).is_constant is constant


def test_the_text_is_shown_with_its_equals_sign_as_it_was_written() -> None:
    expression: Expression = compile_expression(" a +1 ")
    assert expression.text == "= a +1 "
    assert repr(compile_expression("a")) == "Expression('=a')"


@pytest.mark.parametrize("text", ["a", "a.b", "{x: a, y: x}", "for x in [1] return a", "[{c: 1}][c = a]", "string(a)"])
def test_variables_are_only_looked_up_by_name(text: str) -> None:
    compile_expression(text)(Nested(a={"b": 1}), NOW)


def test_the_clock_is_the_time_of_the_command() -> None:
    expression = compile_expression("[now(), today()]")
    assert expression({}, 0) == [t("1970-01-01T00:00:00Z"), t("1970-01-01")]
    assert expression({}, NOW) == [t("2026-03-30T09:00:00Z"), t("2026-03-30")]


def test_one_evaluation_does_not_pay_for_another() -> None:
    expression = compile_expression("count(for x in 1..400000 return x)")
    assert [expression({}, 0) for _ in range(3)] == [400_000] * 3


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (1, 1),
        (d("5.0"), 5),
        (d("1E+3"), 1000),
        (d("5.5"), d("5.5")),
        (d("NaN"), None),
        (10**50, 10**50),
        (t("2026-03-30T09:00:00+02:00"), "2026-03-30T09:00:00+02:00"),
        ([t("P1D"), {"at": t("09:00:00Z")}], ["P1D", {"at": "09:00:00Z"}]),
        (value_of("[1..2]", {}), None),
        ([value_of("function(a) a", {})], [None]),
    ],
)
def test_what_is_stored_is_json(value: Any, stored: Any) -> None:
    assert repr(to_json_value(value)) == repr(stored)


def test_what_is_json_already_is_not_copied() -> None:
    order = {"id": 1, "lines": [{"sku": "a"}], "note": None}
    assert to_json_value(order) is order


def test_a_stored_expression_gives_json_and_a_reference_gives_the_variable_itself() -> None:
    assert compile_expression("{at: now(), n: 2.5 * 2}").stored()({}, 0) == {"at": "1970-01-01T00:00:00Z", "n": 5}
    reference = compile_expression("order.lines")
    assert reference.stored() is reference


@pytest.mark.parametrize("build", ["[partial[-1]]", "[partial[-1], partial[-1]]", "{a: partial[-1], b: partial[-1]}"])
def test_a_value_too_large_to_be_stored_is_null(build: str) -> None:
    value = value_of(f"(for i in 1..300 return {build})[-1]", {})
    assert value is not None
    assert to_json_value(value) is None
