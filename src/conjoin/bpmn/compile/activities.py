"""What activities do, from their `zeebe:` extensions: jobs, scripts, calls, loops, mappings, user tasks."""

from collections.abc import Mapping
from typing import Any

from conjoin.bpmn.document import ModelPart, Node, attribute, read_flag, text_of
from conjoin.bpmn.expressions import expression, number_expression, stored_expression, variable_of
from conjoin.bpmn.names import BPMN, ZEEBE
from conjoin.bpmn.reading.xml import Xml
from conjoin.kernel.plan import CallDefinition, JobDefinition, Literal, Loop, ScriptDefinition, VariableMapping

USER_TASK_JOB = "io.camunda.zeebe:userTask"
FORM_KEY_HEADER = "io.camunda.zeebe:formKey"
DEFAULT_RETRIES = "3"

_USER_TASK_EXPRESSIONS = {
    "assignmentDefinition": ("assignee", "candidateGroups", "candidateUsers"),
    "taskSchedule": ("dueDate", "followUpDate"),
    "priorityDefinition": ("priority",),
}
_FORM_ATTRIBUTES = ("formKey", "formId", "externalReference", "bindingType")


def compile_job(node: Node) -> JobDefinition | None:
    definition = node.extension("taskDefinition")
    if definition is not None:
        return JobDefinition(
            type=expression(attribute(definition, "type") or ""),
            retries=number_expression(attribute(definition, "retries") or DEFAULT_RETRIES),
            headers=_headers(node),
        )
    if node.tag == "userTask" and node.extension("userTask") is None:
        return JobDefinition(Literal(USER_TASK_JOB), Literal(1), _headers(node))
    return None


def _headers(node: Node) -> Mapping[str, str]:
    found = node.extension("taskHeaders")
    entries = () if found is None else found.iterchildren(f"{{{ZEEBE}}}header")
    headers = {attribute(entry, "key") or "": attribute(entry, "value") or "" for entry in entries}
    form = node.extension("formDefinition")
    if form is not None and attribute(form, "formKey"):
        headers[FORM_KEY_HEADER] = attribute(form, "formKey") or ""
    return headers


def compile_script(node: Node) -> ScriptDefinition | None:
    script = node.extension("script")
    if script is None:
        return None
    return ScriptDefinition(
        stored_expression(attribute(script, "expression") or ""), attribute(script, "resultVariable") or ""
    )


def compile_call(node: Node) -> CallDefinition | None:
    called = node.extension("calledElement")
    if called is None:
        return None
    return CallDefinition(
        process_id=expression(attribute(called, "processId") or ""),
        propagate_all_parent_variables=read_flag(attribute(called, "propagateAllParentVariables"), True),
        propagate_all_child_variables=read_flag(attribute(called, "propagateAllChildVariables"), True),
    )


def compile_loop(node: Node) -> Loop | None:
    xml = node.xml.find(f"{{{BPMN}}}multiInstanceLoopCharacteristics")
    if xml is None:
        return None
    loop = ModelPart(xml, node.line).extension("loopCharacteristics")
    output = attribute(loop, "outputElement")
    enough = text_of(xml.find(f"{{{BPMN}}}completionCondition"))
    return Loop(
        sequential=read_flag(xml.get("isSequential"), False),
        collection=stored_expression(attribute(loop, "inputCollection") or ""),
        input_element=attribute(loop, "inputElement") or None,
        output_collection=attribute(loop, "outputCollection") or None,
        output_element=stored_expression(output) if output else None,
        output_variable=variable_of(output) if output else None,
        completion_condition=expression(enough) if enough else None,
    )


def compile_mappings(node: Node, name: str) -> tuple[VariableMapping, ...]:
    """The mappings of one name, `input` or `output`, in the order in which they are written."""
    return tuple(
        VariableMapping(
            stored_expression(attribute(xml, "source") or ""), tuple((attribute(xml, "target") or "").split("."))
        )
        for xml in mapping_elements(node, name)
    )


def mapping_elements(node: Node, name: str) -> list[Xml]:
    mapping = node.extension("ioMapping")
    return [] if mapping is None else list(mapping.iterchildren(f"{{{ZEEBE}}}{name}"))


def compile_properties(node: Node) -> Mapping[str, Any]:
    """What a user task says to people: expressions, and the form as it is written."""
    if node.tag != "userTask":
        return {}
    found: dict[str, Any] = {}
    for extension, names in _USER_TASK_EXPRESSIONS.items():
        xml = node.extension(extension)
        texts = {} if xml is None else {name: attribute(xml, name) for name in names}
        found.update({name: expression(text) for name, text in texts.items() if text})
    form = node.extension("formDefinition")
    texts = {} if form is None else {name: attribute(form, name) for name in _FORM_ATTRIBUTES}
    found.update({name: text for name, text in texts.items() if text})
    return found
