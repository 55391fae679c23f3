"""Which events may stand where: every event has a type that is run at its place (S5, S6, L13)."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.names import EVENTS
from conjoin.errors import Problem

RULE = "supported_events"
NONE = "none"

_ALLOWED = {
    "startEvent": (NONE, "message", "timer", "signal"),
    "endEvent": (NONE, "message", "error", "terminate", "signal"),
    "intermediateCatchEvent": ("message", "timer", "signal", "link"),
    "intermediateThrowEvent": (NONE, "message", "signal", "link"),
    "boundaryEvent": ("message", "timer", "error", "signal"),
}
_IN_EVENT_SUBPROCESS = ("message", "timer", "error", "signal")
_NOT_RUN = ("escalation", "compensate", "conditional", "cancel")


def supported_events(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        if node.tag not in EVENTS or node.tag not in _ALLOWED:
            continue
        allowed = _allowed(node)
        if len(node.events) > 1:
            found = ", ".join(event.type for event in node.events)
            text = f"the event has {len(node.events)} event definitions ({found})"
            yield document.problem(node, RULE, text, "Keep one, and draw an event for each of the others.")
            continue
        found = node.event_type or NONE
        if found in _NOT_RUN:
            text = f"{found} events are not run here"
            yield document.problem(node, RULE, text, f"A {_place(node)} may be: {', '.join(allowed)}.")
        elif found not in allowed:
            text = f"a {_place(node)} cannot be of the type {found}"
            yield document.problem(node, RULE, text, f"It may be: {', '.join(allowed)}.")


def _allowed(node: Node) -> tuple[str, ...]:
    if node.tag == "startEvent" and node.scope and node.scope.scope:
        return _IN_EVENT_SUBPROCESS if node.scope.is_event_subprocess else (NONE,)
    return _ALLOWED[node.tag]


def _place(node: Node) -> str:
    words = node.words.removeprefix(f"{node.event_type} ")
    if node.tag == "startEvent" and node.scope and node.scope.scope:
        return f"{words} of an {'event' if node.scope.is_event_subprocess else 'embedded'} subprocess"
    return words
