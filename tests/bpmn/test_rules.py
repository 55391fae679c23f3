"""For every rule, models that come as close to breaking it as they may. The models that break one are in `defects/`."""

import pytest

from conjoin.bpmn import judge
from conjoin.bpmn.rules import RULES
from tests.bpmn.snippets import (
    BEGIN,
    END,
    PAID,
    boundary,
    catch,
    conditional,
    extended,
    flow,
    message,
    model,
    script,
    service,
    timer,
)

ON_PAID = '<messageEventDefinition messageRef="paid_message"/>'
ONE_HOUR = timer("timeDuration", "PT1H")


def event_subprocess(identifier: str, definition: str, attributes: str = "") -> str:
    start = f'<startEvent id="on_{identifier}" {attributes}>{definition}</startEvent>'
    return f'<subProcess id="{identifier}" triggeredByEvent="true">{start}</subProcess>\n'


ALLOWED: list[tuple[str, str, bytes]] = [
    (
        "element_ids",
        "an annotation needs no id, and an extension may repeat one",
        model(
            BEGIN
            + extended(
                "manualTask", "pack", '<zeebe:properties><zeebe:property id="begin" name="a"/></zeebe:properties>'
            )
            + flow("begin", "pack")
            + "<textAnnotation><text>no id</text></textAnnotation>\n"
        ),
    ),
    (
        "executable_process",
        "a process that is not executable may stand beside one that is, whatever it holds",
        model(BEGIN + END, "begin>end", '<process id="sketch"><complexGateway id="anything"/></process>\n'),
    ),
    (
        "supported_elements",
        "attributes that say what holds anyway are read over",
        model(
            BEGIN
            + '<manualTask id="pack" isForCompensation="false" startQuantity="1"/>\n'
            + '<receiveTask id="paid" instantiate="false" messageRef="paid_message"/>\n'
            + END,
            "begin>pack pack>paid paid>end",
            PAID,
        ),
    ),
    (
        "supported_events",
        "each of the types that are run",
        model(
            BEGIN
            + catch("paid")
            + f'<intermediateCatchEvent id="later">{ONE_HOUR}</intermediateCatchEvent>\n'
            + '<intermediateThrowEvent id="milestone"/>\n'
            + '<endEvent id="end"><terminateEventDefinition/></endEvent>\n',
            "begin>paid paid>later later>milestone milestone>end",
            PAID,
        ),
    ),
    (
        "supported_extensions",
        "what is empty or carries no behaviour",
        model(
            BEGIN
            + extended(
                "serviceTask",
                "ship",
                '<zeebe:taskDefinition type="ship"/><zeebe:executionListeners/><zeebe:properties/>'
                '<zeebe:taskHeaders><zeebe:header key="a" value="b"/></zeebe:taskHeaders>',
            )
            + extended("callActivity", "bill", '<zeebe:calledElement processId="bill" bindingType="latest"/>')
            + END,
            "begin>ship ship>bill bill>end",
        ),
    ),
    (
        "start_events",
        "one none start event beside a message and a timer",
        model(
            BEGIN
            + f'<startEvent id="on_paid">{ON_PAID}</startEvent>\n'
            + f'<startEvent id="nightly">{timer("timeCycle", "R/P1D")}</startEvent>\n'
            + END,
            "begin>end on_paid>end nightly>end",
            '<message id="paid_message" name="paid"/>\n',
        ),
    ),
    (
        "flow_ends",
        "flows inside a subprocess, and elements without any outgoing flow",
        model(
            BEGIN
            + '<subProcess id="ship"><startEvent id="in"/><manualTask id="pack"/>'
            + '<sequenceFlow id="in_pack" sourceRef="in" targetRef="pack"/></subProcess>\n',
            "begin>ship",
        ),
    ),
    (
        "gateway_flows",
        "a condition where none is needed",
        model(BEGIN + '<exclusiveGateway id="large"/>\n' + END + conditional("large", "end", "=true"), "begin>large"),
    ),
    (
        "gateway_flows",
        "a default flow at an inclusive gateway, with conditions on the others",
        model(
            BEGIN
            + '<inclusiveGateway id="large" default="large_end"/>\n<endEvent id="other"/>\n'
            + END
            + conditional("large", "other", "=amount > 100"),
            "begin>large large>end",
        ),
    ),
    (
        "boundary_events",
        "on a call activity, without an outgoing flow",
        model(
            BEGIN
            + extended("callActivity", "bill", '<zeebe:calledElement processId="bill"/>')
            + boundary("late", "bill", ONE_HOUR)
            + END,
            "begin>bill bill>end",
        ),
    ),
    (
        "interruption",
        "a cycle that does not interrupt",
        model(
            BEGIN
            + service("ship")
            + boundary("remind", "ship", timer("timeCycle", "R/PT1H"), 'cancelActivity="false"')
            + END
            + event_subprocess("count", timer("timeCycle", "R3/PT1M"), 'isInterrupting="false"'),
            "begin>ship ship>end remind>end",
        ),
    ),
    (
        "event_gateways",
        "a message, a timer and a signal",
        model(
            BEGIN
            + '<eventBasedGateway id="wait"/>\n'
            + catch("paid")
            + f'<intermediateCatchEvent id="late">{ONE_HOUR}</intermediateCatchEvent>\n'
            + '<intermediateCatchEvent id="alarm"><signalEventDefinition signalRef="alarm_signal"/>'
            + "</intermediateCatchEvent>\n"
            + END,
            "begin>wait wait>paid wait>late wait>alarm paid>end late>end alarm>end",
            PAID + '<signal id="alarm_signal" name="alarm"/>\n',
        ),
    ),
    (
        "duplicate_catches",
        "the same message on a subprocess and inside it, and two timers on one task",
        model(
            BEGIN
            + '<subProcess id="ship"><startEvent id="in"/>'
            + catch("paid")
            + '<sequenceFlow id="in_paid" sourceRef="in" targetRef="paid"/></subProcess>\n'
            + boundary("paid_early", "ship", ON_PAID)
            + boundary("late", "ship", ONE_HOUR)
            + boundary("later", "ship", ONE_HOUR, 'cancelActivity="false"'),
            "begin>ship",
            PAID,
        ),
    ),
    (
        "duplicate_catches",
        "an error with a code beside one for every error",
        model(
            BEGIN
            + service("ship")
            + boundary("lost", "ship", '<errorEventDefinition errorRef="lost_error"/>')
            + boundary("failed", "ship", "<errorEventDefinition/>")
            + END,
            "begin>ship ship>end lost>end failed>end",
            '<error id="lost_error" errorCode="lost"/>\n',
        ),
    ),
    (
        "message_references",
        "a malformed message that nobody waits for (S7)",
        model(BEGIN + END, "begin>end", '<message id="forgotten"/>\n'),
    ),
    (
        "correlation_keys",
        "a start event needs no key, and one that it has is ignored (S2)",
        model(
            f'<startEvent id="on_paid">{ON_PAID}</startEvent>\n' + END,
            "on_paid>end",
            message("paid_message", "paid", "orderId"),
        ),
    ),
    (
        "start_names",
        "a constant expression, and the same name in another process",
        model(
            f'<startEvent id="on_paid">{ON_PAID}</startEvent>\n' + END,
            "on_paid>end",
            '<message id="paid_message" name="=&quot;pa&quot; + &quot;id&quot;"/>\n'
            '<message id="other_message" name="=&quot;pa&quot; + &quot;id&quot;"/>\n'
            '<process id="other" isExecutable="true"><startEvent id="on_other">'
            '<messageEventDefinition messageRef="other_message"/></startEvent></process>\n',
        ),
    ),
    (
        "signal_names",
        "a signal whose name is computed",
        model(
            BEGIN + '<endEvent id="alarm"><signalEventDefinition signalRef="alarm_signal"/></endEvent>\n',
            "begin>alarm",
            '<signal id="alarm_signal" name="=&quot;alarm-&quot; + orderId"/>\n',
        ),
    ),
    (
        "error_codes",
        "a code that is computed where the error is thrown",
        model(
            BEGIN + '<endEvent id="failed"><errorEventDefinition errorRef="any_error"/></endEvent>\n',
            "begin>failed",
            '<error id="any_error" errorCode="=code"/>\n',
        ),
    ),
    (
        "links",
        "two sources of one link, and the same name in another scope",
        model(
            BEGIN
            + '<parallelGateway id="both"/>\n'
            + '<intermediateThrowEvent id="to_one"><linkEventDefinition name="bill"/></intermediateThrowEvent>\n'
            + '<intermediateThrowEvent id="to_two"><linkEventDefinition name="bill"/></intermediateThrowEvent>\n'
            + '<intermediateCatchEvent id="from"><linkEventDefinition name="bill"/></intermediateCatchEvent>\n'
            + '<subProcess id="ship"><startEvent id="in"/>'
            + '<intermediateThrowEvent id="to_in"><linkEventDefinition name="bill"/></intermediateThrowEvent>'
            + '<intermediateCatchEvent id="from_in"><linkEventDefinition name="bill"/></intermediateCatchEvent>'
            + '<sequenceFlow id="in_to" sourceRef="in" targetRef="to_in"/></subProcess>\n',
            "begin>both both>to_one both>to_two from>ship",
        ),
    ),
    (
        "jobs",
        "a type and retries that are computed, a message that is sent as a job, a native user task",
        model(
            BEGIN
            + extended("serviceTask", "ship", '<zeebe:taskDefinition type="=kind" retries="=tries"/>')
            + extended("userTask", "approve", "<zeebe:userTask/>")
            + '<userTask id="look"/>\n'
            + extended("endEvent", "told", '<zeebe:taskDefinition type="tell"/>', "<messageEventDefinition/>"),
            "begin>ship ship>approve approve>look look>told",
        ),
    ),
    (
        "scripts",
        "a business rule written as a script",
        model(
            BEGIN
            + extended("businessRuleTask", "rule", '<zeebe:script expression="=a &gt; 1" resultVariable="large"/>')
            + END,
            "begin>rule rule>end",
        ),
    ),
    (
        "task_headers",
        "headers without a value",
        model(
            BEGIN
            + extended(
                "serviceTask",
                "ship",
                '<zeebe:taskDefinition type="ship"/><zeebe:taskHeaders><zeebe:header key="a"/>'
                '<zeebe:header key="b" value=""/></zeebe:taskHeaders>',
            ),
            "begin>ship",
        ),
    ),
    (
        "user_tasks",
        "a date, a priority, and expressions for both",
        model(
            BEGIN
            + extended(
                "userTask",
                "approve",
                '<zeebe:taskSchedule dueDate="2030-01-31T08:00:00+01:00" followUpDate="=later"/>'
                '<zeebe:priorityDefinition priority="100"/>',
            )
            + extended("userTask", "file", '<zeebe:priorityDefinition priority="=urgency"/>'),
            "begin>approve approve>file",
        ),
    ),
    (
        "calls",
        "an id that is computed",
        model(
            BEGIN + extended("callActivity", "bill", '<zeebe:calledElement processId="=which"/>') + END,
            "begin>bill bill>end",
        ),
    ),
    (
        "mappings",
        "a plain text as the source of an input, and paths as targets",
        model(
            BEGIN
            + extended(
                "serviceTask",
                "ship",
                '<zeebe:taskDefinition type="ship"/><zeebe:ioMapping><zeebe:input source="express" target="how"/>'
                '<zeebe:output source="=parcel" target="order.parcel_1"/></zeebe:ioMapping>',
            )
            + END,
            "begin>ship ship>end",
        ),
    ),
    (
        "multi_instance",
        "a collection, and a condition that ends it early",
        model(
            BEGIN
            + '<receiveTask id="paid" messageRef="paid_message"><multiInstanceLoopCharacteristics isSequential="true">'
            + '<extensionElements><zeebe:loopCharacteristics inputCollection="=items" inputElement="item" '
            + 'outputCollection="amounts" outputElement="=amount"/></extensionElements>'
            + '<completionCondition xsi:type="tFormalExpression">=amount &gt; 5</completionCondition>'
            + "</multiInstanceLoopCharacteristics></receiveTask>\n"
            + END,
            "begin>paid paid>end",
            PAID,
        ),
    ),
    (
        "timers",
        "dates, cycles with a beginning, and expressions",
        model(
            f'<startEvent id="begin">{timer("timeCycle", "R2/2030-01-01T00:00:00Z/PT1H")}</startEvent>\n'
            + f'<startEvent id="soon">{timer("timeDate", "=now() + duration(&quot;PT1H&quot;)")}</startEvent>\n'
            + f'<intermediateCatchEvent id="then">{timer("timeDate", "2030-01-01T00:00:00+02:00")}'
            + "</intermediateCatchEvent>\n"
            + f'<intermediateCatchEvent id="later">{timer("timeDuration", "=pause")}</intermediateCatchEvent>\n'
            + END,
            "begin>then then>later later>end soon>end",
        ),
    ),
    (
        "expressions",
        "a message name that is computed",
        model(
            BEGIN + catch("paid") + END,
            "begin>paid paid>end",
            message("paid_message", "=&quot;paid-&quot; + shop", "=order.id"),
        ),
    ),
    (
        "straight_loops",
        "a loop in which a worker, a message or a parallel join waits",
        model(
            BEGIN
            + '<exclusiveGateway id="again"/>\n<parallelGateway id="both"/>\n<parallelGateway id="join"/>\n'
            + '<exclusiveGateway id="enough" default="enough_again"/>\n'
            + service("ship")
            + END
            + conditional("enough", "end", "=done"),
            "begin>again again>both both>join both>ship ship>join join>enough enough>again",
        ),
    ),
    (
        "straight_loops",
        "a script task that a worker runs",
        model(
            BEGIN
            + '<exclusiveGateway id="again"/>\n<exclusiveGateway id="enough" default="enough_again"/>\n'
            + extended("scriptTask", "count", '<zeebe:taskDefinition type="count"/>')
            + END
            + conditional("enough", "end", "=n > 3"),
            "begin>again again>count count>enough enough>again",
        ),
    ),
]


@pytest.mark.parametrize(("rule", "what", "content"), ALLOWED, ids=[f"{rule}: {what}" for rule, what, _ in ALLOWED])
def test_model_that_keeps_a_rule_is_let_pass(rule: str, what: str, content: bytes) -> None:
    assert judge(content, "test.bpmn").problems == ()


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_every_rule_has_a_model_that_keeps_it(rule: str) -> None:
    assert rule in {name for name, _, _ in ALLOWED}


LOOPS = [
    (
        "of exclusive gateways alone",
        BEGIN
        + '<exclusiveGateway id="again"/>\n<exclusiveGateway id="enough" default="enough_again"/>\n'
        + END
        + conditional("enough", "end", "=done"),
        "begin>again again>enough enough>again",
    ),
    (
        "through an embedded subprocess",
        BEGIN
        + '<exclusiveGateway id="again"/>\n<exclusiveGateway id="enough" default="enough_again"/>\n'
        + '<subProcess id="count"><startEvent id="in"/>'
        + script("sum")
        + '<sequenceFlow id="in_sum" sourceRef="in" targetRef="sum"/></subProcess>\n'
        + END
        + conditional("enough", "end", "=done"),
        "begin>again again>count count>enough enough>again",
    ),
    (
        "through a link",
        BEGIN
        + '<exclusiveGateway id="again"/>\n<manualTask id="pack"/>\n'
        + '<intermediateThrowEvent id="to"><linkEventDefinition name="back"/></intermediateThrowEvent>\n'
        + '<intermediateCatchEvent id="from"><linkEventDefinition name="back"/></intermediateCatchEvent>\n',
        "begin>again again>pack pack>to from>again",
    ),
    (
        "of a process that calls itself",
        BEGIN + extended("callActivity", "again", '<zeebe:calledElement processId="order"/>') + END,
        "begin>again again>end",
    ),
    ("of one task", BEGIN + '<manualTask id="pack"/>\n', "begin>pack pack>pack"),
]


@pytest.mark.parametrize(("body", "flows"), [loop[1:] for loop in LOOPS], ids=[loop[0] for loop in LOOPS])
def test_loop_in_which_nothing_waits_is_refused(body: str, flows: str) -> None:
    assert [problem.rule for problem in judge(model(body, flows)).problems] == ["straight_loops"]


def test_all_problems_of_a_file_are_told_at_once_in_the_order_of_lines() -> None:
    body = BEGIN + '<serviceTask id="ship"/>\n<callActivity id="bill"/>\n<userTask id="begin"/>\n' + catch("paid")
    problems = judge(model(body, "begin>ship ship>nowhere")).problems
    rules = [(problem.line, problem.rule) for problem in problems]
    assert rules == sorted(rules)
    assert {rule for _, rule in rules} == {"jobs", "calls", "element_ids", "message_references", "flow_ends"}
