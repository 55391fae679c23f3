"""A signal event names a signal that exists and has a name."""

from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.rule import each_node


@each_node
def signal_names(document: Document, node: Node) -> Found:
    if not node.event or node.event.type != "signal":
        return
    signal = node.event.refers_to
    if signal is None or signal.tag != "signal":
        yield node, f"the {node.words} names no signal", "Choose a signal for it."
    elif not (signal.name or "").strip():
        yield signal, f"the signal of '{node.id}' has no name", "Give it a name."
