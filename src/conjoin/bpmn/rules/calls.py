"""A call activity says which process it calls."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, attribute
from conjoin.errors import Problem

RULE = "calls"


def calls(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        called = node.extension("calledElement")
        if node.tag != "callActivity" or (called is not None and (attribute(called, "processId") or "").strip()):
            continue
        text = "the call activity does not say which process it calls"
        yield document.problem(node, RULE, text, 'Add <zeebe:calledElement processId="..."/>.')
