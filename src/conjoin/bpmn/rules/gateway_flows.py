"""Conditions stand where a choice is made: on flows of exclusive and inclusive gateways, never on a default flow."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node, plain
from conjoin.errors import Problem

RULE = "gateway_flows"
_CHOOSING = ("exclusiveGateway", "inclusiveGateway")


def gateway_flows(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        if node.tag in _CHOOSING:
            yield from _of_choice(document, node)
        else:
            yield from _of_other(document, node)


def _of_choice(document: Document, gateway: Node) -> Iterator[Problem]:
    default = plain(gateway.xml.get("default"))
    if default and default not in [flow.id for flow in gateway.outgoing]:
        text = f"its default flow '{default}' does not leave it"
        yield document.problem(gateway, RULE, text, "Choose one of the gateway's own outgoing flows.")
    for flow in gateway.outgoing:
        if flow.id == default and flow.condition is not None:
            text = "the default flow has a condition"
            yield document.problem(flow, RULE, text, "Remove the condition: a default flow is taken when no other is.")
        elif flow.id != default and flow.condition is None and len(gateway.outgoing) > 1:
            text = f"the flow leaves the {gateway.words} '{gateway.id}' without a condition"
            yield document.problem(flow, RULE, text, "Give it a condition, or make it the default flow.")


def _of_other(document: Document, node: Node) -> Iterator[Problem]:
    for flow in node.outgoing:
        if flow.condition is not None:
            text = f"the flow has a condition, but it leaves the {node.words} '{node.id}'"
            advice = "Put an exclusive or inclusive gateway in front of it: only there are conditions looked at."
            yield document.problem(flow, RULE, text, advice)
