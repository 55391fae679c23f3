"""A call activity says which process it calls."""

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.rule import each_node


@each_node
def calls(document: Document, node: Node) -> Found:
    called = node.extension("calledElement")
    if node.tag == "callActivity" and (called is None or not (attribute(called, "processId") or "").strip()):
        text = "the call activity does not say which process it calls"
        yield node, text, 'Add <zeebe:calledElement processId="..."/>.'
