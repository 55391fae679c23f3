"""Instances, read from their rows without loading them: what is alive inside, what it waits for, how they ended.

Nothing is decided here. Of an ended instance the outermost scope is left, with the variables it ended with.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

from conjoin.kernel.keys import key_of_rank, rank_of
from conjoin.kernel.plan import value_or_null
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.kernel.storable import whole_number
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.instance_waits import closed_waits
from conjoin.runtime.codec.instances import WrittenElement, children_of
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.run.changes import ACTIVE, COMPLETED
from conjoin.runtime.run.working_set.loaded_instances import instances_with_elements
from conjoin.runtime.visibility.hiding import Hiding
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow, SubscriptionRow
from conjoin.times.iso8601 import read_instant

USER_TASK = FOR_A_PERSON
_DEFAULT_PRIORITY, _MOST_PRIORITY = 50, 100
_SLOT_BITS = 16
_SLOTS = 1 << _SLOT_BITS
_WAIT_KEY = t.SUBSCRIPTION.key
"""Tenant, correlation key and key: a wait of an element has the last two."""


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
    return list(_elements(WrittenElement(*read_json(row.body)), 0))


def _elements(it: WrittenElement, scope_key: int) -> Iterator[LiveElement]:
    incident_key, job_key = it.incident[0] if it.incident else 0, it.job[0] if it.job else 0
    yield LiveElement(it.key, it.element_id, scope_key, it.variables or {}, it.is_loop, incident_key, job_key)
    for child in children_of(it):
        yield from _elements(child, it.key)


def shown_text(hiding: Hiding, text: str, row: InstanceRow) -> str:
    """A text about an instance, which may quote its variables."""
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


def instance_holding(broker: Broker, element_key: int) -> InstanceRow | None:
    its_own: InstanceRow | None = rows_with(broker, "instance", [element_key]).get(element_key)
    shard = broker.homes.shard_of_record(element_key)
    if its_own is not None or shard < 0:
        return its_own
    with closing(broker.store.shard(shard).reader()) as reader, reader.begin() as snapshot:
        keys = instances_with_elements(snapshot, [element_key])
    rows = rows_with(broker, "instance", keys).values()
    return next((row for row in rows if any(it.key == element_key for it in elements_of(row))), None)


def subscriptions_of(broker: Broker, rows: Iterable[InstanceRow], most: int) -> list[SubscriptionRow]:
    """Those that are open, or about to take a message: of the first instances first."""
    found = (
        (row.tenant_id, *wait)
        for row in rows
        for it in _with_children(WrittenElement(*read_json(row.body)))
        for wait in it.message_waits
    )
    waits = list(islice(found, most))
    if not waits:
        return []
    where = {column: tuple({wait[index]: None for wait in waits}) for index, column in enumerate(_WAIT_KEY)}
    known = {it[: len(_WAIT_KEY)]: it for it in broker.store.rows(t.SUBSCRIPTION, where, None, len(waits))}
    return [known[wait] for wait in waits if wait in known and known[wait].closed_at is None]


class LiveTimer(NamedTuple):
    key: int
    element_id: str
    due_at: int


def timers_of(row: InstanceRow) -> list[LiveTimer]:
    """Those that run, the next one first."""
    found = [LiveTimer(*it) for inside in _whole(row) for it in inside.timers]
    return sorted(found, key=lambda it: (it.due_at, it.key))


def awaited_by(row: InstanceRow) -> dict[int, tuple[str, str]]:
    """Name and correlation key of its subscriptions, by their keys: of the open ones, and of those closed last."""
    known = {it.subscription.key: (it.subscription.name, row.wait_on or "") for it in closed_waits(row)}
    for inside in _whole(row):
        known |= inside.awaited_names
    return known


def _whole(row: InstanceRow) -> Iterator[WrittenElement]:
    return _with_children(WrittenElement(*read_json(row.body)))


def _with_children(it: WrittenElement) -> Iterator[WrittenElement]:
    yield it
    for child in children_of(it):
        yield from _with_children(child)


class InstanceEnd(NamedTuple):
    key: int
    completed: bool
    """Otherwise it was cancelled."""
    variables: Mapping[str, Any]


def end_of(row: InstanceRow) -> InstanceEnd | None:
    if row.state == ACTIVE:
        return None
    return InstanceEnd(row.key, row.state == COMPLETED, WrittenElement(*read_json(row.body)).variables or {})


def stored_end(broker: Broker, key: int) -> InstanceEnd | None:
    for row in broker.store.rows(t.INSTANCE, {"key": key}, None, 1):
        return end_of(row)
    return None


def for_people(element: Any, element_key: int, instance: InstanceRow, now: int, hiding: Hiding) -> dict[str, Any]:
    """What the model says of a user task (a job of a type that no worker can activate), by the names that it has there.

    Expressions see the variables that the task sees now, as they are shown: nothing hidden comes out of them.
    """
    variables = hiding.of(visible_to(element_key, elements_of(instance)))
    values = {
        name: value_or_null(it, variables, now) if callable(it) else it for name, it in element.properties.items()
    }
    priority = whole_number(values.get("priority"), _MOST_PRIORITY)
    return {
        **{name: _texts(values.get(name)) for name in ("candidateGroups", "candidateUsers")},
        **{name: _instant(values.get(name)) for name in ("dueDate", "followUpDate")},
        "priority": _DEFAULT_PRIORITY if priority is None or priority < 0 else priority,
        "externalReference": values.get("externalReference"),
    }


def _texts(value: Any) -> list[str]:
    """A list, or texts with commas between them."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def _instant(value: Any) -> int | None:
    return read_instant(value) if isinstance(value, str) else None
