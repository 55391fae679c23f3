"""The table of attacks names cases that exist, and every case is in it."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[3]


def cases_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {it.name for it in tree.body if isinstance(it, ast.FunctionDef) and it.name.startswith("test_")}


def test_cases_of_the_table_exist_and_all_are_in_it() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)(?:\[.*?\])?`", (HERE / "README.md").read_text())
    files = {file: ROOT / file if "/" in file else HERE / file for file, _ in named}
    known = {file: cases_of(path) for file, path in files.items()}
    assert [(file, case) for file, case in named if case not in known[file]] == []
    here = {
        (path.name, case) for path in HERE.glob("test_*.py") if path.name != "test_table.py" for case in cases_of(path)
    }
    assert sorted(here - set(named)) == []
