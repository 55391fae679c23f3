"""An element that we do not run is refused by name, and so is a part of one that would change what it does."""

from collections.abc import Iterator

from conjoin.bpmn.compile.process import KINDS
from conjoin.bpmn.document import Document, Node, plain
from conjoin.bpmn.names import BPMN
from conjoin.errors import Problem

RULE = "supported_elements"

_INSTEAD = {
    "adHocSubProcess": "Use a subprocess with gateways that say which of its tasks are done.",
    "transaction": "Use a subprocess with an error boundary event.",
    "complexGateway": "Use an exclusive, inclusive or parallel gateway.",
}
_PARTS = {
    "standardLoopCharacteristics": "Draw the loop with an exclusive gateway, or use a multi-instance marker.",
    "eventDefinitionRef": "Write the event definition inside the event.",
}
_ATTRIBUTES = {
    "isForCompensation": ("false", "Compensation is not run: model the way back with ordinary flows."),
    "instantiate": ("false", "Start the process with a message start event."),
    "parallelMultiple": ("false", "Use a parallel gateway and one event for each branch."),
    "eventGatewayType": ("Exclusive", "Only the first event to arrive can win: use a parallel gateway instead."),
    "startQuantity": ("1", "Use a parallel gateway to join tokens."),
    "completionQuantity": ("1", "Use a parallel gateway to split tokens."),
}
"""What each attribute must be, if it is written, and what to do where it is not."""


def supported_elements(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        if node.tag not in KINDS:
            advice = _INSTEAD.get(node.tag, "Model it with elements that are run.")
            yield document.problem(node, RULE, f"<{node.tag}> is not run here", advice)
        yield from _parts(document, node)
        yield from _attributes(document, node)


def _parts(document: Document, node: Node) -> Iterator[Problem]:
    for name, advice in _PARTS.items():
        for xml in node.xml.iterchildren(f"{{{BPMN}}}{name}"):
            yield document.problem(document.part(xml), RULE, f"<{name}> is not run here", advice)


def _attributes(document: Document, node: Node) -> Iterator[Problem]:
    for name, (allowed, advice) in _ATTRIBUTES.items():
        value = plain(node.xml.get(name)) or allowed
        if value not in (allowed, {"false": "0"}.get(allowed)):
            yield document.problem(node, RULE, f'{name}="{value}" is not run here', advice)
