"""What expressions compute, as it reaches variables and correlation keys."""

from decimal import Decimal

import pytest

from conjoin.kernel.process.rules.catching import key_text
from conjoin.testing import LocalEngine, assert_that
from tests.testing.order import ORDER

SCRIPT = b"""<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="definitions" targetNamespace="urn:conjoin:tests">
  <bpmn:process id="compute" isExecutable="true">
    <bpmn:startEvent id="begin"/>
    <bpmn:scriptTask id="script">
      <bpmn:extensionElements>
        <zeebe:script expression="={at: now(), parts: [duration(&quot;PT1H&quot;), 5 / 2]}" resultVariable="it"/>
      </bpmn:extensionElements>
    </bpmn:scriptTask>
    <bpmn:serviceTask id="rest">
      <bpmn:extensionElements>
        <zeebe:taskDefinition type="rest"/>
        <zeebe:ioMapping><zeebe:input source="=date(&quot;2030-01-01&quot;)" target="day"/></zeebe:ioMapping>
      </bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:endEvent id="end"/>
    <bpmn:sequenceFlow id="f1" sourceRef="begin" targetRef="script"/>
    <bpmn:sequenceFlow id="f2" sourceRef="script" targetRef="rest"/>
    <bpmn:sequenceFlow id="f3" sourceRef="rest" targetRef="end"/>
  </bpmn:process>
</bpmn:definitions>
"""


def test_temporal_values_become_text_when_they_become_variables() -> None:
    engine = LocalEngine()
    engine.deploy_texts({"compute.bpmn": SCRIPT})
    instance = engine.start("compute")
    assert instance.variables["it"] == {"at": "2030-01-01T00:00:00Z", "parts": ["PT1H", Decimal("2.5")]}
    [job] = engine.activate("rest")
    assert job.variables["day"] == "2030-01-01"


@pytest.mark.parametrize(
    ("value", "text"),
    [(12, "12"), (Decimal("12.7"), "12"), (Decimal("-0.5"), "0"), (Decimal("1E+3"), "1000"), ("", "")],
)
def test_a_number_as_a_key_is_its_integer_part(value: object, text: str) -> None:
    assert key_text(value) == text


@pytest.mark.parametrize(
    "value", [Decimal("1E+999999999"), 10**5_000, Decimal("NaN"), Decimal("Infinity"), True, None], ids=type
)
def test_what_cannot_be_a_key_is_none(value: object) -> None:
    assert key_text(value) is None


def test_a_number_that_is_too_large_for_a_key_is_an_incident() -> None:
    engine = LocalEngine()
    engine.deploy_texts({"order.bpmn": ORDER})
    instance = engine.start("order", {"orderId": 10**4_100})
    assert_that(instance).has_incident_at("paid", "EXTRACT_VALUE_ERROR")


COSTLY = "=count(for x in 1..1000000 return index of(lst, -1))"


@pytest.mark.parametrize(
    "part",
    [
        '<zeebe:input source="{}" target="day"/>',
        '<zeebe:output source="{}" target="day"/>',
    ],
)
def test_a_mapping_that_costs_too_much_is_an_incident(part: str) -> None:
    engine = LocalEngine()
    mapping = SCRIPT.decode().replace(
        '<zeebe:input source="=date(&quot;2030-01-01&quot;)" target="day"/>', part.format(COSTLY)
    )
    engine.deploy_texts({"compute.bpmn": mapping.encode()})
    instance = engine.start("compute", {"lst": list(range(5_000))})
    if "output" in part:
        engine.complete("rest")
    assert_that(instance).has_incident_at("rest", "IO_MAPPING_ERROR")
    [incident] = instance.incidents
    assert "was stopped: it takes more than 4,000,000 steps" in incident.text


def test_a_script_that_costs_too_much_is_an_incident() -> None:
    engine = LocalEngine()
    text = SCRIPT.decode()
    start, end = text.index('expression="') + len('expression="'), text.index('" resultVariable')
    engine.deploy_texts({"compute.bpmn": (text[:start] + COSTLY + text[end:]).encode()})
    instance = engine.start("compute", {"lst": list(range(5_000))})
    assert_that(instance).has_incident_at("script", "EXTRACT_VALUE_ERROR")


def test_a_loop_over_too_many_items_is_an_incident() -> None:
    engine = LocalEngine()
    loop = (
        "<bpmn:multiInstanceLoopCharacteristics><bpmn:extensionElements>"
        '<zeebe:loopCharacteristics inputCollection="=lst"/>'
        "</bpmn:extensionElements></bpmn:multiInstanceLoopCharacteristics></bpmn:serviceTask>"
    )
    engine.deploy_texts({"compute.bpmn": SCRIPT.decode().replace("</bpmn:serviceTask>", loop).encode()})
    instance = engine.start("compute", {"lst": [0] * 10_001})
    assert_that(instance).has_incident_at("rest", "EXTRACT_VALUE_ERROR")


def test_the_mappings_of_an_element_share_one_budget() -> None:
    engine = LocalEngine()
    dear = "=count(for x in 1..200000 return x)"
    inputs = "".join(f'<zeebe:input source="{dear}" target="v{number}"/>' for number in range(20))
    mapping = SCRIPT.decode().replace('<zeebe:input source="=date(&quot;2030-01-01&quot;)" target="day"/>', inputs)
    engine.deploy_texts({"compute.bpmn": mapping.encode()})
    assert_that(engine.start("compute")).has_incident_at("rest", "IO_MAPPING_ERROR")
