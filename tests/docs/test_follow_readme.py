"""scripts/follow-readme reads README as it is meant; CI runs the script itself."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

import pytest

from tests.docs.pages import README, ROOT


@pytest.fixture(scope="module")
def script() -> Any:
    loader = SourceFileLoader("follow_readme", str(ROOT / "scripts/follow-readme"))
    spec = spec_from_loader("follow_readme", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_readme_has_three_starts_and_what_two_of_them_print(script: Any) -> None:
    found = script.steps(README.read_text(encoding="utf-8"))
    assert [step.kind for step in found if step.kind != "heading"] == ["sh follow", "sh serve", *["sh follow"] * 3]
    assert [step.shown is not None for step in found if step.kind == "sh follow"] == [False, True, True, True]


def test_starts_are_short_and_begin_with_the_environment(script: Any) -> None:
    for step in script.steps(README.read_text(encoding="utf-8")):
        if "conjoin" in step.text.split() or "python" in step.text.split():
            assert step.text.startswith(". .venv/bin/activate\n")
        assert len(step.text.splitlines()) <= 5


def test_an_output_without_its_command_is_an_error(script: Any) -> None:
    with pytest.raises(script.Failed, match=r"README.md:3"):
        script.steps("# Title\n\n```text output\nlost\n```\n")


def test_tests_are_left_out_on_demand(script: Any) -> None:
    assert script.without_tests("make run # and\nmake test # all\n") == "make run # and\n"


def test_dots_stand_for_anything_and_the_rest_is_compared(script: Any) -> None:
    assert script.is_shown("1 passed in 0.3s\n", "1 passed in ...\n")
    assert not script.is_shown("2 passed in 0.3s\n", "1 passed in ...\n")
    assert not script.is_shown("1 passed in 0.3s\nmore\n", "1 passed in ...\n")


def test_home_is_empty_but_caches_of_packages_are_the_users(
    script: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONJOIN_DATA", "elsewhere")
    monkeypatch.setenv("PIP_RETRIES", "7")
    monkeypatch.setenv("UV_CACHE_DIR", "uv-cache")
    settings = script.environment(tmp_path)
    assert settings["HOME"] == str(tmp_path)
    assert "CONJOIN_DATA" not in settings
    assert (settings["PIP_RETRIES"], settings["UV_CACHE_DIR"]) == ("7", "uv-cache")
