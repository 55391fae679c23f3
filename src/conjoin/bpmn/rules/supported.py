"""What we do not run is refused by name: elements, events at their place, extensions of Zeebe."""

from conjoin.bpmn.compile import KINDS
from conjoin.bpmn.document import Document, Found, Node, attribute, local_name, plain
from conjoin.bpmn.names import BPMN, ZEEBE
from conjoin.bpmn.reading.xml import Xml
from conjoin.bpmn.rule import each_node

_OTHER_ELEMENTS = {
    "adHocSubProcess": "Use a subprocess with gateways that say which of its tasks are done.",
    "transaction": "Use a subprocess with an error boundary event.",
    "complexGateway": "Use an exclusive, inclusive or parallel gateway.",
}
_PARTS = {
    "standardLoopCharacteristics": "Draw the loop with an exclusive gateway, or use a multi-instance marker.",
    "eventDefinitionRef": "Write the event definition inside the event.",
}
_ATTRIBUTES = {
    "isForCompensation": ("false", "Compensation is not run: model the way back with ordinary flows."),
    "instantiate": ("false", "Start the process with a message start event."),
    "parallelMultiple": ("false", "Use a parallel gateway and one event for each branch."),
    "eventGatewayType": ("Exclusive", "Only the first event to arrive can win: use a parallel gateway instead."),
    "startQuantity": ("1", "Use a parallel gateway to join tokens."),
    "completionQuantity": ("1", "Use a parallel gateway to split tokens."),
}
"""What each attribute must be, if it is written, and what to do where it is not."""
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
_RUN = frozenset(
    {
        *("taskDefinition", "taskHeaders", "ioMapping", "subscription", "loopCharacteristics", "calledElement"),
        *("script", "userTask", "formDefinition", "assignmentDefinition", "taskSchedule", "priorityDefinition"),
        "versionTag",
    }
)
_READ_OVER = frozenset({"properties", "userTaskForm"})
_LISTENERS = frozenset({"executionListeners", "taskListeners"})
_OTHER_MEANS = {
    "executionListeners": "Put a service task before or after the element.",
    "taskListeners": "Put a service task before or after the user task.",
    "calledDecision": "Decisions (DMN) are not run: give the task a job type, or a FEEL script.",
    "publishMessage": "Give the element a job type, and let its worker publish the message.",
}


@each_node
def supported_elements(document: Document, node: Node) -> Found:
    """An element that we do not run is refused by name, and so is a part of one that would change what it does."""
    if node.tag not in KINDS:
        advice = _OTHER_ELEMENTS.get(node.tag, "Model it with elements that are run.")
        yield node, f"<{node.tag}> is not run here", advice
    for name, advice in _PARTS.items():
        for xml in node.xml.iterchildren(f"{{{BPMN}}}{name}"):
            yield document.part(xml), f"<{name}> is not run here", advice
    for name, (allowed, advice) in _ATTRIBUTES.items():
        value = plain(node.xml.get(name)) or allowed
        if value not in (allowed, {"false": "0"}.get(allowed)):
            yield node, f'{name}="{value}" is not run here', advice


@each_node
def supported_events(document: Document, node: Node) -> Found:
    """Which events may stand where: every event has a type that is run at its place (S5, S6, L13)."""
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


def supported_extensions(document: Document) -> Found:
    """Extensions of Zeebe that would change what runs, and are not run here; and none is written twice."""
    for process in document.processes:
        for extensions in process.xml.iter(f"{{{BPMN}}}extensionElements"):
            seen: set[str] = set()
            for xml in extensions:
                if str(xml.tag).startswith(f"{{{ZEEBE}}}"):
                    yield from _refused(document, xml, seen)
                    seen.add(local_name(xml))


def _refused(document: Document, xml: Xml, seen: set[str]) -> Found:
    name, part, binding = local_name(xml), document.part(xml), attribute(xml, "bindingType")
    if name in seen and name not in _READ_OVER:
        yield part, f"<zeebe:{name}> is written twice", "Keep one of them."
    if name not in _RUN | _READ_OVER and (name not in _LISTENERS or len(xml)):
        advice = _OTHER_MEANS.get(name, "Remove it, if the process is right without it.")
        yield part, f"<zeebe:{name}> is not run here", advice
    elif name == "calledElement" and binding not in (None, "latest"):
        yield part, f'bindingType="{binding}" is not run here', "Only the latest version can be called: use latest."
