"""Multi-instance runs over a collection, and what it collects has both a name and a value."""

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.names import BPMN
from conjoin.bpmn.rule import each_node


@each_node
def multi_instance(document: Document, node: Node) -> Found:
    if node.loop is None:
        return
    part = document.part(node.loop)
    loop = part.extension("loopCharacteristics")
    if part.xml.find(f"{{{BPMN}}}loopCardinality") is not None:
        advice = "Run over a collection, such as =for i in 1..n return i."
        yield part, "<loopCardinality> is not run here", advice
    elif loop is None or not attribute(loop, "inputCollection"):
        advice = 'Add <zeebe:loopCharacteristics inputCollection="=items"/>.'
        yield part, "multi-instance without an input collection", advice
    else:
        names = ("outputCollection", "outputElement")
        given, missing = [it for it in names if attribute(loop, it)], [it for it in names if not attribute(loop, it)]
        if given and missing:
            text = f"multi-instance has an {given[0]} but no {missing[0]}"
            yield document.part(loop), text, "Write both, or neither."
