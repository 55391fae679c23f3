"""The outline of a file: ids, a process that runs, where scopes begin, and the flows between elements."""

from conjoin.bpmn.document import Document, Found, Node, SequenceFlow, plain
from conjoin.bpmn.names import BPMN, BPMN_DIAGRAM, WORDS
from conjoin.bpmn.rule import each_node

_CHOOSING = ("exclusiveGateway", "inclusiveGateway")


def element_ids(document: Document) -> Found:
    """Every element that can be talked about has an id, and no id is used twice in a file."""
    for part in (*document.processes, *document.nodes, *document.flows):
        if not part.id:
            yield part, f"the {WORDS.get(part.tag, part.tag)} has no id", "Give it an id of its own."
    first: dict[str, int] = {}
    for xml, line in document.tree.lines.items():
        identifier = xml.get("id")
        if not identifier or not str(xml.tag).startswith((f"{{{BPMN}}}", f"{{{BPMN_DIAGRAM}}}")):
            continue
        if identifier in first:
            text = f"the id '{identifier}' is already used on line {first[identifier]}"
            yield document.part(xml), text, "Give one of the two another id."
        first.setdefault(identifier, line)


def executable_process(document: Document) -> Found:
    """A file holds at least one process that is meant to be run."""
    if not document.processes:
        advice = 'Mark the process that should run with isExecutable="true".'
        yield document.root, "no process in the file is executable", advice


def start_events(document: Document) -> Found:
    """Every scope knows where it begins: S9 for a process, L13 and S5 for what is inside."""
    for scope in document.scopes:
        starts = scope.starts
        if scope.scope is None:
            if not starts:
                yield scope, "the process has no start event", "Add one."
            for extra in [start for start in starts if not start.events][1:]:
                text = "the process has a second none start event"
                yield extra, text, "Keep one: a created instance must know where to begin."
        elif scope.tag == "subProcess" and len(starts) != 1:
            text = f"the {scope.words} has {len(starts) or 'no'} start event{'s' if len(starts) > 1 else ''}"
            yield scope, text, "Give it exactly one."


def flow_ends(document: Document) -> Found:
    """Sequence flows join elements that exist, inside one scope, and leave alone what takes part in no flow."""
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


@each_node
def gateway_flows(document: Document, node: Node) -> Found:
    """Conditions stand where a choice is made: on flows of exclusive and inclusive gateways, but the default flow."""
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
