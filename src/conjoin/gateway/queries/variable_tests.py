"""Tests of variables as they are typed: `amount = 40`, `variables.customer.name = "Anna"`. Equal as JSON values are.

A path goes through objects by its dots; a variable whose name has the dots in it is found, too. A value that is no JSON
is a text without its quotes. No index has variables, so the store only leaves out what cannot be meant.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.runtime.codec.json_text import NOT_JSON, json_text, read_client_json, read_json
from conjoin.runtime.reading.lists import containing
from conjoin.runtime.visibility.hiding import NOTHING_HIDDEN, Hiding

_PREFIX = "variables."
_NOTHING = object()


class VariableTest(NamedTuple):
    path: tuple[str, ...]
    value: Any
    hiding: Hiding = NOTHING_HIDDEN
    """Only what is shown is compared."""

    def passes(self, all_variables: Mapping[str, Any]) -> bool:
        variables = self.hiding.of(all_variables)
        inside: Any = variables
        for name in self.path:
            inside = inside.get(name, _NOTHING) if isinstance(inside, Mapping) else _NOTHING
        return _same(variables.get(".".join(self.path), _NOTHING), self.value) or _same(inside, self.value)


def read_variable_test(text: str) -> VariableTest:
    left, sign, right = text.partition("=")
    name, value = left.strip().removeprefix(_PREFIX), right.removeprefix("=").strip()
    if not sign or not value or not all(name.split(".")):
        raise InputError([f"variables: {text!r:.80} is no test such as amount = 40 or customer.name = Anna"])
    try:
        return VariableTest(tuple(name.split(".")), read_client_json(value))
    except NOT_JSON:
        return VariableTest(tuple(name.split(".")), value)


def passes_row(row: Any, wanted: VariableTest) -> bool:
    """Of a message's row."""
    return wanted.passes(read_json(row.variables) or {})


def possible_rows(wanted: VariableTest) -> Mapping[str, Any]:
    """Numbers can be written in several ways, but all of them begin alike."""
    value, name = wanted.value, json_text(wanted.path[-1])[1:]
    if isinstance(value, (str, bool)) or value is None:
        begins = json_text(value)
    else:
        begins = str(value)[: 2 if value < 0 else 1] if isinstance(value, int) and value else ""
    return {"variables": containing(f"{name}:{begins}")}


def _same(one: Any, other: Any) -> bool:
    """To Python True is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(one == other)
