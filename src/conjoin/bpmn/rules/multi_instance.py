"""Multi-instance runs over a collection, and what it collects has both a name and a value."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, ModelPart, attribute
from conjoin.bpmn.names import BPMN
from conjoin.errors import Problem

RULE = "multi_instance"


def multi_instance(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        xml = node.xml.find(f"{{{BPMN}}}multiInstanceLoopCharacteristics")
        if xml is not None:
            yield from _loop(document, document.part(xml))


def _loop(document: Document, part: ModelPart) -> Iterator[Problem]:
    if part.xml.find(f"{{{BPMN}}}loopCardinality") is not None:
        text = "<loopCardinality> is not run here"
        yield document.problem(part, RULE, text, "Run over a collection, such as =for i in 1..n return i.")
        return
    loop = part.extension("loopCharacteristics")
    if loop is None or not attribute(loop, "inputCollection"):
        text = "multi-instance without an input collection"
        yield document.problem(part, RULE, text, 'Add <zeebe:loopCharacteristics inputCollection="=items"/>.')
        return
    given = [name for name in ("outputCollection", "outputElement") if attribute(loop, name)]
    if len(given) == 1:
        missing = "outputElement" if given == ["outputCollection"] else "outputCollection"
        text = f"multi-instance has an {given[0]} but no {missing}"
        yield document.problem(document.part(loop), RULE, text, "Write both, or neither.")
