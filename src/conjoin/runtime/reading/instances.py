"""What is alive inside an instance, read from its row without loading it: its elements, each with its own variables.

Nothing is decided here. Of an ended instance the outermost scope is left, with the variables it ended with.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from conjoin.kernel.keys import key_of_rank, rank_of
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.visibility.hiding import Hiding
from conjoin.store.rows import InstanceRow

_SLOT_BITS = 16
_SLOTS = 1 << _SLOT_BITS
_LOOP = 6
"""Where a multi-instance body says how far it has come."""


class LiveElement(NamedTuple):
    """An element instance. `scope_key` is 0 for the instance itself; `incident_key` and `job_key` are 0 without one."""

    key: int
    element_id: str
    scope_key: int
    variables: Mapping[str, Any]
    is_loop: bool
    incident_key: int
    job_key: int


class LiveVariable(NamedTuple):
    key: int
    name: str
    value: Any
    scope_key: int


def elements_of(row: InstanceRow) -> list[LiveElement]:
    """Outermost first, each scope before what is inside."""
    return list(_elements(read_json(row.body), 0))


def _elements(said: list[Any], scope_key: int) -> Iterator[LiveElement]:
    said = said + [None] * (10 - len(said))
    key, element_id, _, variables, inside, _, _, job, incident, _ = said
    is_loop = bool(inside) and len(inside) > _LOOP
    yield LiveElement(
        key, element_id, scope_key, variables or {}, is_loop, incident[0] if incident else 0, job[0] if job else 0
    )
    for child in inside[1] if inside and len(inside) > 1 else ():
        yield from _elements(child, key)


def shown_text(hiding: Hiding, text: str, row: InstanceRow) -> str:
    """Something that was said of an instance, and may quote its variables."""
    return hiding.text(text, *(it.variables for it in elements_of(row))) if hiding.is_active and text else text


def visible_to(key: int, elements: list[LiveElement]) -> dict[str, Any]:
    """The variables that an element sees: those of its scopes, the inner ones over the outer."""
    by_key = {it.key: it for it in elements}
    scopes = []
    while key in by_key:
        scopes.append(by_key[key].variables)
        key = by_key[key].scope_key
    return {name: value for variables in reversed(scopes) for name, value in variables.items()}


def variables_of(row: InstanceRow) -> Iterator[LiveVariable]:
    """Every variable of every scope. Each has a key, which stays the same while it is there."""
    for it in elements_of(row):
        for name, slot in _slots(it.variables).items():
            yield LiveVariable(rank_of(it.key) << _SLOT_BITS | slot, name, it.variables[name], it.key)


def scope_of_variable(key: int) -> int:
    """In which scope a variable is, by its key."""
    return key_of_rank(key >> _SLOT_BITS)


def _slots(names: Mapping[str, Any]) -> dict[str, int]:
    """A number for each variable of a scope: by its name, or the next one where an older variable has that."""
    taken: dict[int, str] = {}
    for name in names:
        slot = crc32(name.encode("utf-8", "surrogatepass")) % _SLOTS
        while slot in taken and len(taken) < _SLOTS:
            slot = (slot + 1) % _SLOTS
        taken[slot] = name
    return {name: slot for slot, name in taken.items()}
