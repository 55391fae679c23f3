"""The patterns of the documents do what their stories say, and their models are beyond reproach."""

import re
from pathlib import Path

import pytest
from lxml import etree

from conjoin.bpmn import judge
from conjoin.cli.main import run
from examples.patterns import HERE, MODELS

FILES = sorted(MODELS.glob("*.bpmn"))
STORIES = sorted(HERE.glob("*/*.yaml"))
BPMN = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"
SHAPES = "{http://www.omg.org/spec/BPMN/20100524/DI}"


@pytest.mark.parametrize("shards", [1, 3])
def test_every_story_ends_as_it_is_told(shards: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["scenario", "check", str(HERE), "--shards", str(shards)])
    assert capsys.readouterr().out == f"{len(STORIES)} passed, 0 failed\n"
    assert code == 0


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_model_has_no_error_and_no_warning(file: Path) -> None:
    found = judge(file.read_bytes(), file.name)
    assert [*found.problems, *found.warnings] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_everything_in_a_model_is_drawn(file: Path) -> None:
    root = etree.parse(file).getroot()
    drawn = {shape.get("bpmnElement") for shape in root.iter(f"{SHAPES}BPMNShape", f"{SHAPES}BPMNEdge")}
    process = root.find(f"{BPMN}process")
    assert {element.get("id") for element in process if element.get("id")} == drawn


def test_every_model_has_stories_and_a_line_in_the_readme() -> None:
    areas = {story.parent.name for story in STORIES}
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    assert areas == {file.stem for file in FILES} == set(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE))
    assert f"`{len(STORIES)} passed, 0 failed`" in readme
