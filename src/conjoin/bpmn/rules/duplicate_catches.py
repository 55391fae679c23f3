"""No two events that wait together in one place may hear the same thing (S4, I3, L14).

Names are compared as they are written, so two different expressions may well come to the same name (I5).
"""

from collections.abc import Iterator, Sequence

from conjoin.bpmn.document import Document, Node
from conjoin.errors import Problem

RULE = "duplicate_catches"


def duplicate_catches(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        yield from repeated(document, node.boundaries, RULE, f"two boundary events of '{node.id}'")
        yield from _receive_task(document, node)
    for scope in document.scopes:
        starts = [
            start
            for child in scope.children
            if child.is_event_subprocess
            for start in child.children
            if start.tag == "startEvent"
        ]
        yield from repeated(document, starts, RULE, f"two event subprocesses of '{scope.id}'")


def _receive_task(document: Document, task: Node) -> Iterator[Problem]:
    name = task.caught.name if task.tag == "receiveTask" and task.caught else None
    for boundary in task.boundaries:
        if name and boundary.caught and boundary.caught.name == name:
            text = f"it waits for the same message '{name}' as the receive task '{task.id}' that it is attached to"
            yield document.problem(boundary, RULE, text, "Give one of them another message.")


def repeated(document: Document, nodes: Sequence[Node], rule: str, where: str) -> Iterator[Problem]:
    """A problem for each event that hears what one before it hears."""
    seen: set[tuple[str, str | None]] = set()
    for node in nodes:
        heard = _heard(document, node)
        if heard in seen:
            kind, name = heard
            what = f"the same {kind} '{name}'" if name is not None else "every error"
            text = f"{where} wait for {what}"
            yield document.problem(node, rule, text, f"Give one of them another {kind}.")
        elif heard:
            seen.add(heard)


def _heard(document: Document, node: Node) -> tuple[str, str | None] | None:
    """What an event listens to, as a pair of kind and name; None for what may well be there twice."""
    event = node.event
    if event and event.type == "message" and event.message and event.message.name:
        return "message", event.message.name
    if event and event.type == "signal":
        signal = document.referred(event.xml, "signalRef")
        return ("signal", signal.name) if signal and signal.name else None
    if event and event.type == "error":
        error = document.referred(event.xml, "errorRef")
        return "error", (error.xml.get("errorCode") or None) if error else None
    return None
