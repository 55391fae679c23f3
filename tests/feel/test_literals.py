"""Literals, names, comments: what the text of an expression is made of."""

import pytest

from tests.feel.cases import Case, check, d, t

LITERALS: list[Case] = [
    ("1", {}, 1),
    ("007", {}, 7),
    ("1.50", {}, d("1.50")),
    (".5", {}, d("0.5")),
    ("-3", {}, -3),
    ("123456789012345678901234567890", {}, 123456789012345678901234567890),
    ("12345678901234567890123456789012345678", {}, d("1.234567890123456789012345678901235E+37")),
    ("9" * 5000, {}, d("1.000000000000000000000000000000000E+5000")),
    ("true", {}, True),
    ("false", {}, False),
    ("null", {}, None),
    ('"a"', {}, "a"),
    ('""', {}, ""),
    (r'"a\"b\\c\n\t\r\'"', {}, "a\"b\\c\n\t\r'"),
    (r'"\s\d"', {}, r"\s\d"),
    (r'"⚝"', {}, "⚝"),
    (r'"\U01F40E"', {}, "\U0001f40e"),
    (r'"🐎"', {}, "\U0001f40e"),
    (r'"\uD83D"', {}, "\ufffd"),
    ('"line\nbreak"', {}, "line\nbreak"),
    ("[]", {}, []),
    ('[1, "a", [true]]', {}, [1, "a", [True]]),
    ("{}", {}, {}),
    ('@"2026-03-30"', {}, t("2026-03-30")),
    ('@"2026-02-31"', {}, None),
    ('@"PT1H"', {}, t("PT1H")),
]

NAMES: list[Case] = [
    ("orderId", {"orderId": "o1"}, "o1"),
    ("missing", {}, None),
    ("a_1", {"a_1": 1}, 1),
    ("größe", {"größe": 1}, 1),
    ("名前", {"名前": "x"}, "x"),
    ("$x", {"$x": 1}, 1),
    ("🐎", {"🐎": 1}, 1),
    ("`first name`", {"first name": "Ada"}, "Ada"),
    ("`a-b` + 1", {"a-b": 1}, 2),
    ("`if`", {"if": 1}, 1),
    ("nullable", {"nullable": 1}, 1),
    ("inside and orders", {"inside": True, "orders": True}, True),
    ("date", {"date": 1}, 1),
    ("date and time", {"date": True, "time": True}, True),
    ("count", {"count": 3}, 3),
    ("string", {"string": "s"}, "s"),
]

COMMENTS: list[Case] = [
    ("1 // one", {}, 1),
    ("1 /* one */ + /* two\nlines */ 2", {}, 3),
    ("// first\n1", {}, 1),
    ("8 / 4 / 2", {}, 1),
    ('"// not a comment"', {}, "// not a comment"),
    ("  \n\t 1 \n", {}, 1),
]


@pytest.mark.parametrize(("text", "variables", "expected"), LITERALS + NAMES + COMMENTS)
def test_literals_names_and_comments_mean_what_they_say(text: str, variables: dict, expected: object) -> None:
    check(text, variables, expected)
