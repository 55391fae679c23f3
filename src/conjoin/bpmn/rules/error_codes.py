"""An error that is thrown has a code; one that is caught has a fixed code, or none for every error."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Event, Node
from conjoin.bpmn.expressions import is_expression
from conjoin.errors import Problem

RULE = "error_codes"


def error_codes(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        for event in node.events:
            if event.type == "error":
                yield from _thrown(document, node, event) if node.tag == "endEvent" else _caught(document, node, event)


def _code(document: Document, event: Event) -> str | None:
    error = document.referred(event.xml, "errorRef")
    return error.xml.get("errorCode") if error else None


def _thrown(document: Document, node: Node, event: Event) -> Iterator[Problem]:
    if not _code(document, event):
        yield document.problem(node, RULE, "the error end event has no error code", "Choose an error that has a code.")


def _caught(document: Document, node: Node, event: Event) -> Iterator[Problem]:
    named = event.xml.get("errorRef")
    if named and document.referred(event.xml, "errorRef") is None:
        text = f"its error '{named}' does not exist"
        yield document.problem(node, RULE, text, "Choose an error, or none to catch every error.")
    if is_expression(_code(document, event) or ""):
        text = "the code of an error that is caught cannot be an expression"
        yield document.problem(node, RULE, text, "Write the code itself, or none to catch every error.")
