"""No two events that wait together in one place may hear the same thing (S4, I3, L14).

Names are compared as they are written, so two different expressions may well come to the same name (I5).
"""

from collections.abc import Sequence

from conjoin.bpmn.document import Document, Found, Node


def duplicate_catches(document: Document) -> Found:
    for node in document.nodes:
        yield from repeated(node.boundaries, f"two boundary events of '{node.id}'")
        name = node.caught.name if node.tag == "receiveTask" and node.caught else None
        for boundary in node.boundaries:
            if name and boundary.caught and boundary.caught.name == name:
                text = f"it waits for the same message '{name}' as the receive task '{node.id}' that it is attached to"
                yield boundary, text, "Give one of them another message."
    for scope in document.scopes:
        starts = [start for child in scope.children if child.is_event_subprocess for start in child.starts]
        yield from repeated(starts, f"two event subprocesses of '{scope.id}'")


def repeated(nodes: Sequence[Node], where: str) -> Found:
    """A problem for each event that hears what one before it hears."""
    seen: set[tuple[str, str | None]] = set()
    for node in nodes:
        heard = _heard(node)
        if heard in seen:
            kind, name = heard
            what = f"the same {kind} '{name}'" if name is not None else "every error"
            yield node, f"{where} wait for {what}", f"Give one of them another {kind}."
        elif heard:
            seen.add(heard)


def _heard(node: Node) -> tuple[str, str | None] | None:
    """What an event listens to, as a pair of kind and name; None for what may well be there twice."""
    event = node.event
    if event and event.type == "error":
        return "error", (event.refers_to.xml.get("errorCode") or None) if event.refers_to else None
    named = (event.message if event.type == "message" else event.refers_to) if event else None
    return (event.type, named.name) if event and named and named.name else None
