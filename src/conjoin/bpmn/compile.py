"""Documents to plans: elements that point at each other, every tuple in the order in which the engine walks it.

The orders are Zeebe's, and the reverse of what a reader would guess: outgoing flows and boundary events run from
the last written to the first, event subprocesses from the first to the last. Only what the rules let pass comes here,
so nothing is checked a second time.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.bpmn.document import Document, ModelPart, Node, SequenceFlow, attribute, plain, read_flag, text_of
from conjoin.bpmn.expressions import expression, key_expression, number_expression, stored_expression, variable_of
from conjoin.bpmn.names import BPMN, THROWING, ZEEBE
from conjoin.kernel import plan as p

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
    **dict.fromkeys(("serviceTask", "sendTask", "businessRuleTask", "scriptTask", "userTask"), "job_task"),
    "receiveTask": "receive_task",
    **dict.fromkeys(("manualTask", "task"), "pass_task"),
}
TIMERS = {"timeDate": "date", "timeDuration": "duration", "timeCycle": "cycle"}
USER_TASK_JOB = "io.camunda.zeebe:userTask"
FORM_KEY_HEADER = "io.camunda.zeebe:formKey"
DEFAULT_RETRIES = "3"

_CONDITIONAL = ("exclusive_gateway", "inclusive_gateway")
_USER_TASK_EXPRESSIONS = {
    "assignmentDefinition": ("assignee", "candidateGroups", "candidateUsers"),
    "taskSchedule": ("dueDate", "followUpDate"),
    "priorityDefinition": ("priority",),
}
_FORM_ATTRIBUTES = ("formKey", "formId", "externalReference", "bindingType")


def compile_process(document: Document, process: Node) -> p.Plan:
    elements = {node: _element(document, node) for node in (process, *process.within())}
    flows = {line: _flow(line, elements) for scope in elements for line in scope.flows}
    for node, element in elements.items():
        _nest(node, element, elements)
        _connect(node, element, flows)
    for element in elements.values():
        _join_links(element)
    root = elements[process]
    inner = [element for element in elements.values() if element is not root]
    return p.Plan(
        process_id=process.id,
        root=root,
        elements={element.id: element for element in inner},
        starts=tuple(child for child in root.children if child.kind == "start_event" and child.event),
        waits=tuple(e for e in inner if isinstance(e.event, p.MessageDefinition) and e.event.key),
        name=process.name,
        version_tag=attribute(process.extension("versionTag"), "value"),
    )


def _element(document: Document, node: Node) -> p.Element:
    return p.Element(
        id=node.id,
        kind=_kind(node),
        name=node.name,
        event=_event(document, node),
        inputs=_mappings(node, "input"),
        outputs=_mappings(node, "output"),
        interrupting=node.interrupts,
        loop=_loop(node),
        job=_job(node),
        script=_script(node),
        call=_call(node),
        properties=_properties(node),
    )


def _kind(node: Node) -> str:
    if node.is_event_subprocess:
        return "event_subprocess"
    if node.extension("script") is not None:
        return "script_task"
    if node.tag == "userTask" and node.extension("userTask") is not None:
        return "user_task"
    return KINDS[node.tag]


def _nest(node: Node, element: p.Element, elements: dict[Node, p.Element]) -> None:
    """Ties an element to its scope, its children and its boundary events."""
    element.scope = elements[node.scope] if node.scope else None
    element.children = tuple(elements[child] for child in node.children)
    element.event_subprocesses = tuple(elements[child] for child in node.children if child.is_event_subprocess)
    element.boundaries = tuple(elements[boundary] for boundary in reversed(node.boundaries))
    element.attached_to = elements[node.attached_to] if node.attached_to else None
    element.start = next((elements[start] for start in node.starts if node.scope or not start.events), None)


def _flow(line: SequenceFlow, elements: dict[Node, p.Element]) -> p.Flow:
    assert line.source is not None
    assert line.target is not None
    condition = expression(line.condition) if line.condition else None
    return p.Flow(line.id, elements[line.source], elements[line.target], condition)


def _connect(node: Node, element: p.Element, flows: dict[SequenceFlow, p.Flow]) -> None:
    """Hangs its flows on an element: out of it the last written first, a gateway's default flow apart."""
    outgoing = [flows[line] for line in reversed(node.outgoing)]
    element.incoming = tuple(flows[line] for line in node.incoming)
    if element.kind in _CONDITIONAL:
        default = plain(node.xml.get("default"))
        element.default = next((flow for flow in outgoing if flow.id == default), None)
    element.outgoing = tuple(flow for flow in outgoing if flow is not element.default)


def _join_links(scope: p.Element) -> None:
    """Lets each link throw event of a scope know where it leads."""
    caught = {child.event: child for child in scope.children if child.kind == "catch_event"}
    for child in scope.children:
        if child.kind == "throw_event" and isinstance(child.event, p.LinkDefinition):
            child.link_target = caught.get(child.event)


def _event(document: Document, node: Node) -> p.EventDefinition | None:
    """What an element catches or throws. A message that is thrown is a job, so there is nothing to listen to."""
    event = node.event
    if node.caught:
        return _message(document, node, node.caught.name or "")
    if event is None or (event.type == "message" and node.tag in THROWING):
        return None
    if event.type == "timer":
        texts = ((kind, text_of(event.xml.find(f"{{{BPMN}}}{tag}"))) for tag, kind in TIMERS.items())
        return next(p.TimerDefinition(kind, expression(text)) for kind, text in texts if text is not None)
    if event.type == "signal":
        assert event.refers_to is not None
        return p.SignalDefinition(_name(node, event.refers_to.name or ""))
    if event.type == "error":
        code = event.refers_to.xml.get("errorCode") if event.refers_to else None
        return p.ErrorDefinition(expression(code) if code else None)
    return p.LinkDefinition(event.name or "") if event.type == "link" else p.TerminateDefinition()


def _message(document: Document, node: Node, name: str) -> p.MessageDefinition:
    key = node.correlation_key
    if node.starts_process:
        return p.MessageDefinition(_name(node, name), None)
    if key is None:
        return p.MessageDefinition(expression(name), None, document.policies.of(name).match)
    return p.MessageDefinition(expression(name), key_expression(key))


def _name(node: Node, name: str) -> p.Expression:
    """Nothing is known when an event starts a process, so the name that starts it is a constant."""
    return p.Literal(expression(name)({}, 0), name) if node.starts_process else expression(name)


def _job(node: Node) -> p.JobDefinition | None:
    definition = node.extension("taskDefinition")
    if definition is not None:
        return p.JobDefinition(
            type=expression(attribute(definition, "type") or ""),
            retries=number_expression(attribute(definition, "retries") or DEFAULT_RETRIES),
            headers=_headers(node),
        )
    if node.tag == "userTask" and node.extension("userTask") is None:
        return p.JobDefinition(p.Literal(USER_TASK_JOB), p.Literal(1), _headers(node))
    return None


def _headers(node: Node) -> Mapping[str, str]:
    found = node.extension("taskHeaders")
    entries = () if found is None else found.iterchildren(f"{{{ZEEBE}}}header")
    headers = {attribute(entry, "key") or "": attribute(entry, "value") or "" for entry in entries}
    form_key = attribute(node.extension("formDefinition"), "formKey")
    return {**headers, FORM_KEY_HEADER: form_key} if form_key else headers


def _script(node: Node) -> p.ScriptDefinition | None:
    script = node.extension("script")
    if script is None:
        return None
    result = attribute(script, "resultVariable") or ""
    return p.ScriptDefinition(stored_expression(attribute(script, "expression") or ""), result)


def _call(node: Node) -> p.CallDefinition | None:
    called = node.extension("calledElement")
    if called is None:
        return None
    return p.CallDefinition(
        process_id=expression(attribute(called, "processId") or ""),
        propagate_all_parent_variables=read_flag(attribute(called, "propagateAllParentVariables"), True),
        propagate_all_child_variables=read_flag(attribute(called, "propagateAllChildVariables"), True),
    )


def _loop(node: Node) -> p.Loop | None:
    xml = node.loop
    if xml is None:
        return None
    loop = ModelPart(xml, node.line).extension("loopCharacteristics")
    output = attribute(loop, "outputElement")
    enough = text_of(xml.find(f"{{{BPMN}}}completionCondition"))
    return p.Loop(
        sequential=read_flag(xml.get("isSequential"), False),
        collection=stored_expression(attribute(loop, "inputCollection") or ""),
        input_element=attribute(loop, "inputElement") or None,
        output_collection=attribute(loop, "outputCollection") or None,
        output_element=stored_expression(output) if output else None,
        output_variable=variable_of(output) if output else None,
        completion_condition=expression(enough) if enough else None,
    )


def _mappings(node: Node, name: str) -> tuple[p.VariableMapping, ...]:
    written = [(attribute(xml, "source") or "", attribute(xml, "target") or "") for xml in node.mappings(name)]
    return tuple(p.VariableMapping(stored_expression(source), tuple(target.split("."))) for source, target in written)


def _properties(node: Node) -> Mapping[str, Any]:
    """What a user task says to people: expressions, and the form as it is written."""
    if node.tag != "userTask":
        return {}
    found: dict[str, Any] = {}
    for extension, names in _USER_TASK_EXPRESSIONS.items():
        xml = node.extension(extension)
        found |= {name: expression(text) for name in names if (text := attribute(xml, name))}
    form = node.extension("formDefinition")
    return found | {name: text for name in _FORM_ATTRIBUTES if (text := attribute(form, name))}
