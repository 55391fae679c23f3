"""Sequence flows join elements that exist, inside one scope, and leave alone what takes part in no flow."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node, SequenceFlow
from conjoin.errors import Problem

RULE = "flow_ends"


def flow_ends(document: Document) -> Iterator[Problem]:
    for scope in document.scopes:
        for flow in scope.flows:
            yield from _missing(document, flow)
            yield from _crossing(document, flow, scope)
    for node in document.nodes:
        yield from _in_the_way(document, node)


def _missing(document: Document, flow: SequenceFlow) -> Iterator[Problem]:
    for attribute, end in (("sourceRef", flow.source), ("targetRef", flow.target)):
        if end is None:
            named = flow.xml.get(attribute)
            text = f"its {attribute} '{named}' is no element of the process" if named else f"it has no {attribute}"
            yield document.problem(flow, RULE, text, "Connect both ends of the sequence flow, or delete it.")


def _crossing(document: Document, flow: SequenceFlow, scope: Node) -> Iterator[Problem]:
    if flow.source and flow.target and not (flow.source.scope is flow.target.scope is scope):
        text = f"it leads from '{flow.source.id}' to '{flow.target.id}' across the border of a subprocess"
        advice = "A sequence flow stays inside one scope: end the subprocess, or leave it by a boundary event."
        yield document.problem(flow, RULE, text, advice)


def _in_the_way(document: Document, node: Node) -> Iterator[Problem]:
    """What can be entered or left by no flow."""
    if node.incoming and _takes_no_incoming(node):
        text = f"the {node.words} has an incoming sequence flow"
        yield document.problem(node, RULE, text, f"Remove the flow '{node.incoming[0].id}'.")
    if node.outgoing and _takes_no_outgoing(node):
        text = f"the {node.words} has an outgoing sequence flow"
        yield document.problem(node, RULE, text, f"Remove the flow '{node.outgoing[0].id}'.")


def _takes_no_incoming(node: Node) -> bool:
    is_link = node.tag == "intermediateCatchEvent" and node.event_type == "link"
    return node.tag in ("startEvent", "boundaryEvent") or node.is_event_subprocess or is_link


def _takes_no_outgoing(node: Node) -> bool:
    is_link = node.tag == "intermediateThrowEvent" and node.event_type == "link"
    return node.tag == "endEvent" or node.is_event_subprocess or is_link
