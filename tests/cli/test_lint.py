"""conjoin model lint: texts for people, JSON for programs, and exit codes for both."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from conjoin.errors import InputError
from tests.bpmn.lint_texts import DEFECTS, app
from tests.bpmn.snippets import BEGIN, END, model


def lint(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.bpmn"
    path.write_bytes(model(BEGIN + END, "begin>end"))
    return path


def test_good_model_is_one_line_and_exit_code_zero(good: Path) -> None:
    result = lint(good)
    assert (result.exit_code, result.output) == (0, "1 file: no errors, no warnings\n")


def test_error_ends_with_code_one_and_names_file_line_and_advice(good: Path) -> None:
    bad = DEFECTS / "jobs_service_task.bpmn"
    result = lint(good, bad)
    assert result.exit_code == 1
    assert result.output.startswith(f"{bad}:6: error: 'ship': the service task has no job type [jobs]\n    Add ")
    assert result.output.endswith("\n2 files: 1 error, no warnings\n")


def test_warnings_alone_end_with_code_zero() -> None:
    result = lint(DEFECTS / "unreachable.bpmn")
    assert result.exit_code == 0
    assert "1 file: no errors, 1 warning" in result.output


def test_json_holds_every_finding_with_its_parts() -> None:
    result = lint("--format", "json", DEFECTS / "several.bpmn")
    told = json.loads(result.output)
    assert result.exit_code == 1
    assert (told["files"], told["errors"], told["warnings"]) == (1, 3, 1)
    assert set(told["findings"][0]) == {"severity", "file", "line", "element", "rule", "text", "advice"}


def test_profile_decides_what_is_wrong() -> None:
    bare = DEFECTS / "correlation_keys_equals_sign.bpmn"
    assert lint(bare).exit_code == 1
    assert lint("--profile", "fleans", bare).exit_code == 0


def test_unknown_profile_and_files_that_cannot_be_read_are_input_errors(tmp_path: Path, good: Path) -> None:
    for arguments in (["--profile", "camunda", good], [tmp_path / "none.bpmn", tmp_path]):
        error = lint(*arguments).exception
        assert isinstance(error, InputError)
    assert isinstance(error, InputError)
    assert len(error.problems) == 2
