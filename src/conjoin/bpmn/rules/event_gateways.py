"""An event-based gateway waits for two or more events that are its own, each with another name (K7)."""

from conjoin.bpmn.document import Document, Found, Node
from conjoin.bpmn.rule import each_node
from conjoin.bpmn.rules.duplicate_catches import repeated

_BRANCHES = ("message", "timer", "signal")


@each_node
def event_gateways(document: Document, node: Node) -> Found:
    if node.tag != "eventBasedGateway":
        return
    if len(node.outgoing) < 2:
        text = f"the event-based gateway has {len(node.outgoing) or 'no'} outgoing flow"
        yield node, text, "Give it two or more, each to a catch event."
    for target in node.targets:
        if target.tag != "intermediateCatchEvent" or target.event_type not in _BRANCHES:
            text = f"the event-based gateway leads to the {target.words} '{target.id}'"
            yield node, text, "Lead it to message, timer or signal catch events only."
        elif any(flow.source is not node for flow in target.incoming):
            text = f"'{target.id}' behind the event-based gateway has other incoming flows"
            yield node, text, "Let only the gateway lead to it, or draw a second event."
    yield from repeated(node.targets, f"two branches of the gateway '{node.id}'")
