"""What is easily taken for one another: message names that the deployed models wait for, and correlation keys.

A name may be computed when an element is entered; then it is not known beforehand, and the answer says so.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.plan import Element, Literal, MessageDefinition, value_or_null

CASE_OR_BLANKS, QUOTES, NUMBER, OTHERWISE = "case or blanks only", "quotes only", "number", "key"
_COMPARED, _MOST_COMPARED = 64, 2_000
_NUMBER = re.compile(r"([+-]?)0*(\d{1,40})(\.\d*)?")


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


def difference(key: str, other: str) -> str:
    """What two different keys differ in."""
    if _folded(key) == _folded(other):
        return CASE_OR_BLANKS
    if _unquoted(key) == _unquoted(other):
        return QUOTES
    number = _number(key)
    return NUMBER if number is not None and number == _number(other) else OTHERWISE


def variants(key: str) -> tuple[str, ...]:
    """Other ways to write a key, as far as they can be listed."""
    bare = _unquoted(key).strip()
    ways = [bare, key.strip(), bare.lower(), bare.upper(), _number(bare), f'"{bare}"']
    return tuple({way: None for way in ways if way is not None and way != key})


def _folded(key: str) -> str:
    return "".join(key.split()).casefold()


def _unquoted(key: str) -> str:
    bare = key.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


def _number(key: str) -> str | None:
    """A key that is a number waits as its integer part."""
    match = _NUMBER.fullmatch(key.strip())
    if match is None:
        return None
    return f"-{match[2]}" if match[1] == "-" and match[2] != "0" else match[2]
