"""How the tables of these tests are read: an expression, its variables, the value it has. Types count: 1 is not 1.0."""

from decimal import Decimal
from typing import Any

from conjoin.feel import compile_expression
from conjoin.feel.iso import parse_temporal

NOW = 1_774_861_200_000_000
"""2026-03-30T09:00:00Z, a Monday."""

d = Decimal
Case = tuple[str, dict[str, Any], Any]


def value_of(text: str, variables: dict[str, Any]) -> Any:
    return compile_expression(text)(variables, NOW)


def check(text: str, variables: dict[str, Any], expected: Any) -> None:
    found = value_of(text, variables)
    assert repr(found) == repr(expected), f"{text} is {found!r}"


def t(text: str) -> Any:
    """A temporal value."""
    value = parse_temporal(text)
    assert value is not None, text
    return value
