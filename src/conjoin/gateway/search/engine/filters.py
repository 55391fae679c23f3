"""Filters of a search: what a client wrote, read strictly; which of it the store can check, and the rest.

Unknown fields and operators are refused by name. Every condition can be checked on an item, so whether the store
checks it changes only how long it takes.
"""

import operator as op
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.errors import MOST_PROBLEMS, InputError
from conjoin.gateway.search.engine.fields import FLAG, Field
from conjoin.gateway.search.engine.like import is_like

OR = "$or"
MOST_VALUES = 1_000
LONGEST_PATTERN = 1_000
MOST_WILDCARDS = 16
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **{"$gt": op.gt, "$gte": op.ge, "$lt": op.lt, "$lte": op.le},
    "$like": is_like,
}
_IN_STORE = {"$eq": "=", "$neq": "<>", "$in": "in", "$notIn": "not in", "$like": "like"}
_IN_STORE |= {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Condition(NamedTuple):
    field: Field
    operator: str
    value: Any

    def holds(self, item: Mapping[str, Any]) -> bool:
        value, operator, wanted = item[self.field.name], self.operator, self.value
        if operator == "$exists":
            return (value is not None) is wanted
        if operator in ("$eq", "$neq"):
            return bool(value == wanted) == (operator == "$eq")
        if operator in ("$in", "$notIn"):
            return (value in wanted) == (operator == "$in")
        return value is not None and _COMPARISONS[operator](value, wanted)


def read_conditions(raw: Any, fields: Mapping[str, Field], where: str = "filter") -> list[Condition]:
    """Raises `InputError` with all that is wrong."""
    if not isinstance(raw, dict):
        raise InputError([f"{where} is an object of fields"])
    found: list[Condition] = []
    problems: list[str] = []
    for name, wanted in raw.items():
        field = fields.get(name)
        if len(problems) > MOST_PROBLEMS:
            break
        if field is None:
            problems.append(f"Request property [{where}.{name}] cannot be parsed: there are {', '.join(fields)}")
        elif wanted is not None:
            tests = wanted if isinstance(wanted, dict) else {"$eq": wanted}
            found += _read_tests(field, tests, f"{where}.{name}", problems)
    if problems:
        raise InputError(problems)
    return found


def _read_tests(field: Field, tests: dict[str, Any], where: str, problems: list[str]) -> Iterator[Condition]:
    for operator, raw in tests.items():
        if len(problems) > MOST_PROBLEMS:
            return
        if operator not in field.kind.operators:
            known = ", ".join(field.kind.operators)
            problems.append(f"Request property [{where}.{operator}] cannot be parsed: there are {known}")
            continue
        try:
            if raw is not None:
                yield Condition(field, operator, _read_value(field, operator, raw))
        except ValueError as expected:
            problems.append(f"Request property [{where}] cannot be parsed: {operator} takes {expected}")


def _read_value(field: Field, operator: str, raw: Any) -> Any:
    if operator == "$exists":
        return FLAG.read(raw)
    if operator in ("$in", "$notIn"):
        if not isinstance(raw, list) or len(raw) > MOST_VALUES:
            raise ValueError(f"a list of at most {MOST_VALUES} values")
        return tuple(field.kind.read(value) for value in raw)
    if operator == "$like":
        return read_pattern(raw)
    return field.kind.read(raw)


def read_pattern(raw: Any) -> str:
    if not isinstance(raw, str) or len(raw) > LONGEST_PATTERN or "\0" in raw:
        raise ValueError(f"a text of at most {LONGEST_PATTERN} characters, in which * and ? stand for others")
    # Several in a row mean the same as one, and take much longer.
    pattern: str = re.sub(r"(?<!\\)\*{2,}", "*", raw)
    if pattern.count("*") > MOST_WILDCARDS:
        raise ValueError(f"at most {MOST_WILDCARDS} asterisks")
    return pattern


def split(
    conditions: Sequence[Condition], is_hiding: bool = False
) -> tuple[dict[str, list[tuple[str, Any]]], list[Condition]]:
    """What the store checks, by column, and what is left. `is_hiding`: the store does not compare what may quote."""
    in_store: dict[str, list[tuple[str, Any]]] = {}
    rest = []
    for condition in conditions:
        tests = None if is_hiding and condition.field.quotes else _in_store(condition)
        if tests is None:
            rest.append(condition)
        else:
            in_store.setdefault(condition.field.column, []).extend(tests)
    return in_store, rest


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
    if operator in ("$eq", "$in", "$like") and field.nothing is not None:
        # What stands for null equals no value.
        tests.append(("<>", field.nothing))
    return tests
