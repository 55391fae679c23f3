"""The models of the recorded scenarios: a running Zeebe took all but those that a scenario of `deploy/` saw refused."""

from pathlib import Path

import pytest

from conjoin.bpmn import judge, read_model

MODELS = Path(__file__).parents[1] / "conformance" / "golden" / "models"
REFUSED = {
    "bad_gateway.bpmn": "event_gateways",
    "bad_nokey.bpmn": "correlation_keys",
    "bad_static.bpmn": "correlation_keys",
    "bad_twostarts.bpmn": "start_names",
}


def test_the_recorded_models_are_there() -> None:
    assert len(list(MODELS.glob("*.bpmn"))) > 200


@pytest.mark.parametrize("path", [path for path in sorted(MODELS.glob("*.bpmn")) if path.name not in REFUSED], ids=str)
def test_model_that_zeebe_took_is_compiled(path: Path) -> None:
    model = read_model(path.read_bytes(), path.name)
    assert all(plan.elements for plan in model.plans)


@pytest.mark.parametrize("name", REFUSED)
def test_model_that_zeebe_refused_is_refused_for_one_reason(name: str) -> None:
    assert [problem.rule for problem in judge((MODELS / name).read_bytes(), name).problems] == [REFUSED[name]]
