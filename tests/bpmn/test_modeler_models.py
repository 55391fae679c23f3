"""Models as Camunda Modeler really writes them: pools, lanes, notes, data, templates, forms, colours, diagrams."""

from pathlib import Path

import pytest

from conjoin.bpmn import Model, judge, read_model

MODELS = Path(__file__).parent / "models"

WAITS = {
    "calls_and_planes": {"onboarding": []},
    "claim_with_lanes": {"claim": []},
    "colours": {"traffic_light": ["Event_green"]},
    "data_and_notes": {"archive": []},
    "default_namespace": {"crossing": ["Event_green"]},
    "element_template": {"notify": []},
    "forms": {"vacation": []},
    "fulfilment": {"fulfilment": ["Activity_arrived", "Event_cancel", "Event_moved"]},
    "gateways_and_links": {"quote": []},
    "order_to_cash": {"order_to_cash": ["Event_collected"]},
    "timers_signals_errors": {"nightly": []},
    "two_processes_and_a_sketch": {"buyer": ["Event_answered"], "seller": []},
}


def read(name: str) -> Model:
    return read_model((MODELS / f"{name}.bpmn").read_bytes(), f"{name}.bpmn")


@pytest.mark.parametrize("name", WAITS)
def test_model_deploys_without_a_word(name: str) -> None:
    model = read(name)
    assert model.warnings == ()
    assert {plan.process_id: [wait.id for wait in plan.waits] for plan in model.plans} == WAITS[name]


def test_every_model_is_listed_and_has_a_diagram() -> None:
    assert sorted(path.stem for path in MODELS.glob("*.bpmn")) == sorted([*WAITS, "camunda_seven"])
    assert all(b"BPMNDiagram" in path.read_bytes() for path in MODELS.glob("*.bpmn"))


def test_model_of_camunda_7_deploys_where_messages_are_matched_without_a_key() -> None:
    content = (MODELS / "camunda_seven.bpmn").read_bytes()
    assert [problem.rule for problem in judge(content).problems] == ["correlation_keys"]
    assert read_model(content, "camunda_seven.bpmn", "correlate").plans[0].process_id == "ticket"


def test_what_is_only_drawn_is_no_element() -> None:
    found = read("data_and_notes").plans[0].elements
    assert list(found) == ["Event_begin", "Activity_scan", "Event_end"]


def test_template_is_a_job_with_its_headers_and_mappings() -> None:
    plan = read("element_template").plans[0]
    task = plan.elements["Activity_call"]
    assert plan.version_tag == "2.1"
    assert task.job is not None
    assert task.job.type({}, 0) == "io.camunda:http-json:1"
    assert task.job.headers["retryBackoff"] == "PT0S"
    values = {mapping.target: mapping.source({"orderId": "o-1"}, 0) for mapping in task.inputs}
    assert values[("authentication", "type")] == "noAuth"
    assert values[("url",)] == "https://example.org/o-1"
    assert values[("body",)] == {"order": "o-1"}


def test_forms_stay_with_their_tasks() -> None:
    found = read("forms").plans[0].elements
    assert found["Activity_fill"].kind == "job_task"
    assert found["Activity_approve"].kind == "user_task"
    assert found["Activity_approve"].properties["formId"] == "approve-vacation"
    assert found["Activity_file"].properties["externalReference"] == "https://example.org/form"
