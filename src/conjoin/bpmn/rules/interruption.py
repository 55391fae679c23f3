"""Errors always interrupt, and what repeats never does: for boundary events and event subprocesses."""

from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.names import BPMN
from conjoin.bpmn.rule import each_node


@each_node
def interruption(document: Document, node: Node) -> Found:
    in_event_subprocess = node.tag == "startEvent" and node.scope is not None and node.scope.is_event_subprocess
    if node.tag != "boundaryEvent" and not in_event_subprocess:
        return
    for event in node.events:
        if event.type == "error" and not node.interrupts:
            yield node, "an error event cannot be non-interrupting", "Make it interrupting."
        if event.type == "timer" and node.interrupts and event.xml.find(f"{{{BPMN}}}timeCycle") is not None:
            advice = "Use a duration or a date, or make the event non-interrupting."
            yield node, "a timer that interrupts cannot repeat", advice
