"""Conditions stand where a choice is made: on flows of exclusive and inclusive gateways, never on a default flow."""

from conjoin.bpmn.document import Document, Found, Node, plain
from conjoin.bpmn.rule import each_node

_CHOOSING = ("exclusiveGateway", "inclusiveGateway")


@each_node
def gateway_flows(document: Document, node: Node) -> Found:
    if node.tag in _CHOOSING:
        yield from _of_choice(node)
        return
    for flow in node.outgoing:
        if flow.condition is not None:
            text = f"the flow has a condition, but it leaves the {node.words} '{node.id}'"
            advice = "Put an exclusive or inclusive gateway in front of it: only there are conditions looked at."
            yield flow, text, advice


def _of_choice(gateway: Node) -> Found:
    default = plain(gateway.xml.get("default"))
    if default and default not in [flow.id for flow in gateway.outgoing]:
        text = f"its default flow '{default}' does not leave it"
        yield gateway, text, "Choose one of the gateway's own outgoing flows."
    for flow in gateway.outgoing:
        if flow.id == default and flow.condition is not None:
            advice = "Remove the condition: a default flow is taken when no other is."
            yield flow, "the default flow has a condition", advice
        elif flow.id != default and flow.condition is None and len(gateway.outgoing) > 1:
            text = f"the flow leaves the {gateway.words} '{gateway.id}' without a condition"
            yield flow, text, "Give it a condition, or make it the default flow."
