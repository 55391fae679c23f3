"""What commands print: complaints, tables, objects as JSON, and addresses without their passwords."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from conjoin.shown_urls import shown_url

JsonObject = dict[str, Any]


def complain(text: str) -> None:
    for line in text.splitlines():
        typer.echo(f"conjoin: {line}", err=True)


def json_line(value: Mapping[str, Any]) -> str:
    # Imported here, as it brings the runtime with it.
    from conjoin.runtime.codec.json_text import json_text

    return json_text(value)


def table(columns: Sequence[str], items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [[column.replace("_", " ") for column in columns]]
    rows += [[_cell(item[column]) for column in columns] for item in items]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(f"{attempt['process']} {attempt['instance']} {attempt['outcome']}" for attempt in value)
    if value in (None, ""):
        return "-"
    # One row is one line, whatever a name or a key holds.
    return "".join(it if it.isprintable() else "\N{REPLACEMENT CHARACTER}" for it in str(value))


def shown(address: str | Path) -> str:
    """Without the password that a URL may hold."""
    return str(address) if isinstance(address, Path) else shown_url(address)
