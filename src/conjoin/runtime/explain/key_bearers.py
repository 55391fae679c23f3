"""An instance that has a key in it, and what it has to do with a message: it will wait for it, or would if it could.

It is read from the row of the instance, or from the state of an engine in memory; the model says the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.plan import Element, Plan
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR
from conjoin.kernel.verdicts.ahead import Awaiting, RestingToken, calls, first_ahead
from conjoin.kernel.verdicts.near_misses import NearMiss
from conjoin.runtime.codec.instances import WrittenElement, children_of
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.explain import similar
from conjoin.runtime.explain.similar import Listener
from conjoin.store.rows import InstanceRow, WaitingRow

_DURATIONS = (("1h", 3_600_000), ("6h", 21_600_000), ("1d", 86_400_000), ("7d", 604_800_000), ("30d", 2_592_000_000))
"""Times to live that are recommended: four times what is usual, an hour at least."""


class Sought(NamedTuple):
    """Who may wait for the name; the message, as far as it matters; and some who wait, to learn when they began to."""

    listeners: Sequence[Listener]
    business_id: str
    kept: bool
    sample: Sequence[WaitingRow]

    def processes(self, definitions: Definitions, tenant_id: str) -> set[str]:
        """Those that may wait for the name, and those that call one of them."""
        waiting = {listener.definition.process_id for listener in self.listeners}
        of_tenant = (it for (tenant, _), some in definitions.versions.items() if tenant == tenant_id for it in some)
        calling = (
            it.process_id
            for it in of_tenant
            if any(element.call is not None and calls(element) in waiting for element in it.plan.elements.values())
        )
        return waiting.union(calling)


class StandingElement(NamedTuple):
    """An element of an instance, what can be seen where it stands, and its incident: key, type and text."""

    element_id: str
    variables: Mapping[str, Any]
    incident: tuple[int, str, str] | None
    is_scope: bool
    """Its tokens are inside."""


class KeyBearer(NamedTuple):
    process_id: str
    key: int
    definition: Definition
    business_id: str
    standing: Sequence[StandingElement]


def awaiting(definitions: Definitions, tenant_id: str, what: tuple[str, str, str, int]) -> Awaiting:
    def called(process_id: str) -> Plan | None:
        latest = definitions.latest(tenant_id, process_id)
        return None if latest is None else latest.plan

    return Awaiting(*what, called)


def misses_of(it: KeyBearer, awaited: Awaiting, sought: Sought) -> list[NearMiss]:
    """It would wait for this if it did not stand still, or will wait for it later; at most one."""
    who: NearMiss = {"process": it.process_id, "instance": it.key}
    stuck = _stopped(it.standing, [its for its in sought.listeners if its.definition is it.definition])
    if stuck is not None:
        incident, element_id = stuck
        return [{"kind": "incident", "incident": incident[0], **who, "element": element_id, "text": incident[2]}]
    elements = it.definition.plan.elements
    tokens = [
        RestingToken(elements[at.element_id], at.variables)
        for at in it.standing
        if at.element_id in elements and not at.is_scope
    ]
    ahead = first_ahead(tokens, awaited)
    if ahead is None:
        return []
    miss: NearMiss = {"kind": "too_early", **who, "element": ahead.element.id, "at": ahead.token.id}
    if ahead.token.name:
        miss["at_name"] = ahead.token.name
    miss |= _usually(it.process_id, ahead.element, sought.sample)
    return [miss | ({"kept": True} if sought.kept else {})]


def _stopped(
    standing: Sequence[StandingElement], listeners: Sequence[Listener]
) -> tuple[tuple[int, str, str], str] | None:
    """The incident at an element that would wait for the name, and the element."""
    waiting = {element_id for it in listeners for element_id in similar.elements_with_incidents(it)}
    for it in standing:
        if it.incident is not None and it.incident[1] == EXTRACT_VALUE_ERROR and it.element_id in waiting:
            return it.incident, it.element_id
    return None


def bearer_of(row: InstanceRow, definitions: Definitions) -> KeyBearer | None:
    definition = definitions.by_key.get(row.definition_key)
    if definition is None:
        return None
    body = WrittenElement(*read_json(row.body))
    return KeyBearer(row.process_id, row.key, definition, row.business_id, list(_standing(body, body.variables or {})))


def _standing(it: WrittenElement, variables: Mapping[str, Any]) -> Iterator[StandingElement]:
    """Every element, outermost first."""
    incident = (it.incident[0], it.incident[2], it.incident[3]) if it.incident else None
    inside = list(children_of(it))
    yield StandingElement(it.element_id, variables, incident, bool(inside))
    for child in inside:
        has_own = next(children_of(child), None) is not None and child.variables
        yield from _standing(child, {**variables, **(child.variables or {})} if has_own else variables)


def _usually(process_id: str, element: Element, sample: Sequence[WaitingRow]) -> dict[str, Any]:
    """How long after their start others began to wait there; and a time to live that is long enough for most."""
    times = [
        elapsed_ms(row.started_at, row.opened_at)
        for row in sample
        if row.started_at and (row.process_id, row.element_id) == (process_id, element.id)
    ]
    if not times:
        return {"keep": _DURATIONS[0][0]}
    usual = sum(times) // len(times)
    keep = next((text for text, ms in _DURATIONS if ms >= 4 * usual), _DURATIONS[-1][0])
    return {"usual_ms": usual, "keep": keep}
