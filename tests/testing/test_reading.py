"""Reading scenario files: exact values in, clear words about what is wrong."""

from decimal import Decimal
from pathlib import Path

import pytest

from conjoin.errors import InputError
from conjoin.testing.scenarios import as_json, read_json, read_scenario


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "area" / "story.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return read_scenario(path)


def test_numbers_are_exact_and_dates_and_words_stay_text(tmp_path: Path) -> None:
    text = (
        "steps:\n  - set: {instance: a, variables: {n: 0.1, big: 123456789012345678901, d: 2030-01-01, w: no, b: true}}"
    )
    scenario = read(tmp_path, text)
    variables = scenario.steps[0].fields["variables"]  # type: ignore[attr-defined]
    assert variables == {"n": Decimal("0.1"), "big": 123456789012345678901, "d": "2030-01-01", "w": "no", "b": True}


def test_name_is_the_area_and_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, "title: t\n").name == "area/story"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1", "it cannot be read"),
        ("- 1", "a scenario is an object with title, models and steps"),
        ("modles: []", "modles: there is no such field"),
        ("models: order.bpmn", "models: a list of file names is needed"),
        ("profile: zeeb", "profile: 'zeeb' is none of zeebe, zeebe-0.2x"),
        ("profile: [zeebe]", "profile: ['zeebe'] is not a text"),
        ("policies: [all]", "policies: an object of policies by message name is needed"),
        ("policies: {paid: {cardinality: some}}", "policy 'paid': cardinality: 'some' is none of"),
        ("steps: {}", "steps: a list of steps is needed"),
        ("steps:\n  - publish", "steps[0]: a step is one word with its fields"),
        ("steps:\n  - publish: paid", "steps[0].publish: an object of fields is needed"),
        ("steps:\n  - deploy: order.bpmn", "steps[0].deploy: a list of file names is needed"),
        ("steps:\n  - complete: {type: a, limit: many}", "steps[0].complete.limit: 'many' is not a whole number"),
        ("steps:\n  - start: {process: a, color: red}", "steps[0].start.color: there is no such field"),
        ("steps:\n  - start: {process: a, variables: [1]}", "steps[0].start.variables: [1] is not an object"),
    ],
)
def test_a_bad_file_says_what_is_wrong_with_it(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert raised.value.problems[0].startswith(f"{tmp_path}/area/story.yaml: {said}")


def test_a_missing_file_is_an_error_of_the_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it cannot be read"):
        read_scenario(tmp_path / "nothing.yaml")


@pytest.mark.parametrize("text", ["0.10", "12345678901234567890", "-1.5", '{"a": [1, null, true, "\\u00e9"]}'])
def test_json_is_written_back_as_it_came(text: str) -> None:
    assert read_json(as_json(read_json(text))) == read_json(text)
    assert as_json(read_json("0.10")) == "0.10"
