"""Commands are imported when they are called: the server waits for nothing that it does not need."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from conjoin.cli.commands import COMMANDS, HIDDEN, Group, Lazily
from conjoin.cli.main import run
from tests.cli.command import Command

IMPORTED = """
import sys
from conjoin.cli.main import run
run(["--version"])
assert not any(name.startswith("conjoin.runtime") for name in sys.modules), "for a version"
run(["serve", "--help"])
import conjoin.console.app, conjoin.demo.opening, conjoin.gateway.serving
print(*sys.modules)
"""


def test_server_imports_neither_spark_nor_other_commands() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, timeout=60, check=True)
    there = ran.stdout.splitlines()[-1].split()
    assert "conjoin.gateway.serving" in there
    assert {"pyspark", "pandas", "pyarrow", "numpy", "py4j"} & {name.partition(".")[0] for name in there} == set()
    assert {f"conjoin.cli.{name}" for name in ("spark.correlate", "spark.report", "inbox", "lists")} & set(
        there
    ) == set()
    assert not [name for name in there if name.startswith("conjoin.pipeline")]


def commands(table: Mapping[str, str | Group], found: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, what in table.items():
        yield name, getattr(what, "panel", ""), found[name]
        if isinstance(what, Group):
            yield from commands(what.commands, found[name].commands)


def test_every_command_is_found_under_its_name_with_a_line_of_help() -> None:
    every = Lazily(COMMANDS, HIDDEN)
    for name, panel, command in commands({**COMMANDS, **HIDDEN}, every):
        assert (command.name, bool(command.help)) == (name, True)
        assert command.rich_help_panel == panel or not panel
    assert "pulbish" not in every
    assert len(every) == len(COMMANDS) + len(HIDDEN)


def leaves(command: Any) -> Iterator[Any]:
    inside = getattr(command, "commands", {})
    for name in inside:
        yield from leaves(inside[name])
    if not inside:
        yield command


LEAVES = {it.callback.__module__ + ":" + it.name: it for group in COMMANDS for it in leaves(Lazily(COMMANDS)[group])}


@pytest.mark.parametrize("command", LEAVES.values(), ids=LEAVES)
def test_help_shows_all_that_it_says_in_80_columns(
    command: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        command.main(["--help"], prog_name="conjoin")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    told = re.sub(r"\[/?bold\]", "", command.help).replace("\\[", "[").split("\n\n")
    assert [one for one in told if " ".join(one.split()) not in words] == []


def test_names_from_before_the_groups_are_the_same_commands_and_hidden() -> None:
    every = Lazily(COMMANDS, HIDDEN)
    for group, name in (("message", "publish"), ("job", "throw-error"), ("store", "set-aside"), ("spark", "correlate")):
        old, new = every[name], every[group].commands[name]
        assert (old.hidden, new.hidden, old.help) == (True, False, new.help)
        assert [it.opts for it in old.params] == [it.opts for it in new.params]
    assert not {name for name in COMMANDS if every[name].hidden}


def test_help_shows_the_groups_and_no_name_from_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    shown = {line.split()[1] for line in told.splitlines() if line.startswith("│ ") and line[2] != " "}
    assert set(COMMANDS) <= shown
    assert not set(HIDDEN) & shown
    assert "conjoin serve --demo" in told


@pytest.mark.parametrize("what", ["messages", "subscriptions", "instances", "incidents", "jobs", "dead-letters"])
def test_plural_without_a_command_lists(what: str, shop: Command) -> None:
    assert shop.tells(what) == shop.tells(f"{what} list") == f"no {what.replace('-', ' ')}"
    assert shop.tells(f"{what} --limit 3 --json") == ""
    assert "--limit" in shop.tells(f"{what} list --help")
