"""Filters of a search: what a client wrote, read strictly; what the store can look at; what is asked of each item.

Unknown fields and operators are refused by name. Every condition can be tested on an item, so whether the store looks
at it changes only how long it takes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.gateway.search.engine.fields import Field
from conjoin.gateway.search.engine.like import is_like

OR = "$or"
MOST_VALUES = 1_000
LONGEST_PATTERN = 1_000
MOST_WILDCARDS = 16
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda value, other: value > other,
    "$gte": lambda value, other: value >= other,
    "$lt": lambda value, other: value < other,
    "$lte": lambda value, other: value <= other,
}
_IN_STORE = {"$eq": "=", "$neq": "<>", "$in": "in", "$notIn": "not in", "$like": "like"}
_IN_STORE |= {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Condition(NamedTuple):
    field: Field
    operator: str
    value: Any

    def holds(self, item: Mapping[str, Any]) -> bool:
        value, operator, asked = item[self.field.name], self.operator, self.value
        if operator == "$exists":
            return (value is not None) is asked
        if operator in ("$eq", "$neq"):
            return bool(value == asked) == (operator == "$eq")
        if operator in ("$in", "$notIn"):
            return (value in asked) == (operator == "$in")
        if value is None:
            return False
        return is_like(value, asked) if operator == "$like" else _COMPARISONS[operator](value, asked)


def read_conditions(said: Any, fields: Mapping[str, Field], where: str = "filter") -> list[Condition]:
    """Raises `InputError` with all that is wrong."""
    if not isinstance(said, dict):
        raise InputError([f"{where} is an object of fields"])
    found: list[Condition] = []
    problems: list[str] = []
    for name, asked in said.items():
        field = fields.get(name)
        if field is None:
            problems.append(f"Request property [{where}.{name}] cannot be parsed: there are {', '.join(fields)}")
        elif asked is not None:
            tests = asked if isinstance(asked, dict) else {"$eq": asked}
            found += _read_tests(field, tests, f"{where}.{name}", problems)
    if problems:
        raise InputError(problems)
    return found


def _read_tests(field: Field, tests: dict[str, Any], where: str, problems: list[str]) -> Iterator[Condition]:
    for operator, said in tests.items():
        if operator not in field.kind.operators:
            known = ", ".join(field.kind.operators)
            problems.append(f"Request property [{where}.{operator}] cannot be parsed: there are {known}")
            continue
        try:
            if said is not None:
                yield Condition(field, operator, _read_value(field, operator, said))
        except ValueError as expected:
            problems.append(f"Request property [{where}] cannot be parsed: {operator} takes {expected}")


def _read_value(field: Field, operator: str, said: Any) -> Any:
    if operator == "$exists":
        if isinstance(said, bool):
            return said
        raise ValueError("true or false")
    if operator in ("$in", "$notIn"):
        if not isinstance(said, list) or len(said) > MOST_VALUES:
            raise ValueError(f"a list of at most {MOST_VALUES} values")
        return tuple(field.kind.read(value) for value in said)
    if operator == "$like":
        return read_pattern(said)
    return field.kind.read(said)


def read_pattern(said: Any) -> str:
    if not isinstance(said, str) or len(said) > LONGEST_PATTERN or "\0" in said:
        raise ValueError(f"a text of at most {LONGEST_PATTERN} characters, in which * and ? stand for others")
    # Several in a row say the same as one, and take much longer.
    pattern: str = re.sub(r"(?<!\\)\*{2,}", "*", said)
    if pattern.count("*") > MOST_WILDCARDS:
        raise ValueError(f"at most {MOST_WILDCARDS} asterisks")
    return pattern


class Split(NamedTuple):
    """`where`: what the store looks at, by column; `rest`: what is asked of each item."""

    where: dict[str, list[tuple[str, Any]]]
    rest: list[Condition]


def split(conditions: Sequence[Condition], is_hiding: bool = False) -> Split:
    """`is_hiding`: what quotes variables is not for the store to look at."""
    where: dict[str, list[tuple[str, Any]]] = {}
    rest = []
    for condition in conditions:
        tests = None if is_hiding and condition.field.quotes else _in_store(condition)
        if tests is None:
            rest.append(condition)
        else:
            where.setdefault(condition.field.column, []).extend(tests)
    return Split(where, rest)


def _in_store(condition: Condition) -> list[tuple[str, Any]] | None:
    field, operator, value = condition
    if not field.column:
        return None
    if field.stored is not None:
        meant = [word for word in field.stored if condition.holds({field.name: word})]
        return [("in", tuple(stored for word in meant for stored in field.stored[word]))]
    if operator == "$exists":
        return [("<>" if value else "=", field.nothing)] if field.sparse or field.nothing is not None else None
    tests = [(_IN_STORE[operator], value)]
    if operator == "$like" and field.nothing is not None:
        tests.append(("<>", field.nothing))
    if operator in ("$eq", "$in") and field.nothing is not None:
        # What stands for nothing is no value that anybody can ask for.
        tests.append(("<>", field.nothing))
    return tests
