"""The page about the data source lists every table, every column with its type, and every option."""

import re
from pathlib import Path

import pytest

from conjoin.pipeline.source import options
from conjoin.pipeline.source.tables import TABLES

PAGE = (Path(__file__).parents[3] / "docs/data-source.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")[1:]}


def rows_of(section: str) -> list[list[str]]:
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("table", TABLES)
def test_the_page_lists_the_columns_of_each_table(table: str) -> None:
    told = [(name.strip("`"), type_.replace("&lt;", "<").replace("&gt;", ">")) for name, type_, *_ in rows_of(table)]
    schema = TABLES[table].schema(TABLES[table].columns)
    assert told == [(field.name, field.dataType.simpleString()) for field in schema.fields]


def test_the_page_lists_no_other_table() -> None:
    assert [name for name in SECTIONS if re.fullmatch(r"[a-z_]+", name)] == list(TABLES)


def test_the_page_lists_the_options() -> None:
    assert [name.strip("`") for name, *_ in rows_of("Options")] == list(options.OPTIONS)
    assert f"(1 to {options.MOST_PARTS}" in SECTIONS["Options"]
    assert [name.strip("`") for name, *_ in rows_of("Publishing")] == list(options.WRITE_OPTIONS)
