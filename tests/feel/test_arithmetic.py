"""Numbers are exact; what has no meaning is null."""

import pytest

from tests.feel.cases import Case, check, d

ARITHMETIC: list[Case] = [
    ("1 + 2", {}, 3),
    ("2 + 3 * 4", {}, 14),
    ("(2 + 3) * 4", {}, 20),
    ("2 + 4 - 3 + 1", {}, 4),
    ("3 * 4 / 2 * 5", {}, 30),
    ("0.1 + 0.2", {}, d("0.3")),
    ("1 + 0.5", {}, d("1.5")),
    ("8 / 4", {}, 2),
    ("1 / 3", {}, d("0.3333333333333333333333333333333333")),
    ("2 / 3", {}, d("0.6666666666666666666666666666666667")),
    ("10 / 4", {}, d("2.5")),
    ("1 / 0", {}, None),
    ("1 / 0.0", {}, None),
    ("2 ** 3", {}, 8),
    ("2 ** 2 ** 3", {}, 64),
    ("2 ** -1", {}, d("0.5")),
    ("2 ** 0.5", {}, d("1.414213562373095048801688724209698")),
    ("0 ** -1", {}, None),
    ("-8 ** 0.5", {}, None),
    ("10 ** 999999999999", {}, None),
    ("-2 ** 2", {}, 4),
    ("--2", {}, 2),
    ("---2", {}, -2),
    ('--"a"', {}, None),
    ("2 * -3", {}, -6),
    ("5-3", {}, 2),
    ("v * 2 + n", {"v": 3, "n": 4}, 10),
    ("n + 1", {}, None),
    ("n + 1", {"n": None}, None),
    ("n + 1", {"n": True}, None),
    ("true + true", {}, None),
    ("n * 2", {"n": d("1.25")}, d("2.50")),
    ("n + 1", {"n": 10**33}, 10**33 + 1),
    ("n + 1", {"n": 10**40}, d("1.000000000000000000000000000000000E+40")),
    ("n", {"n": 10**40 + 1}, 10**40 + 1),
    ("n * n", {"n": d("1E+6000")}, None),
    ("n - n", {"n": [1]}, None),
]

STRINGS: list[Case] = [
    ('"a" + "b"', {}, "ab"),
    ('"a" + "b" + "c"', {}, "abc"),
    ('"a" + 1', {}, None),
    ('1 + "a"', {}, None),
    ('"a" + null', {}, None),
    ('"a" + string(1)', {}, "a1"),
    ('"a" - "b"', {}, None),
    ('"a" * 2', {}, None),
    ('-"a"', {}, None),
]


@pytest.mark.parametrize(("text", "variables", "expected"), ARITHMETIC + STRINGS)
def test_arithmetic_is_exact_and_null_where_it_has_no_meaning(text: str, variables: dict, expected: object) -> None:
    check(text, variables, expected)


def test_a_sum_of_thousands_of_terms_is_no_deep_tree() -> None:
    check(" + ".join(["1"] * 5_000), {}, 5_000)
    check(" or ".join(["false"] * 5_000 + ["true"]), {}, True)
