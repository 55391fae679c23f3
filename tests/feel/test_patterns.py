"""Regular expressions: the functions, agreement with Python's `re`, and patterns that would hang it."""

import re

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from conjoin.feel.budget import Budget
from conjoin.feel.patterns import found, problem_of
from conjoin.feel.patterns.machine import Machine, compiled
from tests.conftest import the_seed
from tests.feel.cases import Case, check

FUNCTIONS: list[Case] = [
    ('matches("foobar", "^fo*bar")', {}, True),
    ('matches("foobar", "o+b")', {}, True),
    ('matches("foobar", "^o")', {}, False),
    ('matches("FooBar", "foo")', {}, False),
    ('matches("FooBar", "foo", "i")', {}, True),
    ('matches("FooBar", "(?i)foo")', {}, True),
    ('matches("FooBar", "[^f]oo", "i")', {}, False),
    ('matches("a\nb", "a.b")', {}, False),
    ('matches("a\nb", "a.b", "s")', {}, True),
    ('matches("a\nb", "^b")', {}, False),
    ('matches("a\nb", "^b$", "m")', {}, True),
    ('matches("ab", "a b # both", "x")', {}, True),
    ('matches("a", "a", "q")', {}, None),
    ('matches("a", pattern)', {"pattern": "("}, None),
    ('matches("a", pattern)', {"pattern": r"(a)\1"}, None),
    ("matches(1, pattern)", {"pattern": "a"}, None),
    (r'matches("me@camunda.com", "^[\w.-]+@([\w-]+\.)+[\w-]{2,4}$")', {}, True),
    (r'matches("me@camunda", "^[\w.-]+@([\w-]+\.)+[\w-]{2,4}$")', {}, False),
    (r'matches("Grüße", "^\p{Lu}\p{L}+$")', {}, True),
    (r'matches("٣", "\d")', {}, False),
    (r'matches("a-b", "^[a\-b]+$")', {}, True),
    (r'matches("]", "[]]")', {}, True),
    (r'matches("aaa", "^a{2,3}$")', {}, True),
    (r'matches("aaaa", "^a{2,3}$")', {}, False),
    (r'matches("{}", "\{\}")', {}, True),
    (r'replace("abcd", "(ab)|(a)", "[1=$1][2=$2]")', {}, "[1=ab][2=]cd"),
    (r'replace("0123456789", "(\d{3})(\d{3})(\d{4})", "($1) $2-$3")', {}, "(012) 345-6789"),
    ('replace("How do you feel?", "Feel", "FEEL", "i")', {}, "How do you FEEL?"),
    ('replace("aaa", "a", "")', {}, ""),
    ('replace("abc", "x*", "-")', {}, "-a-b-c-"),
    (r'replace("abc", "b", "\$")', {}, "a$c"),
    ('replace("abc", "b", "$1")', {}, None),
    ('replace("abc", "b", "[$0]")', {}, "a[b]c"),
    (r'split("John Doe", "\s")', {}, ["John", "Doe"]),
    ('split("a;b;c;;", ";")', {}, ["a", "b", "c", "", ""]),
    ('split("abc", "")', {}, ["a", "b", "c"]),
    ('split("", ",")', {}, [""]),
    ('split("a1b22c", "[0-9]+")', {}, ["a", "b", "c"]),
    ('extract("references are 1234, 1256, 1378", "12[0-9]*")', {}, ["1234", "1256"]),
    ('extract("abc", "x")', {}, []),
]


@pytest.mark.parametrize(("text", "variables", "expected"), FUNCTIONS)
def test_pattern_functions(text: str, variables: dict, expected: object) -> None:
    check(text, variables, expected)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+b", "a" * 2_000),
        ("(a|a)*b", "a" * 2_000),
        ("(a*)*b", "a" * 2_000),
        ("(.*)(.*)(.*)(.*)(.*)(.*)x", "a" * 2_000),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 2_000),
    ],
)
def test_a_pattern_that_would_backtrack_for_ever_answers_at_once(pattern: str, text: str) -> None:
    assert found(Budget(), text, pattern) is False


def test_a_match_that_costs_too_much_is_null_and_ends() -> None:
    check("matches(text, pattern)", {"text": "a" * 300_000, "pattern": "(a?){900}b"}, None)
    check("matches(text, pattern)", {"text": "a", "pattern": "((a{100}){100}){100}"}, None)
    check("count(extract(text, pattern))", {"text": "a" * 20_000, "pattern": "a.*b|a"}, None)


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a)", "*a", "a**", "a*+", "[a", "[z-a]", "a{3,1}", "a{2000}", "(?=a)", "(?!a)", "(?<=a)", "(?>a)",
     r"\1", r"\q", "\\", r"\p{Nonsense}", "[a[b]]", "[a&&b]", "(" * 60 + ")" * 60],
)  # fmt: skip
def test_a_pattern_we_do_not_match_is_refused_with_a_reason(pattern: str) -> None:
    assert problem_of(pattern)


# Nothing in the tree may match the empty text inside a repetition: there Python's order of preference is its own.
ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", "ab", "b+", "a+?", "c{2}"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?", "+?", "??"])).map(lambda p: f"({p[0]}){p[1]}"),
        st.tuples(inner, st.sampled_from(["^{}", "{}$", r"\b{}", r"{}\b"])).map(lambda p: p[1].replace("{}", p[0])),
    ),
    max_leaves=6,
)


@seed(the_seed())
@given(PATTERNS, st.text("abc ", max_size=10))
def test_the_leftmost_preferred_match_is_the_one_that_backtracking_finds(pattern: str, text: str) -> None:
    expected = re.search(pattern, text, re.ASCII)
    spans = Machine(compiled(pattern, ""), text, Budget()).search(0)
    assert (spans and spans[:2]) == (expected and expected.span())
