"""What mypyc gets to see of a source: constructors in full, and every line where it was."""

import ast
from pathlib import Path

import pytest

from compiling.building import sources
from compiling.sources import written_out

SOURCE = '''
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Sent(Event):
    """With what it carries."""

    message: "Message"
    at: int = 0
    """When."""
    seen: bool = field(default=False, init=False)
    marks: list[str] = field(init=False)

    def apply(self) -> None:
        pass


@dataclass(slots=True)
class Stopped(Event):
    at: int


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
'''


def test_a_constructor_is_written_into_the_empty_line_behind_the_fields() -> None:
    lines = written_out(SOURCE).splitlines()
    assert lines[4] == "@dataclass(eq=False, init=False)"
    assert lines[13] == (
        "    def __init__(self, message: 'Message', at: int = 0) -> None: "
        "self.message = message; self.at = at; self.seen = False"
    )
    assert lines[21] == "    def __init__(self, at: int) -> None: self.at = at"


def test_what_is_frozen_can_be_filled_by_pickle_and_keeps_its_hash() -> None:
    assert written_out(SOURCE).splitlines()[23:] == [
        "@dataclass(unsafe_hash=True, init=False)",
        "class Policy:",
        "    name: str",
        "    def __init__(self, name: str) -> None: self.name = name",
        "import conjoin.compiled; conjoin.compiled.pickle_by_arguments(Sent, Stopped, Policy)",
    ]


def test_a_constructor_that_calls_factories_stays_generated() -> None:
    source = "@dataclass(eq=False)\nclass Seen:\n    by: dict[int, int] = field(default_factory=dict)\n"
    assert written_out(source) == source


def test_a_class_with_interpreted_subclasses_says_so_without_needing_a_package_for_it() -> None:
    lines = written_out("from typing import Any\nfrom abc import ABC\n\n\nclass Shard(ABC):\n    pass\n").splitlines()
    assert lines == [
        "from typing import Any; from typing import TYPE_CHECKING",
        "from abc import ABC",
        "if TYPE_CHECKING: from mypy_extensions import mypyc_attr",
        "@mypyc_attr(allow_interpreted_subclasses=True)",
        "class Shard(ABC):",
        "    pass",
    ]


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_every_line_of_what_is_compiled_keeps_its_number(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert _functions(written_out(source)) == _functions(source)


def _functions(source: str) -> list[tuple[str, int]]:
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return [(node.name, node.lineno) for node in found if node.name != "__init__"]


def test_a_place_that_is_taken_is_not_written_over() -> None:
    with pytest.raises(ValueError, match="line 4 is not empty"):
        written_out("@dataclass()\nclass Sent:\n    at: int\n    def apply(self) -> None: ...\n")
