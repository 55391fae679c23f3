"""Models that are too large are refused with what is too much, and quickly; what is deployed already is not asked."""

import time

import pytest

from conjoin.bpmn import ModelError, judge, read_model
from tests.bpmn.snippets import BEGIN, END, flow, message, model, script

MANY = range(501)


def _problem(content: bytes) -> str:
    started = time.thread_time()
    with pytest.raises(ModelError) as refused:
        read_model(content, "m.bpmn")
    assert time.thread_time() - started < 10
    assert {problem.rule for problem in refused.value.problems} == {"limits"}
    assert judge(content, "m.bpmn").problems == tuple(refused.value.problems)
    return str(refused.value)


def _process(number: int) -> str:
    return f'<process id="p{number}" isExecutable="true"><startEvent id="s{number}"/></process>\n'


def test_a_file_of_very_many_processes_is_refused() -> None:
    content = model(BEGIN + END, "begin>end", "".join(map(_process, range(5_000))))
    assert "the file has 5,001 executable processes, and 100 are the most" in _problem(content)


def test_a_file_of_very_many_elements_is_refused() -> None:
    content = model(BEGIN + "".join(f'<manualTask id="t{number}"/>\n' for number in range(6_000)))
    assert "has 6,001 flow nodes (events, activities and gateways), and 5,000 are the most" in _problem(content)


def test_an_expression_of_very_many_parts_is_refused() -> None:
    content = model(BEGIN + script("sum", "=" + "+".join(["1"] * 45_000)) + flow("begin", "sum"))
    assert "is an expression of 90,000 characters, and 20,000 are the most" in _problem(content)


def test_a_gateway_with_very_many_ways_out_is_refused() -> None:
    targets = "".join(f'<manualTask id="t{number}"/>\n' for number in MANY)
    flows = "".join(flow("split", f"t{number}") for number in MANY)
    content = model(BEGIN + '<parallelGateway id="split"/>\n' + targets + flow("begin", "split") + flows)
    assert "'split': it has 501 outgoing flows, and 500 are the most" in _problem(content)


def test_an_activity_with_very_many_boundary_events_is_refused() -> None:
    timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>"
    events = "".join(f'<boundaryEvent id="b{n}" attachedToRef="t">{timer}</boundaryEvent>\n' for n in range(101))
    content = model(BEGIN + '<manualTask id="t"/>\n' + events + flow("begin", "t"))
    assert "'t': it has 101 boundary events, and 100 are the most" in _problem(content)


def test_the_name_of_a_start_event_that_takes_long_to_compute_is_refused() -> None:
    start = '<startEvent id="begin"><messageEventDefinition messageRef="m"/></startEvent>\n'
    name = "=string(count(for x in 1..100000 return x))"
    content = model(start + END, "begin>end", message("m", name))
    assert "'begin': computing the name that starts the process takes too long" in _problem(content)


def test_what_is_deployed_already_is_not_asked_for_its_size() -> None:
    content = model(BEGIN + END, "begin>end", "".join(map(_process, range(150))))
    assert len(read_model(content, "m.bpmn", is_deployed=True).plans) == 151


def test_very_many_inclusive_joins_in_one_scope_are_refused() -> None:
    joins = "".join(f'<inclusiveGateway id="j{number}"/>\n' for number in range(51))
    flows = "".join(
        flow("split", f"j{number}") + flow("split", f"j{number}").replace("_", "_x_") for number in range(51)
    )
    content = model(BEGIN + '<parallelGateway id="split"/>\n' + joins + flow("begin", "split") + flows)
    assert "it has 51 inclusive gateways with several ways in, and 50 are the most" in _problem(content)


def test_expressions_that_are_too_long_together_are_refused() -> None:
    scripts = "".join(script(f"x{number}", "=" + "+".join(["a"] * 5_000)) for number in range(30))
    content = model(BEGIN + scripts)
    assert "the expressions of the file have 300,000 characters together, and 200,000 are the most" in _problem(content)
