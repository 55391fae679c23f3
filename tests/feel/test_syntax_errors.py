"""What is refused when an expression is compiled: the column, the construct, and words a person can act on."""

import pytest

from conjoin.feel import FeelSyntaxError, compile_expression

REFUSED = [
    ("", 1, "expected an expression, but the expression ends here"),
    ("   ", 4, "expected an expression, but the expression ends here"),
    ("1 +", 4, "expected a value, but the expression ends here"),
    ("(1 + 2", 7, "expected ')' to close '(', but the expression ends here"),
    ("[1, 2", 6, "expected ']' to close '[', but the expression ends here"),
    ("1 + 2)", 6, "expected an operator or the end, found ')'"),
    ("a == b", 4, "expected a value, found '=' (equality is written with one '=')"),
    ("first name", 7, "found 'name' (a name with a space is written in backticks: `first name`)"),
    ("'a'", 1, 'unexpected "\'": a string is written in double quotes'),
    ('"abc', 1, "unexpected '\"': this string has no closing \""),
    ("`abc", 1, "unexpected '`': this name has no closing `"),
    ("1 /* one", 3, "this comment has no closing */"),
    ("!a", 1, "unexpected '!': use not(...) or !="),
    ("a && b", 3, "unexpected '&': use the word 'and'"),
    ("a || b", 3, "unexpected '|': use the word 'or'"),
    ("5 % 2", 3, "unexpected '%': use modulo(a, b)"),
    ("1 < x < 5", 7, "comparisons do not chain: combine them with 'and', or use 'between', found '<'"),
    ("if a then b", 12, "expected 'else' after 'if ... then ...', but the expression ends here"),
    ("if a b", 6, "expected 'then' after the condition of 'if', found 'b'"),
    ("for x in xs", 12, "expected 'return' after 'for ... in ...', but the expression ends here"),
    ("for 1 in xs return 1", 5, "expected the name of a variable to iterate with, found '1'"),
    ("some x in xs", 13, "expected 'satisfies' after 'some ... in ...', but the expression ends here"),
    ("x between 1 or 2", 13, "expected 'and' between the two bounds of 'between', found 'or'"),
    ("x instance of", 14, "expected the name of a type after 'instance of', but the expression ends here"),
    ("x instance of money", 15, "expected the name of a type after 'instance of', found 'money'"),
    ("x instance of list<number>", 19, "a type of the form 'list<...>' is not supported, found '<'"),
    ("a.", 3, "expected a name after '.', but the expression ends here"),
    ("a.1", 2, "expected an operator or the end, found '.1'"),
    ("{a 1}", 5, "expected the key of a context entry and ':', found '}'"),
    ("{a: 1,}", 7, "expected the key of a context entry and ':', found '}'"),
    ("{1: 2}", 2, "expected the key of a context entry, found '1'"),
    ("[1..]", 5, "expected a value, found ']'"),
    ("(", 1, "expected a value, found '('"),
    ("1 + {", 5, "expected a value, found '{'"),
    ("@2020", 2, "expected a date, time or duration in double quotes after '@', found '2020'"),
    ('@"tomorrow"', 2, "@'tomorrow' is no date, time, date and time, or duration"),
    ("then", 1, "expected a value, found 'then'"),
    ("not true", 1, "expected a value, found 'not'"),
    ("1e3", 2, "expected an operator or the end, found 'e3'"),
    ("function(a: number) a", 11, "parameters have no types here, found ':'"),
    ("function(a) external {java: 1}", 13, "external functions are not supported"),
    ("f(1)", 1, "there is no function 'f'"),
    ("1 + cuont([1])", 5, "there is no function 'cuont', did you mean 'count'?"),
    ("random number()", 1, "the function 'random number' is not supported: an expression gives the same value"),
    ("1 + uuid()", 5, "the function 'uuid' is not supported: an expression gives the same value"),
    ("now(1)", 1, "the function 'now' takes no arguments"),
    ("count()", 1, "'count' is called as count(list)"),
    ('substring("a")', 1, "'substring' is called as substring(string, start position, length?)"),
    ("append([1])", 1, "'append' is called as append(list, items...) or append(list, items)"),
    ("count(liste: [1])", 1, "'count' is called as count(list)"),
    ("contains(string: a, b)", 22, "either all arguments have names or none, found ')'"),
    ('matches(a, "(?=b)")', 1, "the pattern of 'matches': look-around, atomic groups"),
    (r'matches(a, "(b)\1")', 1, "the pattern of 'matches': back-references (\\1) are not supported"),
]


@pytest.mark.parametrize(("text", "column", "problem"), REFUSED)
def test_a_refusal_names_the_column_and_what_to_do(text: str, column: int, problem: str) -> None:
    with pytest.raises(FeelSyntaxError) as refusal:
        compile_expression(text)
    assert problem in str(refusal.value)
    assert refusal.value.column == column
    assert str(refusal.value).startswith(f"column {column}: ")
    assert refusal.value.text == text


@pytest.mark.parametrize(
    ("text", "construct"),
    [("uuid()", "uuid"), ("a ; b", ";"), ("1 +", "end"), ('matches(a, "[")', "pattern"), ("((" * 100, "nesting")],
)
def test_a_refusal_names_the_construct(text: str, construct: str) -> None:
    with pytest.raises(FeelSyntaxError) as refusal:
        compile_expression(text)
    assert refusal.value.construct == construct


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "1" + ")" * 10_000,
        "[" * 10_000 + "]" * 10_000,
        "{a:" * 10_000 + "1" + "}" * 10_000,
        "if a then " * 5_000 + "1" + " else 2" * 5_000,
        "f(" * 10_000,
        "a" + ".b" * 10_000,
        "a" + "[1]" * 10_000,
        "not(" * 10_000,
        "function(a) " * 5_000 + "a",
        "1" * 200_000,
        '"' + "a" * 200_000 + '"',
    ],
)
def test_what_is_nested_too_deeply_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(FeelSyntaxError):
        compile_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50 + "1" + ")" * 50,
        "[" * 50 + "]" * 50,
        "a" + ".b" * 90,
        "-" * 10_000 + "1",
        "if a then 1 else " * 2_000 + "0",
    ],
)
def test_nesting_that_a_person_could_write_is_accepted(text: str) -> None:
    compile_expression(text)({}, 0)
