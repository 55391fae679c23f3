"""Every element that is run stands in the model of at least one scenario, recorded or our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from lxml import etree

HERE = Path(__file__).parent
FOLDERS = [HERE / "golden", HERE / "own"]
BPMN = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"
ZEEBE = "{http://camunda.org/schema/zeebe/1.0}"

ELEMENTS = [
    "startEvent",
    "startEvent/message",
    "startEvent/timer/duration",
    "startEvent/timer/cycle",
    "startEvent/timer/date",
    "startEvent/signal",
    "endEvent",
    "endEvent/message",
    "endEvent/error",
    "endEvent/terminate",
    "endEvent/signal",
    "sequenceFlow",
    "sequenceFlow/condition",
    "sequenceFlow/default",
    "serviceTask",
    "sendTask",
    "receiveTask",
    "userTask/job",
    "userTask/native",
    "manualTask",
    "task",
    "scriptTask/expression",
    "scriptTask/job",
    "businessRuleTask/job",
    "exclusiveGateway",
    "parallelGateway",
    "inclusiveGateway",
    "eventBasedGateway",
    "intermediateCatchEvent/message",
    "intermediateCatchEvent/timer/duration",
    "intermediateCatchEvent/timer/date",
    "intermediateCatchEvent/signal",
    "intermediateCatchEvent/link",
    "intermediateThrowEvent",
    "intermediateThrowEvent/message",
    "intermediateThrowEvent/signal",
    "intermediateThrowEvent/link",
    "boundaryEvent/message",
    "boundaryEvent/message/beside",
    "boundaryEvent/timer/duration",
    "boundaryEvent/timer/cycle/beside",
    "boundaryEvent/error",
    "boundaryEvent/signal",
    "subProcess",
    "eventSubProcess/message",
    "eventSubProcess/message/beside",
    "eventSubProcess/timer/duration",
    "eventSubProcess/error",
    "callActivity",
    "loop/parallel",
    "loop/sequential",
    "loop/completion",
    "mapping/input",
    "mapping/output",
]


def models() -> Iterator[Path]:
    """Those that some scenario deploys."""
    for folder in FOLDERS:
        for path in folder.rglob("*.yaml"):
            story = yaml.safe_load(path.read_text(encoding="utf-8"))
            later = [name for step in story["steps"] for name in step.get("deploy", [])]
            yield from (folder / "models" / name for name in [*story.get("models", []), *later])


def features(model: etree._Element) -> Iterator[str]:
    for xml in model.iter(f"{BPMN}*"):
        name = etree.QName(xml).localname
        kind = _event(xml)
        beside = "/beside" if "false" in (xml.get("cancelActivity"), xml.get("isInterrupting")) else ""
        inside = xml.getparent()
        if name == "startEvent" and inside is not None and inside.get("triggeredByEvent") == "true":
            yield f"eventSubProcess{kind}{beside}"
        else:
            yield f"{name}{kind}{beside}"
        yield from (f"{name}/{how}" for how in _ways(xml))
    yield from (f"mapping/{etree.QName(xml).localname}" for xml in model.iter(f"{ZEEBE}input", f"{ZEEBE}output"))
    for loop in model.iter(f"{BPMN}multiInstanceLoopCharacteristics"):
        yield "loop/sequential" if loop.get("isSequential") == "true" else "loop/parallel"
        if loop.find(f"{BPMN}completionCondition") is not None:
            yield "loop/completion"


def _event(xml: etree._Element) -> str:
    for child in xml:
        if not isinstance(child.tag, str) or not child.tag.endswith("EventDefinition"):
            continue
        kind = etree.QName(child).localname.removesuffix("EventDefinition")
        if kind != "timer":
            return f"/{kind}"
        return f"/timer/{etree.QName(child[0]).localname.removeprefix('time').lower()}"
    return ""


def _ways(xml: etree._Element) -> Iterator[str]:
    if xml.find(f"{BPMN}conditionExpression") is not None:
        yield "condition"
    if xml.tag == f"{BPMN}sequenceFlow":
        source = xml.getparent().find(f"*[@id='{xml.get('sourceRef')}']")
        if source is not None and source.get("default") == xml.get("id"):
            yield "default"
    extensions = xml.find(f"{BPMN}extensionElements")
    for child in extensions if extensions is not None else ():
        found = {"script": "expression", "taskDefinition": "job", "userTask": "native"}
        yield found.get(etree.QName(child).localname, "extension")
    if xml.tag == f"{BPMN}userTask" and (extensions is None or extensions.find(f"{ZEEBE}userTask") is None):
        yield "job"


@pytest.fixture(scope="module")
def covered() -> set[str]:
    return {feature for path in set(models()) for feature in features(etree.parse(path).getroot())}


@pytest.mark.parametrize("element", ELEMENTS)
def test_element_has_a_scenario(element: str, covered: set[str]) -> None:
    assert element in covered
