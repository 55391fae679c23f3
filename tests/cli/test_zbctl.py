"""The words of zbctl lead to commands that exist, and nothing else is changed by them."""

import re
from pathlib import Path

import pytest
import typer

from conjoin.cli.main import app
from conjoin.cli.zbctl import SPELLINGS, as_ours

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(("theirs", "ours"), SPELLINGS.items())
def test_two_words_are_one_of_our_commands(theirs: tuple[str, str], ours: str) -> None:
    assert ours in COMMANDS
    assert as_ours([*theirs, "x", "--json"]) == [ours, "x", "--json"]


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
    assert as_ours(["publish", "message", "message"]) == ["publish", "message"]


def test_page_of_the_commands_names_the_words_of_zbctl() -> None:
    rows = re.findall(r"^\| `conjoin ([a-z-]+)[^|]*\|[^|]*\| `(\w+) (\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert {(verb, noun): ours for ours, verb, noun in rows}.items() <= SPELLINGS.items()
    assert {ours for ours, _, _ in rows} == set(SPELLINGS.values())


def test_every_command_is_named_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGE.parent.glob("*.md"))
    assert [name for name in COMMANDS if f"conjoin {name}" not in text] == []
