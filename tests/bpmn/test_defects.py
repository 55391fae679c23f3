"""Models with one defect each: what lint says of them is kept in `golden_text/`, and read by people."""

import pytest

from conjoin.bpmn import Findings, ModelError, judge, read_model
from conjoin.bpmn.rules import RULES
from conjoin.bpmn.warnings import WARNINGS
from tests.bpmn.lint_texts import DEFECTS, PROFILE_OF, TEXTS, defects, linted


@pytest.mark.parametrize("defect", defects())
def test_lint_says_of_a_defect_what_its_golden_text_says(defect: str) -> None:
    assert linted(defect) == (TEXTS / f"{defect}.txt").read_text(encoding="utf-8")


def test_no_golden_text_is_left_without_its_model() -> None:
    assert sorted(path.stem for path in TEXTS.glob("*.txt")) == defects()


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_every_rule_has_a_model_that_breaks_it(rule: str) -> None:
    broken = {problem.rule for defect in defects() for problem in found(defect).problems}
    assert rule in broken


@pytest.mark.parametrize("warning", [warning.__name__ for warning in WARNINGS])
def test_every_warning_has_a_model_that_may_be_deployed_all_the_same(warning: str) -> None:
    warned = [defect for defect in defects() if warning in {problem.rule for problem in found(defect).warnings}]
    assert any(not found(defect).problems for defect in warned)


@pytest.mark.parametrize("defect", defects())
def test_deployment_refuses_exactly_the_models_with_problems(defect: str) -> None:
    content = (DEFECTS / f"{defect}.bpmn").read_bytes()
    problems, profile = found(defect).problems, PROFILE_OF.get(defect, "zeebe")
    if problems:
        with pytest.raises(ModelError) as refused:
            read_model(content, f"{defect}.bpmn", profile)
        assert tuple(refused.value.problems) == problems
    else:
        assert read_model(content, f"{defect}.bpmn", profile).warnings == found(defect).warnings


@pytest.mark.parametrize("defect", defects())
def test_every_finding_is_a_sentence_with_a_line_and_an_advice(defect: str) -> None:
    lines = (DEFECTS / f"{defect}.bpmn").read_text(encoding="utf-8").splitlines()
    findings = found(defect)
    for problem in (*findings.problems, *findings.warnings):
        assert problem.text
        assert not problem.text.endswith(".")
        assert problem.advice[0].isupper()
        if problem.rule != "xml":
            assert f'"{problem.element}"' in "".join(lines[: problem.line + 1]) or not problem.element


def found(defect: str) -> Findings:
    profile = PROFILE_OF.get(defect, "zeebe")
    return judge((DEFECTS / f"{defect}.bpmn").read_bytes(), f"{defect}.bpmn", profile)
