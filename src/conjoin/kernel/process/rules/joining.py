"""Joining: when a gateway with several ways in may go on.

A parallel gateway waits for one token of each way in. An inclusive gateway waits as long as a token in its scope may
still come by a way that none has come by yet.
"""

from collections.abc import Iterable, Iterator

from conjoin.kernel.definitions import Definition
from conjoin.kernel.plan import Element, Flow
from conjoin.kernel.process.state import Scope

_MOST_REMEMBERED = 20_000


def joined_by_all(scope: Scope, gateway: Element) -> tuple[str, ...] | None:
    """The flows whose tokens become one, or None while one is missing."""
    arrived = scope.arrived or {}
    flows = tuple(flow.id for flow in gateway.incoming)
    return flows if all(flow in arrived for flow in flows) else None


def joined_by_those_that_can(scope: Scope, gateway: Element) -> tuple[str, ...] | None:
    arrived = scope.arrived or {}
    come = tuple(flow.id for flow in gateway.incoming if flow.id in arrived)
    missing = {flow.id for flow in gateway.incoming if flow.id not in arrived}
    if not come or (missing and _may_still_come(scope, gateway, missing)):
        return None
    return come


def _may_still_come(scope: Scope, gateway: Element, missing: set[str]) -> bool:
    definition = scope.instance.definition
    return not all(
        missing.isdisjoint(ways_into(definition, element, gateway)) for element in _places(scope, definition, gateway)
    )


def _places(scope: Scope, definition: Definition, gateway: Element) -> Iterator[Element]:
    """Where the tokens of the scope are: at rest, on their way, or waiting at another gateway."""
    for child in scope.children():
        yield child.element
    elements = definition.plan.elements
    for element_id in scope.moving or ():
        yield elements[element_id]
    for flow_id in scope.arrived or ():
        waiting_at = definition.targets.get(flow_id)
        if waiting_at is not None and waiting_at is not gateway:
            yield waiting_at


def ways_into(definition: Definition, element: Element, gateway: Element) -> frozenset[str]:
    """The flows by which a token at the element may come to the gateway."""
    place = (element.id, gateway.id)
    found = definition.reach.get(place)
    if found is None:
        if len(definition.reach) >= _MOST_REMEMBERED:
            definition.reach.clear()
        found = definition.reach[place] = frozenset(_walk(element, gateway))
    return found


def _walk(element: Element, gateway: Element) -> list[str]:
    seen: dict[str, None] = {}
    into: list[str] = []
    ahead = [] if element is gateway else list(_ways_out(element))
    while ahead:
        flow = ahead.pop()
        if flow.id in seen:
            continue
        seen[flow.id] = None
        if flow.target is gateway:
            into.append(flow.id)
        else:
            ahead.extend(_ways_out(flow.target))
    return into


def _ways_out(element: Element) -> Iterable[Flow]:
    yield from element.outgoing
    if element.default is not None:
        yield element.default
    for boundary in element.boundaries:
        yield from boundary.outgoing
    if element.link_target is not None:
        yield from element.link_target.outgoing
