"""Small models for tests: a process around a few elements, written as people write XML."""

import textwrap

from conjoin.bpmn import Model, read_model
from conjoin.kernel.plan import Element

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
             xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:fleans="https://fleans.io/schema/bpmn/1.0"
             xmlns:old_fleans="http://fleans.io/schema/bpmn/fleans" id="definitions" targetNamespace="urn:conjoin:test">
"""
BEGIN = '<startEvent id="begin"/>\n'
END = '<endEvent id="end"/>\n'
PAID = """
<message id="paid_message" name="paid">
  <extensionElements><zeebe:subscription correlationKey="=orderId"/></extensionElements>
</message>
"""


def model(body: str, flows: str = "", roots: str = "") -> bytes:
    """A process `order` of these elements. `flows` is `begin>paid paid>end`; a flow is called `begin_paid`."""
    lines = [flow(*pair.split(">")) for pair in flows.split()]
    inside = "\n".join([textwrap.dedent(body).strip(), *lines])
    process = f'<process id="order" isExecutable="true">\n{inside}\n</process>'
    return f"{HEAD}{process}\n{roots}</definitions>\n".encode()


def flow(source: str, target: str) -> str:
    return f'<sequenceFlow id="{source}_{target}" sourceRef="{source}" targetRef="{target}"/>'


def conditional(source: str, target: str, condition: str) -> str:
    text = condition.replace("<", "&lt;").replace(">", "&gt;")
    return (
        f'<sequenceFlow id="{source}_{target}" sourceRef="{source}" targetRef="{target}">'
        f'<conditionExpression xsi:type="tFormalExpression">{text}</conditionExpression></sequenceFlow>\n'
    )


def extended(tag: str, identifier: str, extensions: str, inside: str = "") -> str:
    return f'<{tag} id="{identifier}"><extensionElements>{extensions}</extensionElements>{inside}</{tag}>\n'


def service(identifier: str) -> str:
    return extended("serviceTask", identifier, f'<zeebe:taskDefinition type="{identifier}"/>')


def script(identifier: str, expression: str = "=n + 1") -> str:
    return extended("scriptTask", identifier, f'<zeebe:script expression="{expression}" resultVariable="n"/>')


def catch(identifier: str, message: str = "paid_message") -> str:
    return (
        f'<intermediateCatchEvent id="{identifier}"><messageEventDefinition messageRef="{message}"/>'
        "</intermediateCatchEvent>\n"
    )


def message(identifier: str, name: str, key: str = "=orderId") -> str:
    return (
        f'<message id="{identifier}" name="{name}"><extensionElements>'
        f'<zeebe:subscription correlationKey="{key}"/></extensionElements></message>\n'
    )


def timer(kind: str, value: str) -> str:
    return f'<timerEventDefinition><{kind} xsi:type="tFormalExpression">{value}</{kind}></timerEventDefinition>'


def boundary(identifier: str, host: str, definition: str, attributes: str = "") -> str:
    return f'<boundaryEvent id="{identifier}" attachedToRef="{host}" {attributes}>{definition}</boundaryEvent>\n'


def elements(content: bytes) -> dict[str, Element]:
    """The elements of the only process of a model, by id."""
    return dict(read(content).plans[0].elements)


def read(content: bytes, profile: str = "zeebe") -> Model:
    return read_model(content, "test.bpmn", profile)
