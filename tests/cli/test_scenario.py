"""conjoin model scenario: the lines it prints, and the codes it leaves with."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conjoin.cli.model.scenario import app
from conjoin.errors import InputError

GOLDEN = Path(__file__).parents[1] / "conformance" / "golden"
RUNNER = CliRunner()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One area with one scenario and its recording; the models are those of the recordings."""
    area = tmp_path / "buffer"
    area.mkdir()
    for suffix in (".yaml", ".json"):
        text = (GOLDEN / "buffer" / f"fifo{suffix}").read_text()
        (area / f"fifo{suffix}").write_text(text)
    (tmp_path / "models").symlink_to(GOLDEN / "models")
    return tmp_path


def test_run_prints_one_line_of_json_a_scenario() -> None:
    files = [str(GOLDEN / "buffer" / name) for name in ("fifo.yaml", "at_deadline.yaml")]
    result = RUNNER.invoke(app, ["run", *files])
    assert result.exit_code == 0
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["scenario"] for line in lines] == ["buffer/fifo", "buffer/at_deadline"]
    assert lines[0]["outcome"] == json.loads((GOLDEN / "buffer" / "fifo.json").read_text())


def test_run_takes_models_from_another_folder(tmp_path: Path) -> None:
    story = tmp_path / "story.yaml"
    story.write_text("models: [order.bpmn]\nsteps:\n  - start: {process: order, variables: {orderId: o}}\n")
    result = RUNNER.invoke(app, ["run", str(story), "--models", str(GOLDEN / "models")])
    assert json.loads(result.stdout)["outcome"]["subscriptions"] == [[0, "paid", "paid", "o"]]


def test_check_of_what_is_the_same_leaves_with_zero(folder: Path) -> None:
    result = RUNNER.invoke(app, ["check", str(folder)])
    assert (result.exit_code, result.stdout) == (0, "1 passed, 0 failed\n")


def test_check_prints_each_difference_and_leaves_with_one(folder: Path) -> None:
    recording = folder / "buffer" / "fifo.json"
    recording.write_text(recording.read_text().replace('"n": 1', '"n": 7'))
    result = RUNNER.invoke(app, ["check", str(folder)])
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("buffer/fifo: ")
    assert "  instances[0].variables.n: expected 7, got 1" in lines
    assert lines[-1] == "0 passed, 1 failed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--store", "postgres"], "--store postgres: say which server with CONJOIN_STORE=postgresql://"),
        (["--runner", "spark"], "--runner spark: its tasks need a store that they can reach; use --store sqlite"),
    ],
)
def test_what_is_missing_is_named(folder: Path, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONJOIN_STORE", raising=False)
    for command in ("run", "check"):
        result = RUNNER.invoke(app, [command, str(folder), *options])
        assert isinstance(result.exception, InputError)
        assert str(result.exception).startswith(said)


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_path_without_scenarios_is_an_error(tmp_path: Path, command: str) -> None:
    assert "there is no scenario" in str(RUNNER.invoke(app, [command, str(tmp_path)]).exception)
    missing = tmp_path / "missing"
    assert "there is no such file or folder" in str(RUNNER.invoke(app, [command, str(missing)]).exception)


def test_check_names_a_recording_that_is_missing(folder: Path) -> None:
    (folder / "buffer" / "fifo.json").unlink()
    result = RUNNER.invoke(app, ["check", str(folder)])
    assert "fifo.json: the recorded outcome cannot be read" in str(result.exception)


def test_a_bad_file_is_named_with_its_field(folder: Path) -> None:
    bad = folder / "buffer" / "bad.yaml"
    bad.write_text("models: [order.bpmn]\nsteps:\n  - publish: {key: k, ttl: soon}\n  - dance: {}\n")
    problems = str(RUNNER.invoke(app, ["run", str(bad)]).exception).splitlines()
    assert problems == [
        f"{bad}: steps[0].publish.name: it is missing",
        f"{bad}: steps[0].publish.ttl: 'soon' is not milliseconds or a duration such as 30s, 5m, 1h",
        f"{bad}: steps[1]: there is no step 'dance'; there are deploy, start, publish, correlate, advance, complete,"
        " fail, throw, cancel, set, resolve",
    ]


def test_stories_are_played_on_a_store(folder: Path) -> None:
    result = RUNNER.invoke(app, ["check", str(folder), "--store", "sqlite", "--shards", "3"])
    assert result.exit_code == 0
    assert result.stdout == RUNNER.invoke(app, ["check", str(folder), "--shards", "3"]).stdout
