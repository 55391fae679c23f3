"""The words of zbctl lead to commands that exist, and nothing else is changed by them."""

import re
from pathlib import Path

import pytest
import typer

from conjoin.cli.main import SPELLINGS, app, as_ours

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(("theirs", "ours"), SPELLINGS.items())
def test_two_words_are_one_of_our_commands(theirs: tuple[str, str], ours: tuple[str, str]) -> None:
    assert ours[1] in COMMANDS[ours[0]].commands
    assert as_ours([*theirs, "x", "--json"]) == [*ours, "x", "--json"]


def test_our_own_lines_stay_as_they_are() -> None:
    for line in (
        [],
        ["status"],
        ["publish", "paid"],
        ["correlate", "--messages", "m"],
        ["policy", "set", "paid", "a=b"],
    ):
        assert as_ours(line) == line


def test_message_called_message_is_named_after_the_words() -> None:
    assert as_ours(["publish", "message", "message"]) == ["message", "publish", "message"]


def test_page_of_the_commands_names_the_words_of_zbctl() -> None:
    pattern = r"^\| `conjoin ([a-z]+) ([a-z-]+)[^|]*\|[^|]*\| `(\w+) (\w+)` \|$"
    rows = re.findall(pattern, PAGE.read_text(encoding="utf-8"), re.M)
    assert {(verb, noun): (group, ours) for group, ours, verb, noun in rows}.items() <= SPELLINGS.items()
    assert {(group, ours) for group, ours, _, _ in rows} == set(SPELLINGS.values())


def test_every_command_is_named_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGE.parent.glob("*.md"))
    shown = [(name, command) for name, command in COMMANDS.items() if not command.hidden]
    every = [f"conjoin {name} {inner}" for name, command in shown for inner in getattr(command, "commands", {})]
    every += [f"conjoin {name}" for name, command in shown if not hasattr(command, "commands")]
    assert [line for line in every if line not in text] == []
