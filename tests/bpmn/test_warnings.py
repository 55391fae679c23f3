"""Warnings are kept quiet where there is nothing to warn of, and speak where a defect hides."""

import pytest

from conjoin.bpmn import judge
from tests.bpmn.snippets import (
    BEGIN,
    END,
    PAID,
    boundary,
    catch,
    conditional,
    extended,
    message,
    model,
    service,
    timer,
)

ON_PAID = '<messageEventDefinition messageRef="paid_message"/>'
SPLIT = '<parallelGateway id="split"/>\n<parallelGateway id="join"/>\n'


def on_paid(identifier: str, attributes: str, inside: str = "", flows: str = "") -> str:
    start = f'<startEvent id="on_{identifier}" {attributes}>{ON_PAID}</startEvent>'
    return f'<subProcess id="{identifier}" triggeredByEvent="true">{start}{inside}{flows}</subProcess>\n'


def warned(content: bytes) -> list[tuple[str, str]]:
    findings = judge(content)
    assert findings.problems == ()
    return [(warning.rule, warning.element) for warning in findings.warnings]


QUIET: dict[str, bytes] = {
    "two catches one after the other": model(BEGIN + catch("a") + catch("b") + END, "begin>a a>b b>end", PAID),
    "two catches of which one is chosen": model(
        BEGIN
        + '<exclusiveGateway id="which" default="which_b"/>\n'
        + catch("a")
        + catch("b")
        + END
        + conditional("which", "a", "=x"),
        "begin>which which>b a>end b>end",
        PAID,
    ),
    "two branches with keys of their own": model(
        BEGIN + SPLIT + catch("a") + catch("b", "other") + END,
        "begin>split split>a split>b a>join b>join join>end",
        PAID + message("other", "paid", "=invoiceId"),
    ),
    "a catch in a branch and one behind the join": model(
        BEGIN + SPLIT + catch("a") + service("ship") + catch("b") + END,
        "begin>split split>a split>ship a>join ship>join join>b b>end",
        PAID,
    ),
    "an interrupting event subprocess and a catch inside it": model(
        BEGIN
        + service("ship")
        + on_paid("undo", "", catch("again"), '<sequenceFlow id="f" sourceRef="on_undo" targetRef="again"/>'),
        "begin>ship",
        PAID,
    ),
    "a message start that ends by an interrupting event subprocess only": model(
        f'<startEvent id="begin">{ON_PAID}</startEvent>\n<exclusiveGateway id="again"/>\n'
        + catch("measured", "value")
        + on_paid("stop", ""),
        "begin>again again>measured measured>again",
        PAID + message("value", "measured", "=deviceId"),
    ),
    "a message start that ends by a boundary event": model(
        f'<startEvent id="begin">{ON_PAID}</startEvent>\n<exclusiveGateway id="again"/>\n'
        + service("ship")
        + boundary("late", "ship", timer("timeDuration", "P1D")),
        "begin>again again>ship ship>again",
        PAID,
    ),
    "a loop without a message start": model(
        BEGIN + '<exclusiveGateway id="again"/>\n' + service("ship"), "begin>again again>ship ship>again"
    ),
    "a join that every start event reaches by all ways": model(
        BEGIN
        + f'<startEvent id="on_paid">{ON_PAID}</startEvent>\n<exclusiveGateway id="merge"/>\n'
        + SPLIT
        + service("ship")
        + END,
        "begin>merge on_paid>merge merge>split split>join split>ship ship>join join>end",
        PAID,
    ),
    "a key that a mapping writes in a process that a timer starts": model(
        f'<startEvent id="begin">{timer("timeCycle", "R/P1D")}</startEvent>\n'
        + extended("scriptTask", "next", '<zeebe:script expression="=1" resultVariable="orderId"/>')
        + catch("paid")
        + END,
        "begin>next next>paid paid>end",
        PAID,
    ),
    "a key that is the item of a loop": model(
        f'<startEvent id="begin">{timer("timeCycle", "R/P1D")}</startEvent>\n'
        + '<receiveTask id="paid" messageRef="paid_message"><multiInstanceLoopCharacteristics><extensionElements>'
        + '<zeebe:loopCharacteristics inputCollection="=[1, 2]" inputElement="orderId"/></extensionElements>'
        + "</multiInstanceLoopCharacteristics></receiveTask>\n",
        "begin>paid",
        PAID,
    ),
    "keys of two different words": model(
        BEGIN + catch("a") + catch("b", "other") + END,
        "begin>a a>b b>end",
        PAID + message("other", "shipped", "=parcel"),
    ),
    "two almost equal variables that are both used elsewhere": model(
        BEGIN + catch("a") + catch("b", "other") + catch("c", "third") + END,
        "begin>a a>b b>c c>end",
        PAID + message("other", "shipped", "=orderIds") + message("third", "lost", "=orderIds + orderId"),
    ),
    "names that are computed": model(
        BEGIN + catch("a", "one") + catch("b", "two") + END,
        "begin>a a>b b>end",
        message("one", "=name") + message("two", "=NAME"),
    ),
    "one name in two messages": model(
        BEGIN + catch("a", "one") + catch("b", "two") + END,
        "begin>a a>b b>end",
        message("one", "paid") + message("two", "paid"),
    ),
}


@pytest.mark.parametrize("content", QUIET.values(), ids=QUIET)
def test_nothing_is_said_of(content: bytes) -> None:
    assert warned(content) == []


SPOKEN: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "a catch inside a subprocess and its boundary event": (
        model(
            BEGIN
            + '<subProcess id="ship"><startEvent id="in"/>'
            + catch("paid")
            + '<sequenceFlow id="f" sourceRef="in" targetRef="paid"/></subProcess>\n'
            + boundary("early", "ship", ON_PAID),
            "begin>ship",
            PAID,
        ),
        [("parallel_catches", "early")],
    ),
    "a non-interrupting event subprocess and a catch inside it": (
        model(
            BEGIN
            + service("ship")
            + on_paid(
                "undo",
                'isInterrupting="false"',
                catch("again"),
                '<sequenceFlow id="f" sourceRef="on_undo" targetRef="again"/>',
            ),
            "begin>ship",
            PAID,
        ),
        [("parallel_catches", "again")],
    ),
    "branches of flows that leave a task": (
        model(BEGIN + service("ship") + catch("a") + catch("b"), "begin>ship ship>a ship>b", PAID),
        [("parallel_catches", "b")],
    ),
    "a name with a space too many": (
        model(
            BEGIN + catch("a", "one") + catch("b", "two") + END,
            "begin>a a>b b>end",
            message("one", "order paid") + message("two", "order paid "),
        ),
        [("similar_names", "two")],
    ),
    "a loop by a link behind a message start": (
        model(
            f'<startEvent id="begin">{ON_PAID}</startEvent>\n<exclusiveGateway id="again"/>\n'
            + service("ship")
            + '<intermediateThrowEvent id="to"><linkEventDefinition name="l"/></intermediateThrowEvent>\n'
            + '<intermediateCatchEvent id="from"><linkEventDefinition name="l"/></intermediateCatchEvent>\n',
            "begin>again again>ship ship>to from>again",
            PAID,
        ),
        [("endless_locks", "begin")],
    ),
    "an island inside a subprocess": (
        model(
            BEGIN + '<subProcess id="ship"><startEvent id="in"/><manualTask id="lost"/></subProcess>\n', "begin>ship"
        ),
        [("unreachable", "lost")],
    ),
    "a key that message variables cannot bring because a mapping keeps them out": (
        model(
            '<startEvent id="begin"><extensionElements><zeebe:ioMapping><zeebe:output source="=id" target="id"/>'
            f"</zeebe:ioMapping></extensionElements>{ON_PAID}</startEvent>\n"
            + extended(
                "intermediateCatchEvent",
                "b",
                '<zeebe:ioMapping><zeebe:output source="=x" target="x"/></zeebe:ioMapping>',
                '<messageEventDefinition messageRef="other"/>',
            )
            + END,
            "begin>b b>end",
            PAID + message("other", "closed", "=orderId"),
        ),
        [("unset_keys", "b")],
    ),
}


@pytest.mark.parametrize(("content", "expected"), SPOKEN.values(), ids=SPOKEN)
def test_a_warning_is_given_of(content: bytes, expected: list[tuple[str, str]]) -> None:
    assert warned(content) == expected
