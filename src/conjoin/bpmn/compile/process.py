"""A process to its plan: elements that point at each other, every tuple in the order in which the engine walks it.

The orders are Zeebe's, and the reverse of what a reader would guess: outgoing flows and boundary events run from
the last written to the first, event subprocesses from the first to the last.
"""

from conjoin.bpmn.compile.activities import (
    compile_call,
    compile_job,
    compile_loop,
    compile_mappings,
    compile_properties,
    compile_script,
)
from conjoin.bpmn.compile.events import compile_event
from conjoin.bpmn.document import Document, Node, attribute, plain
from conjoin.bpmn.document import SequenceFlow as Line
from conjoin.bpmn.expressions import expression
from conjoin.kernel.plan import Element, Flow, LinkDefinition, MessageDefinition, Plan

KINDS = {
    "process": "process",
    "subProcess": "subprocess",
    "callActivity": "call_activity",
    "startEvent": "start_event",
    "endEvent": "end_event",
    "intermediateCatchEvent": "catch_event",
    "intermediateThrowEvent": "throw_event",
    "boundaryEvent": "boundary_event",
    "exclusiveGateway": "exclusive_gateway",
    "parallelGateway": "parallel_gateway",
    "inclusiveGateway": "inclusive_gateway",
    "eventBasedGateway": "event_gateway",
    "serviceTask": "job_task",
    "sendTask": "job_task",
    "businessRuleTask": "job_task",
    "scriptTask": "job_task",
    "userTask": "job_task",
    "receiveTask": "receive_task",
    "manualTask": "pass_task",
    "task": "pass_task",
}
_CONDITIONAL = ("exclusive_gateway", "inclusive_gateway")


def compile_process(document: Document, process: Node) -> Plan:
    elements = {node: _element(document, node) for node in (process, *process.within())}
    flows = {line: _flow(line, elements) for scope in elements for line in scope.flows}
    for node, element in elements.items():
        _nest(node, element, elements)
        _connect(node, element, flows)
    for element in elements.values():
        _join_links(element)
    return _plan(process, elements)


def _element(document: Document, node: Node) -> Element:
    return Element(
        id=node.id,
        kind=_kind(node),
        name=node.name,
        event=compile_event(document, node),
        inputs=compile_mappings(node, "input"),
        outputs=compile_mappings(node, "output"),
        interrupting=_interrupts(node),
        loop=compile_loop(node),
        job=compile_job(node),
        script=compile_script(node),
        call=compile_call(node),
        properties=compile_properties(node),
    )


def _kind(node: Node) -> str:
    if node.is_event_subprocess:
        return "event_subprocess"
    if node.extension("script") is not None:
        return "script_task"
    if node.tag == "userTask" and node.extension("userTask") is not None:
        return "user_task"
    return KINDS[node.tag]


def _interrupts(node: Node) -> bool:
    if node.tag == "boundaryEvent":
        return node.flag("cancelActivity", True)
    return node.tag != "startEvent" or node.flag("isInterrupting", True)


def _nest(node: Node, element: Element, elements: dict[Node, Element]) -> None:
    """Ties an element to its scope, its children and its boundary events."""
    element.scope = elements[node.scope] if node.scope else None
    element.children = tuple(elements[child] for child in node.children)
    element.event_subprocesses = tuple(elements[child] for child in node.children if child.is_event_subprocess)
    element.boundaries = tuple(elements[boundary] for boundary in reversed(node.boundaries))
    element.attached_to = elements[node.attached_to] if node.attached_to else None
    starts = [child for child in node.children if child.tag == "startEvent"]
    if node.scope:
        element.start = elements[starts[0]] if starts else None
    else:
        element.start = next((elements[start] for start in starts if not start.events), None)


def _flow(line: Line, elements: dict[Node, Element]) -> Flow:
    assert line.source is not None
    assert line.target is not None
    condition = expression(line.condition) if line.condition else None
    return Flow(line.id, elements[line.source], elements[line.target], condition)


def _connect(node: Node, element: Element, flows: dict[Line, Flow]) -> None:
    """Hangs its flows on an element: out of it the last written first, a gateway's default flow apart."""
    outgoing = [flows[line] for line in reversed(node.outgoing)]
    element.incoming = tuple(flows[line] for line in node.incoming)
    if element.kind in _CONDITIONAL:
        default = plain(node.xml.get("default"))
        element.default = next((flow for flow in outgoing if flow.id == default), None)
    element.outgoing = tuple(flow for flow in outgoing if flow is not element.default)


def _join_links(scope: Element) -> None:
    """Lets each link throw event of a scope know where it leads."""
    caught = {child.event: child for child in scope.children if child.kind == "catch_event"}
    for child in scope.children:
        if child.kind == "throw_event" and isinstance(child.event, LinkDefinition):
            child.link_target = caught.get(child.event)


def _plan(process: Node, elements: dict[Node, Element]) -> Plan:
    root = elements[process]
    inner = [element for element in elements.values() if element is not root]
    version_tag = process.extension("versionTag")
    return Plan(
        process_id=process.id,
        root=root,
        elements={element.id: element for element in inner},
        starts=tuple(child for child in root.children if child.kind == "start_event" and child.event),
        waits=tuple(e for e in inner if isinstance(e.event, MessageDefinition) and e.event.key),
        name=process.name,
        version_tag=None if version_tag is None else attribute(version_tag, "value"),
    )
