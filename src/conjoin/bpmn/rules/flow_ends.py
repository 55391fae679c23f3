"""Sequence flows join elements that exist, inside one scope, and leave alone what takes part in no flow."""

from conjoin.bpmn.document import Document, Found, Node, SequenceFlow


def flow_ends(document: Document) -> Found:
    for scope in document.scopes:
        for flow in scope.flows:
            yield from _ends(flow, scope)
    for node in document.nodes:
        starts, ends = node.tag in ("startEvent", "boundaryEvent"), node.tag == "endEvent"
        if node.incoming and (starts or node.is_event_subprocess or node.catches_link):
            yield node, f"the {node.words} has an incoming sequence flow", f"Remove the flow '{node.incoming[0].id}'."
        if node.outgoing and (ends or node.is_event_subprocess or node.throws_link):
            yield node, f"the {node.words} has an outgoing sequence flow", f"Remove the flow '{node.outgoing[0].id}'."


def _ends(flow: SequenceFlow, scope: Node) -> Found:
    for attribute, end in (("sourceRef", flow.source), ("targetRef", flow.target)):
        if end is None:
            named = flow.xml.get(attribute)
            text = f"its {attribute} '{named}' is no element of the process" if named else f"it has no {attribute}"
            yield flow, text, "Connect both ends of the sequence flow, or delete it."
    if flow.source and flow.target and not (flow.source.scope is flow.target.scope is scope):
        text = f"it leads from '{flow.source.id}' to '{flow.target.id}' across the border of a subprocess"
        yield flow, text, "A sequence flow stays inside one scope: end the subprocess, or leave it by a boundary event."
