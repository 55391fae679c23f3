"""scripts/follow-readme reads README as it is meant; CI runs the script itself."""

import os
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
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
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONJOIN_DATA", "elsewhere")
    monkeypatch.setenv("PIP_RETRIES", "7")
    monkeypatch.setenv("UV_CACHE_DIR", "uv-cache")
    settings = script.environment(tmp_path)
    assert settings["HOME"] == str(tmp_path)
    assert "CONJOIN_DATA" not in settings
    assert (settings["PIP_RETRIES"], settings["UV_CACHE_DIR"]) == ("7", "uv-cache")


PAGE = """# Title

```sh serve
touch "$HOME/served"
exec python3 -c "import time; open('pid', 'w').write(str(__import__('os').getpid())); time.sleep(600)"
```

```sh follow
test -s pid && cp pid "$PIDS" && echo one two
```

```text output
one ...
```

## Next

```sh follow
make test
ls -A "$HOME"
```

```text output
served
```
"""


def follow(page: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """The script in a repository that has nothing but this page."""
    repository = folder / "repository"
    (repository / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/follow-readme", repository / "scripts")
    (repository / "README.md").write_text(page, encoding="utf-8")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True)
    return subprocess.run(
        [sys.executable, repository / "scripts/follow-readme", "--skip-tests", "--minutes", "1"],
        env=os.environ | {"TMPDIR": str(folder / "scratch"), "PIDS": str(folder / "pid")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("shown", "code"), [("served", 0), ("something else", 1)])
def test_commands_run_in_order_and_nothing_is_left_behind(shown: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    done = follow(PAGE.replace("\nserved\n", f"\n{shown}\n"), tmp_path)
    assert done.returncode == code, done.stderr
    assert ("README.md keeps its word" in done.stdout) is (code == 0)
    assert ("README.md:18: it shows\nsomething else" in done.stderr) is (code == 1)
    assert list((tmp_path / "scratch").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), 0)
