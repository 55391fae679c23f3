"""An error that is thrown has a code; one that is caught has a fixed code, or none for every error."""

from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.expressions import is_expression
from conjoin.bpmn.rule import each_node


@each_node
def error_codes(document: Document, node: Node) -> Found:
    for event in node.events:
        if event.type != "error":
            continue
        named = event.xml.get("errorRef")
        code = event.refers_to.xml.get("errorCode") if event.refers_to else None
        if node.tag == "endEvent":
            if not code:
                yield node, "the error end event has no error code", "Choose an error that has a code."
            continue
        if named and event.refers_to is None:
            yield node, f"its error '{named}' does not exist", "Choose an error, or none to catch every error."
        if is_expression(code or ""):
            text = "the code of an error that is caught cannot be an expression"
            yield node, text, "Write the code itself, or none to catch every error."
