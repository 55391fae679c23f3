"""Errors always interrupt, and what repeats never does: for boundary events and event subprocesses."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Event, Node
from conjoin.bpmn.names import BPMN
from conjoin.errors import Problem

RULE = "interruption"


def interruption(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        interrupts = _interrupts(node)
        for event in node.events if interrupts is not None else ():
            yield from _of_event(document, node, event, bool(interrupts))


def _interrupts(node: Node) -> bool | None:
    """None for an element that has nothing to interrupt."""
    if node.tag == "boundaryEvent":
        return node.flag("cancelActivity", True)
    if node.tag == "startEvent" and node.scope and node.scope.is_event_subprocess:
        return node.flag("isInterrupting", True)
    return None


def _of_event(document: Document, node: Node, event: Event, interrupts: bool) -> Iterator[Problem]:
    if event.type == "error" and not interrupts:
        text = "an error event cannot be non-interrupting"
        yield document.problem(node, RULE, text, "Make it interrupting.")
    if event.type == "timer" and interrupts and event.xml.find(f"{{{BPMN}}}timeCycle") is not None:
        text = "a timer that interrupts cannot repeat"
        yield document.problem(node, RULE, text, "Use a duration or a date, or make the event non-interrupting.")
