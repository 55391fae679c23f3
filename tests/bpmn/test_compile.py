"""What a plan holds: the orders in which the engine walks, and what the extensions of Zeebe say."""

from collections.abc import Iterable

import pytest

from conjoin.bpmn.compile import KINDS as COMPILED_KINDS
from conjoin.kernel.plan import (
    Element,
    ErrorDefinition,
    Flow,
    LinkDefinition,
    Literal,
    MessageDefinition,
    SignalDefinition,
    TerminateDefinition,
    TimerDefinition,
)
from conjoin.kernel.process.elements import BEHAVIOURS
from tests.bpmn.snippets import (
    BEGIN,
    END,
    PAID,
    boundary,
    catch,
    conditional,
    elements,
    extended,
    message,
    model,
    read,
    service,
    timer,
)

ON_PAID = '<messageEventDefinition messageRef="paid_message"/>'


def ids(things: Iterable[Element | Flow]) -> list[str]:
    return [thing.id for thing in things]


def test_outgoing_flows_run_from_the_last_written_to_the_first_whatever_else_is_reversed() -> None:
    body = (
        BEGIN
        + '<parallelGateway id="split"><outgoing>split_a</outgoing><outgoing>split_b</outgoing></parallelGateway>\n'
        + '<endEvent id="b"/>\n<endEvent id="c"/>\n<endEvent id="a"/>\n'
    )
    found = elements(model(body, "split>b begin>split split>a split>c"))
    assert ids(found["split"].outgoing) == ["split_c", "split_a", "split_b"]
    assert ids(found["split"].incoming) == ["begin_split"]
    assert found["split"].outgoing[0].target is found["c"]


@pytest.mark.parametrize("gateway", ["exclusiveGateway", "inclusiveGateway"])
def test_default_flow_stands_apart_from_the_others(gateway: str) -> None:
    body = (
        BEGIN
        + f'<{gateway} id="large" default="large_no"/>\n<endEvent id="yes"/>\n<endEvent id="no"/>\n'
        + conditional("large", "yes", "=amount > 100")
    )
    large = elements(model(body, "begin>large large>no"))["large"]
    assert ids(large.outgoing) == ["large_yes"]
    assert large.default is not None
    assert large.default.id == "large_no"
    condition = large.outgoing[0].condition
    assert condition is not None
    assert condition.text == "=amount > 100"
    assert condition({"amount": 101}, 0) is True


def test_default_of_a_task_is_an_ordinary_flow() -> None:
    body = BEGIN + '<manualTask id="pack" default="pack_end"/>\n' + END
    pack = elements(model(body, "begin>pack pack>end"))["pack"]
    assert (ids(pack.outgoing), pack.default) == (["pack_end"], None)


def test_boundary_events_open_in_reverse_and_event_subprocesses_in_document_order() -> None:
    first, second = message("one", "one"), message("two", "two")
    subprocesses = "".join(
        f'<subProcess id="on_{name}" triggeredByEvent="true"><startEvent id="start_{name}">'
        f'<messageEventDefinition messageRef="{name}"/></startEvent></subProcess>\n'
        for name in ("one", "two")
    )
    body = (
        BEGIN
        + service("ship")
        + boundary("a", "ship", '<messageEventDefinition messageRef="one"/>')
        + boundary("b", "ship", '<messageEventDefinition messageRef="two"/>', 'cancelActivity="false"')
        + subprocesses
    )
    plan = read(model(body, "begin>ship", first + second)).plans[0]
    assert ids(plan.elements["ship"].boundaries) == ["b", "a"]
    assert ids(plan.root.event_subprocesses) == ["on_one", "on_two"]
    assert [plan.elements[name].interrupting for name in ("a", "b")] == [True, False]
    assert plan.elements["a"].attached_to is plan.elements["ship"]


def test_scopes_know_their_children_and_where_they_begin() -> None:
    body = (
        f'<startEvent id="on_paid">{ON_PAID}</startEvent>\n'
        + BEGIN
        + '<subProcess id="ship"><startEvent id="in"/></subProcess>\n'
        + f'<subProcess id="undo" triggeredByEvent="true"><startEvent id="on_undo" isInterrupting="false">{ON_PAID}'
        + "</startEvent></subProcess>\n"
    )
    plan = read(model(body, "begin>ship", PAID)).plans[0]
    found = plan.elements
    assert plan.root.kind == "process"
    assert plan.root.start is found["begin"]
    assert ids(plan.root.children) == ["on_paid", "begin", "ship", "undo"]
    assert (found["ship"].kind, found["ship"].start) == ("subprocess", found["in"])
    assert (found["undo"].kind, found["undo"].start) == ("event_subprocess", found["on_undo"])
    assert found["on_undo"].interrupting is False
    assert found["in"].scope is found["ship"]
    assert ids(plan.starts) == ["on_paid"]
    assert ids(plan.waits) == ["on_undo"]


def test_waits_are_all_that_catch_a_message_with_a_key_in_document_order() -> None:
    body = (
        BEGIN
        + '<subProcess id="ship"><startEvent id="in"/>'
        + catch("inner")
        + '<sequenceFlow id="in_inner" sourceRef="in" targetRef="inner"/></subProcess>\n'
        + boundary("edge", "ship", ON_PAID)
        + '<receiveTask id="task" messageRef="paid_message"/>\n'
    )
    assert ids(read(model(body, "begin>ship ship>task", PAID)).plans[0].waits) == ["inner", "edge", "task"]


KIND_OF = [
    (service("it"), "job_task"),
    (extended("sendTask", "it", '<zeebe:taskDefinition type="t"/>'), "job_task"),
    (extended("businessRuleTask", "it", '<zeebe:taskDefinition type="t"/>'), "job_task"),
    (extended("scriptTask", "it", '<zeebe:taskDefinition type="t"/>'), "job_task"),
    (extended("scriptTask", "it", '<zeebe:script expression="=1" resultVariable="r"/>'), "script_task"),
    (extended("businessRuleTask", "it", '<zeebe:script expression="=1" resultVariable="r"/>'), "script_task"),
    ('<userTask id="it"/>', "job_task"),
    (extended("userTask", "it", "<zeebe:userTask/>"), "user_task"),
    ('<manualTask id="it"/>', "pass_task"),
    ('<task id="it"/>', "pass_task"),
    ('<receiveTask id="it" messageRef="paid_message"/>', "receive_task"),
    (extended("callActivity", "it", '<zeebe:calledElement processId="p"/>'), "call_activity"),
    (catch("it"), "catch_event"),
    ('<intermediateThrowEvent id="it"/>', "throw_event"),
    ('<parallelGateway id="it"/>', "parallel_gateway"),
]


@pytest.mark.parametrize(("xml", "kind"), KIND_OF, ids=[f"{kind} {n}" for n, (_, kind) in enumerate(KIND_OF)])
def test_every_element_has_the_kind_that_runs_it(xml: str, kind: str) -> None:
    found = elements(model(BEGIN + xml + END, "begin>it it>end", PAID))
    assert found["it"].kind == kind


def test_all_kinds_are_kinds_of_the_kernel() -> None:
    assert set(COMPILED_KINDS.values()) <= set(BEHAVIOURS)


def test_job_has_three_retries_unless_it_says_otherwise() -> None:
    body = (
        BEGIN
        + service("a")
        + extended("serviceTask", "b", '<zeebe:taskDefinition type="=kind" retries="=tries"/>')
        + extended("serviceTask", "c", '<zeebe:taskDefinition type="c" retries="7"/>')
    )
    found = elements(model(body, "begin>a a>b b>c"))
    jobs = [found[name].job for name in "abc"]
    variables = {"kind": "drone", "tries": 5}
    assert [(job.type(variables, 0), job.retries(variables, 0)) for job in jobs if job] == [
        ("a", 3),
        ("drone", 5),
        ("c", 7),
    ]


def test_headers_and_the_form_of_a_user_task_go_to_its_worker() -> None:
    extensions = (
        '<zeebe:taskHeaders><zeebe:header key="team" value="sales"/></zeebe:taskHeaders>'
        '<zeebe:formDefinition formKey="camunda-forms:bpmn:f"/>'
        '<zeebe:assignmentDefinition assignee="=boss" candidateGroups="a,b"/>'
    )
    task = elements(model(BEGIN + extended("userTask", "approve", extensions), "begin>approve"))["approve"]
    assert task.job is not None
    assert task.job.type({}, 0) == "io.camunda.zeebe:userTask"
    assert task.job.retries({}, 0) == 1
    assert task.job.headers == {"team": "sales", "io.camunda.zeebe:formKey": "camunda-forms:bpmn:f"}
    assert task.properties["assignee"]({"boss": "Ada"}, 0) == "Ada"
    assert task.properties["candidateGroups"]({}, 0) == "a,b"
    assert task.properties["formKey"] == "camunda-forms:bpmn:f"


def test_native_user_task_has_no_job() -> None:
    task = elements(model(BEGIN + extended("userTask", "approve", "<zeebe:userTask/>"), "begin>approve"))["approve"]
    assert task.job is None


def test_mappings_keep_their_order_and_split_their_paths() -> None:
    extensions = (
        '<zeebe:taskDefinition type="t"/><zeebe:ioMapping><zeebe:input source="=a" target="x"/>'
        '<zeebe:input source="12" target="y"/><zeebe:output source="=r" target="order.result"/></zeebe:ioMapping>'
    )
    task = elements(model(BEGIN + extended("serviceTask", "ship", extensions), "begin>ship"))["ship"]
    assert [(each.target, each.source({"a": 1}, 0)) for each in task.inputs] == [(("x",), 1), (("y",), "12")]
    assert [each.target for each in task.outputs] == [("order", "result")]


def test_call_propagates_everything_unless_it_says_otherwise() -> None:
    silent = 'propagateAllChildVariables="false" propagateAllParentVariables="false"'
    body = (
        BEGIN
        + extended("callActivity", "a", '<zeebe:calledElement processId="bill"/>')
        + extended("callActivity", "b", f'<zeebe:calledElement processId="=which" {silent}/>')
    )
    found = elements(model(body, "begin>a a>b"))
    calls = [found[name].call for name in "ab"]
    assert [
        (call.process_id({"which": "w"}, 0), call.propagate_all_child_variables, call.propagate_all_parent_variables)
        for call in calls
        if call
    ] == [("bill", True, True), ("w", False, False)]


def test_loop_says_over_what_it_runs_and_what_it_collects() -> None:
    characteristics = (
        '<extensionElements><zeebe:loopCharacteristics inputCollection="=items" inputElement="item" '
        'outputCollection="sums" outputElement="=sum.total"/></extensionElements>'
        '<completionCondition xsi:type="tFormalExpression">=sum.total &gt; 5</completionCondition>'
    )
    loop_xml = (
        f'<multiInstanceLoopCharacteristics isSequential="true">{characteristics}</multiInstanceLoopCharacteristics>'
    )
    loop = elements(model(BEGIN + f'<manualTask id="add">{loop_xml}</manualTask>', "begin>add"))["add"].loop
    assert loop is not None
    assert (loop.sequential, loop.input_element, loop.output_collection) == (True, "item", "sums")
    assert loop.collection({"items": [1]}, 0) == [1]
    assert loop.output_variable == "sum"
    assert loop.completion_condition is not None
    assert loop.completion_condition({"sum": {"total": 6}}, 0) is True


@pytest.mark.parametrize(
    ("text", "variable"), [("=out", "out"), ("=out + 1", None), ("=[out]", None), ("= a . b", "a")]
)
def test_output_variable_is_that_of_a_plain_reference(text: str, variable: str | None) -> None:
    xml = (
        '<manualTask id="add"><multiInstanceLoopCharacteristics><extensionElements><zeebe:loopCharacteristics '
        f'inputCollection="=items" outputCollection="all" outputElement="{text}"/></extensionElements>'
        "</multiInstanceLoopCharacteristics></manualTask>"
    )
    loop = elements(model(BEGIN + xml, "begin>add"))["add"].loop
    assert loop is not None
    assert loop.output_variable == variable


def test_events_know_what_they_hear_and_throw() -> None:
    roots = PAID + '<signal id="s" name="alarm"/><error id="e" errorCode="lost"/>'
    body = (
        BEGIN
        + service("ship")
        + boundary("lost", "ship", '<errorEventDefinition errorRef="e"/>')
        + boundary("any", "ship", "<errorEventDefinition/>")
        + boundary("late", "ship", timer("timeDuration", "=pause"))
        + catch("paid")
        + '<intermediateThrowEvent id="alarm"><signalEventDefinition signalRef="s"/></intermediateThrowEvent>\n'
        + '<intermediateThrowEvent id="to"><linkEventDefinition name="l"/></intermediateThrowEvent>\n'
        + '<intermediateCatchEvent id="from"><linkEventDefinition name="l"/></intermediateCatchEvent>\n'
        + '<endEvent id="stop"><terminateEventDefinition/></endEvent>\n'
    )
    found = elements(model(body, "begin>ship ship>paid paid>alarm alarm>to from>stop", roots))
    lost, late, paid = found["lost"].event, found["late"].event, found["paid"].event
    assert isinstance(lost, ErrorDefinition)
    assert lost.code is not None
    assert lost.code({}, 0) == "lost"
    assert found["any"].event == ErrorDefinition(None)
    assert isinstance(late, TimerDefinition)
    assert (late.kind, late.value({"pause": "PT1H"}, 0)) == ("duration", "PT1H")
    assert isinstance(paid, MessageDefinition)
    assert paid.key is not None
    assert (paid.name({}, 0), paid.key({"orderId": "o"}, 0), paid.key.text) == ("paid", "o", "=orderId")
    assert found["alarm"].event == SignalDefinition(Literal("alarm", "alarm"))
    assert found["to"].event == LinkDefinition("l")
    assert found["to"].link_target is found["from"]
    assert found["stop"].event == TerminateDefinition()


def test_message_that_is_thrown_is_a_job_and_nothing_to_hear() -> None:
    xml = extended("endEvent", "told", '<zeebe:taskDefinition type="tell"/>', ON_PAID)
    told = elements(model(BEGIN + xml, "begin>told", PAID))["told"]
    assert (told.kind, told.event) == ("end_event", None)
    assert told.job is not None


def test_name_of_a_process_start_is_computed_when_it_is_read() -> None:
    roots = '<message id="paid_message" name="=&quot;pa&quot; + &quot;id&quot;"/>'
    start = read(model(f'<startEvent id="begin">{ON_PAID}</startEvent>', "", roots)).plans[0].starts[0]
    assert start.event == MessageDefinition(Literal("paid", '="pa" + "id"'), None)


def test_executable_processes_of_a_file_become_plans_in_document_order() -> None:
    more = '<process id="a" isExecutable="true" name="A"><extensionElements><zeebe:versionTag value="v7"/>'
    more += '</extensionElements><startEvent id="x"/></process><process id="sketch"><startEvent id="y"/></process>'
    plans = read(model(BEGIN + END, "begin>end", more)).plans
    assert [(plan.process_id, plan.name, plan.version_tag) for plan in plans] == [
        ("order", None, None),
        ("a", "A", "v7"),
    ]


def test_digest_is_that_of_the_content() -> None:
    one, other = model(BEGIN + END, "begin>end"), model(BEGIN + END)
    assert read(one).digest == read(one).digest
    assert read(one).digest != read(other).digest


def test_references_may_be_written_with_a_prefix() -> None:
    content = model(BEGIN + catch("paid", "t:paid_message") + END, "begin>paid paid>end", PAID)
    content = content.replace(b"<definitions ", b'<definitions xmlns:t="urn:conjoin:test" ')
    assert ids(read(content).plans[0].waits) == ["paid"]
