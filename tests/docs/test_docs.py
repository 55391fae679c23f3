"""The documents keep their word: what they show runs, what they name exists, and their tables are complete.

A block that opens with ```python run is run; a ```text output block after it is what it must print. The blocks of one
file share their names. All run in a folder of their own that has our examples/ in it, and a block that opens with
```toml file NAME (or any other language) is a file there. A block that opens with ```sh run has lines of the command;
what it prints may be shown with ... in place of an instant. ```sh follow and ```sh serve are commands of a newcomer:
scripts/follow-readme runs them.
"""

import contextlib
import io
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import typer
import yaml

from conjoin.cli.main import app
from conjoin.cli.main import run as conjoin
from conjoin.kernel.policies import CHOICES, PROFILES, Policy, read_policies
from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.settings import SETTINGS, Settings
from tests.docs.pages import BLOCK, DOCS, PAGES, README, ROOT, blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


_FILE = re.compile(r"\w+ file (\S+)")


class Example(NamedTuple):
    """A block that runs, and what it must print if the document shows it; or the content of a file."""

    is_python: bool
    text: str
    shown: str | None
    file: str = ""


def examples(page: Path) -> Iterator[Example]:
    found = [*blocks(page), ("", "")]
    for (info, text), (next_info, next_text) in pairwise(found):
        if named := _FILE.fullmatch(info):
            yield Example(False, text, None, named[1])
        if info in ("python run", "sh run"):
            yield Example(info == "python run", text, next_text if next_info == "text output" else None)


def code(page: Path) -> list[str]:
    """Everything on the page that stands in code: spans and blocks."""
    text = page.read_text(encoding="utf-8")
    return [*_CODE_SPAN.findall(BLOCK.sub("", text)), *(block for _, block in blocks(page))]


def table_rows(page: Path) -> Iterator[list[str]]:
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def without_ends(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


RUNNING = [page for page in PAGES if any(examples(page))]


_ON_SPARK = (
    "pyspark",
    "spark_session()",
    "conjoin.pipeline.session.session",
    "conjoin spark ",
    "conjoin pipeline ",
    'engine = "spark"',
)


def needs_spark(page: Path) -> bool:
    return any(word in example.text for example in examples(page) for word in _ON_SPARK)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of its own, with our examples in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for key in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"CONJOIN_{key.upper()}", raising=False)
    (tmp_path / "examples").symlink_to(ROOT / "examples")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [page for page in RUNNING if not needs_spark(page)], ids=name_of)
def test_examples_run_and_print_what_the_page_shows(page: Path) -> None:
    run_examples(page)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [page for page in RUNNING if needs_spark(page)], ids=name_of)
def test_examples_with_spark_run_and_print_what_the_page_shows(page: Path, spark: "SparkSession") -> None:
    run_examples(page)


def run_examples(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "example"}
    for example in examples(page):
        if example.file:
            Path(example.file).parent.mkdir(parents=True, exist_ok=True)
            Path(example.file).write_text(example.text)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if example.is_python:
                exec(compile(example.text, name_of(page), "exec"), names)
            else:
                run_lines(example.text)
        if example.shown is not None:
            assert_printed(without_ends(printed.getvalue()), without_ends(example.shown))


def run_lines(text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "conjoin", line
            assert conjoin(words[1:]) == 0, line


def assert_printed(printed: list[str], shown: list[str]) -> None:
    assert len(printed) == len(shown), printed
    for line, pattern in zip(printed, shown, strict=True):
        assert re.fullmatch(re.escape(pattern).replace(re.escape("..."), ".+"), line), f"{line!r} is not {pattern!r}"


def test_every_output_block_follows_the_example_it_belongs_to() -> None:
    for page in PAGES:
        followed = {"sh follow"} if page == README else set()
        for (before, _), (info, text) in pairwise([("", ""), *blocks(page)]):
            if info == "text output":
                assert before in {"python run", "sh run"} | followed, f"{name_of(page)}: {text}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for link in _LINK.findall(text):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if heading:
            assert heading in headings(target), link


def headings(page: Path) -> list[str]:
    """The anchors that a page has, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for text in code(page) for name in re.findall(r"\bmake ([a-z][a-z-]*)", text)}
    assert named <= targets


# Lines, with those they go on in, that call something else.
_FOREIGN = re.compile(
    r"^.*\b(?:curl|git|follow-readme|zbctl|spark-submit|kubectl|conda|venv-pack)\b(?:.*\\\n)*.*$", re.MULTILINE
)


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != DOCS / "decisions"], ids=name_of)
def test_options_of_the_command_exist(page: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    every = list(with_nested(commands))
    known = {option for command in every for parameter in command.params for option in parameter.opts}
    named = {name for text in code(page) for name in re.findall(r"(?<!\S)--[a-z][A-Za-z-]*", _FOREIGN.sub("", text))}
    assert named <= known | {"--help", "--version"}
    called = [
        line
        for text in code(page)
        for line in re.findall(r"^conjoin ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", text, re.MULTILINE)
    ]
    for name, inner in called:
        assert name in commands, name
        assert not inner or inner in getattr(commands[name], "commands", {inner}), f"{name} {inner}"


def with_nested(commands: Mapping[str, Any]) -> Iterator[Any]:
    for command in commands.values():
        yield command
        yield from with_nested(getattr(command, "commands", {}))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_in_the_repository_exist(page: Path) -> None:
    for text in _CODE_SPAN.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if re.fullmatch(r"(src|tests|examples|benchmarks|docs|scripts)/\S+", text):
            assert (ROOT / text).exists(), text


def test_files_of_the_architecture_exist() -> None:
    names = {path.name for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")}
    named = {text for text in code(ROOT / "ARCHITECTURE.md") if re.fullmatch(r"\w+\.py", text)}
    assert named
    assert named <= names


def test_verdicts_page_names_every_reason() -> None:
    text = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    missing = [reason for reasons in REASONS.values() for reason in reasons if f"`{reason}`" not in text]
    assert missing == []


def test_sentences_of_the_verdicts_page_are_the_kernels() -> None:
    text = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    told = 0
    for part in text.split("\n## ")[1:]:
        verdict = part.split("\n", 1)[0]
        for reason, detail, words in re.findall(r"^\| `(\w+)` \| .* \| `(\{.*\})` \| (.*) \|$", part, re.MULTILINE):
            assert reason in REASONS[verdict]
            assert words == sentence(verdict, reason, json.loads(detail), "Money collected", "order-7")
            told += 1
    assert told >= 15
    misses = re.findall(r"^\| `(\w+)` \| `(\{.*\})` \| (.*) \|$", text.split("\n## Near misses")[1], re.MULTILINE)
    assert misses
    for kind, detail, words in misses:
        assert words == near_miss({"kind": kind, **json.loads(detail)})


def test_policies_page_gives_every_policy_with_the_answer_of_each_profile() -> None:
    rows = [row for row in table_rows(DOCS / "policies.md") if row[0].startswith("`")]
    named = {row[0].split("`")[1]: row for row in rows}
    assert set(named) == {field.name for field in fields(Policy) if field.init}
    for question, (_, answers, *by_profile) in named.items():
        assert set(CHOICES.get(question, ())) <= set(re.findall(r"`(\w+)`", answers)), question
        for profile, answer in zip(PROFILES, by_profile, strict=True):
            read, problems = read_policies(profile, {"*": {question: answer.strip("`")}})
            # A mix with the profile's other answers cannot be wrong: it is the profile's own.
            assert problems == []
            assert read.default == PROFILES[profile], f"{profile}: {question} is not {answer}"


def test_settings_page_gives_every_key_with_its_variable_flag_and_default() -> None:
    rows = {row[0].strip("`"): row for row in table_rows(DOCS / "settings.md") if row[0].startswith("`")}
    assert list(rows) == [declared.key for declared in SETTINGS.values()]
    for declared in SETTINGS.values():
        _, variable, flag, default, _ = rows[declared.key]
        assert variable.split()[0] == f"`{declared.variable}`"
        assert flag.strip("`") == (declared.flag or "none")
        expected = "none" if declared.default in (None, {}, []) else str(declared.default)
        assert default.strip("`") == ("false" if declared.default is False else expected)


def test_tables_page_names_every_column_and_output(spark: "SparkSession") -> None:
    from conjoin.pipeline.correlate.columns import TABLES
    from conjoin.pipeline.correlate.correlated import NAMES

    text = (DOCS / "tables.md").read_text(encoding="utf-8")
    columns = {contract.name for table in TABLES.values() for contract in table}
    assert [name for name in sorted(columns) if f"`{name.removeprefix('stricter/')}`" not in text] == []
    assert [name for name in NAMES if f"`.{name}`" not in text] == []


def test_zeebe_page_lists_every_deliberate_difference() -> None:
    deliberate = yaml.safe_load((ROOT / "tests/conformance/deliberate.yaml").read_text(encoding="utf-8"))
    text = (DOCS / "zeebe.md").read_text(encoding="utf-8")
    assert [name for name in deliberate if f"`{name.removeprefix('stricter/')}`" not in text] == []
