"""Which events may stand where: every event has a type that is run at its place (S5, S6, L13)."""

from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.rule import each_node

NONE = "none"

_ALLOWED: dict[str, tuple[str, ...]] = {
    "startEvent": (NONE, "message", "timer", "signal"),
    "endEvent": (NONE, "message", "error", "terminate", "signal"),
    "intermediateCatchEvent": ("message", "timer", "signal", "link"),
    "intermediateThrowEvent": (NONE, "message", "signal", "link"),
    "boundaryEvent": ("message", "timer", "error", "signal"),
}
_IN_EVENT_SUBPROCESS = ("message", "timer", "error", "signal")
_NOT_RUN = ("escalation", "compensate", "conditional", "cancel")


@each_node
def supported_events(document: Document, node: Node) -> Found:
    if node.tag not in _ALLOWED:
        return
    allowed, place = _ALLOWED[node.tag], node.words.removeprefix(f"{node.event_type} ")
    if node.tag == "startEvent" and node.scope and node.scope.scope:
        kind, allowed = ("event", _IN_EVENT_SUBPROCESS) if node.scope.is_event_subprocess else ("embedded", (NONE,))
        place = f"{place} of an {kind} subprocess"
    found = node.event_type or NONE
    if len(node.events) > 1:
        types = ", ".join(event.type for event in node.events)
        text = f"the event has {len(node.events)} event definitions ({types})"
        yield node, text, "Keep one, and draw an event for each of the others."
    elif found in _NOT_RUN:
        yield node, f"{found} events are not run here", f"A {place} may be: {', '.join(allowed)}."
    elif found not in allowed:
        yield node, f"a {place} cannot be of the type {found}", f"It may be: {', '.join(allowed)}."
