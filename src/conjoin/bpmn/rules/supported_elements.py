"""An element that we do not run is refused by name, and so is a part of one that would change what it does."""

from conjoin.bpmn.compile import KINDS
from conjoin.bpmn.document import Document, Found, Node, plain
from conjoin.bpmn.names import BPMN
from conjoin.bpmn.rule import each_node

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


@each_node
def supported_elements(document: Document, node: Node) -> Found:
    if node.tag not in KINDS:
        yield node, f"<{node.tag}> is not run here", _INSTEAD.get(node.tag, "Model it with elements that are run.")
    for name, advice in _PARTS.items():
        for xml in node.xml.iterchildren(f"{{{BPMN}}}{name}"):
            yield document.part(xml), f"<{name}> is not run here", advice
    for name, (allowed, advice) in _ATTRIBUTES.items():
        value = plain(node.xml.get(name)) or allowed
        if value not in (allowed, {"false": "0"}.get(allowed)):
            yield node, f'{name}="{value}" is not run here', advice
