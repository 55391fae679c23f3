"""A boundary event sits on an activity of its own scope (S6)."""

from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.names import ACTIVITIES
from conjoin.bpmn.rule import each_node

_ATTACH = "Attach it to a task, subprocess or call activity."


@each_node
def boundary_events(document: Document, node: Node) -> Found:
    host = node.attached_to
    if node.tag != "boundaryEvent":
        return
    if host is None:
        named = node.xml.get("attachedToRef")
        yield (
            node,
            f"it is attached to '{named}', which is no element" if named else "it is attached to nothing",
            _ATTACH,
        )
    elif host.tag not in ACTIVITIES or host.is_event_subprocess:
        yield node, f"it is attached to the {host.words} '{host.id}'", _ATTACH
    elif host.scope is not node.scope:
        text = f"it is attached to '{host.id}', which is in another scope"
        yield node, text, "Write the event beside the activity that it is attached to."
