"""A boundary event sits on an activity of its own scope (S6)."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.bpmn.names import ACTIVITIES
from conjoin.errors import Problem

RULE = "boundary_events"
_ATTACH = "Attach it to a task, subprocess or call activity."


def boundary_events(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        if node.tag == "boundaryEvent":
            yield from _attachment(document, node)


def _attachment(document: Document, node: Node) -> Iterator[Problem]:
    host = node.attached_to
    if host is None:
        named = node.xml.get("attachedToRef")
        text = f"it is attached to '{named}', which is no element" if named else "it is attached to nothing"
        yield document.problem(node, RULE, text, _ATTACH)
    elif host.tag not in ACTIVITIES or host.is_event_subprocess:
        yield document.problem(node, RULE, f"it is attached to the {host.words} '{host.id}'", _ATTACH)
    elif host.scope is not node.scope:
        text = f"it is attached to '{host.id}', which is in another scope"
        yield document.problem(node, RULE, text, "Write the event beside the activity that it is attached to.")
