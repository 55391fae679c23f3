"""Message names that the deployed models wait for, and that may have been meant.

A name may be computed when an element is entered; then it is not known beforehand, and the answer says so.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.plan import Element, Literal, MessageDefinition, value_or_null

_COMPARED, _MOST_COMPARED = 64, 2_000
_CLOSE = 0.8


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
                    name = element.event.name
                    is_constant = isinstance(name, Literal) or getattr(name, "is_constant", False)
                    value = value_or_null(name, {}, 0) if is_constant else None
                    yield Listener(definition, element, None if value is None else str(value))


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """The known name that may have been meant, of the first names and by their beginnings.

    The time to compare two texts grows with the square of their length, and nothing can stop it.
    """
    by_folded = {_beginning(it): it for it in known[:_MOST_COMPARED]}
    close = get_close_matches(_beginning(name), list(by_folded), 1)
    return by_folded[close[0]] if close else None


def is_misspelled(name: str, other: str) -> bool:
    """May one be the other with a slip or two?"""
    return bool(get_close_matches(_beginning(name), [_beginning(other)], 1, _CLOSE))


def _beginning(name: str) -> str:
    return "".join(name[: 2 * _COMPARED].split()).casefold()[:_COMPARED]


def elements_with_incidents(listener: Listener) -> list[str]:
    """The elements at which an incident keeps the listener from waiting: where its name and key are evaluated."""
    element, scope = listener.element, listener.element.scope
    if element.kind == "boundary_event":
        host = element.attached_to
        return [it.id for it in (host, host.start if host else None) if it is not None]
    if element.kind == "start_event":
        # An event subprocess waits from when a start event of the scope around it is done.
        around = scope.scope if scope is not None else None
        if around is None:
            return []
        others = listener.definition.plan.starts if around.scope is None else ()
        return [start.id for start in (around.start, *others) if start is not None]
    gateways = [flow.source.id for flow in element.incoming if flow.source.kind == "event_gateway"]
    return gateways or [element.id]
