"""What the deployed models wait for: which elements listen to a message name, and which names come near to it.

A name may be computed when an element is entered; then nobody knows beforehand, and the answer says so.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.plan import Element, Literal, MessageDefinition, value_or_null


class Listener(NamedTuple):
    """An element that waits for messages. `name` is None where it is computed."""

    definition: Definition
    element: Element
    name: str | None

    def may_wait_for(self, name: str) -> bool:
        return self.name is None or self.name == name


def listeners(definitions: Definitions, tenant_id: str) -> Iterator[Listener]:
    """Of all versions, since instances of old ones may be running; only the latest can be started."""
    for (tenant, _), versions in definitions.versions.items():
        if tenant != tenant_id:
            continue
        for definition in versions:
            for element in definition.plan.elements.values():
                is_over = definition is not versions[-1] and element in definition.plan.starts
                if isinstance(element.event, MessageDefinition) and not is_over:
                    yield Listener(definition, element, _constant(element.event))


def _constant(event: MessageDefinition) -> str | None:
    name = event.name
    is_constant = isinstance(name, Literal) or getattr(name, "is_constant", False)
    value = value_or_null(name, {}, 0) if is_constant else None
    return None if value is None else str(value)


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """The known name that somebody may have meant."""
    by_folded = {"".join(it.split()).casefold(): it for it in known}
    close = get_close_matches("".join(name.split()).casefold(), list(by_folded), 1)
    return by_folded[close[0]] if close else None


def places_of_incidents(listener: Listener) -> list[str]:
    """The elements at which an incident keeps the listener from waiting: where its name and key are evaluated."""
    element, scope = listener.element, listener.element.scope
    if element.kind == "boundary_event":
        host = element.attached_to
        return [it.id for it in (host, host.start if host else None) if it is not None]
    if element.kind == "start_event":
        around = scope.scope if scope is not None else None
        return [] if around is None else _starts_of(listener.definition, around)
    gateways = [flow.source.id for flow in element.incoming if flow.source.kind == "event_gateway"]
    return gateways or [element.id]


def _starts_of(definition: Definition, scope: Element) -> list[str]:
    """An event subprocess waits from when a start event of the scope around it is done."""
    others = definition.plan.starts if scope.scope is None else ()
    return [start.id for start in (scope.start, *others) if start is not None]
