"""The house stays in order: folders that can be overlooked, names that mean one thing, nothing that stands twice."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import conjoin

ROOT = Path(conjoin.__file__).parent
REPOSITORY = Path(__file__).parents[1]
MOST_FILES = 15
SAME_LINES = 12
MOST_LINES_OF_ARCHITECTURE = 140


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def test_no_folder_holds_more_files_than_can_be_overlooked() -> None:
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in modules())
    assert [folder for folder, files in folders.items() if files > MOST_FILES] == []


def test_a_class_name_means_one_thing() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in modules())
    defined = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, times in defined.items() if times > 1] == []


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """What counts of a file: no blank lines, comments, imports or lone brackets."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if text.strip("()[]{},") and not text.startswith(("#", "from ", "import ")):
            yield number, text


def test_no_block_stands_twice() -> None:
    places = defaultdict(list)
    for path in modules():
        lines = list(lines_of(path))
        for begin in range(len(lines) - SAME_LINES + 1):
            block = tuple(text for _, text in lines[begin : begin + SAME_LINES])
            places[block].append(f"{path.relative_to(ROOT)}:{lines[begin][0]}")
    assert [where for where in places.values() if len(where) > 1] == []


def test_the_architecture_fits_two_pages() -> None:
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES_OF_ARCHITECTURE
