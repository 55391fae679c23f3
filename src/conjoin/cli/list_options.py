"""The options of lists, and how they are printed: a table, or one JSON object per line."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from conjoin.cli.engine.port import ToldPage
from conjoin.cli.reading import read_ms
from conjoin.errors import InputError
from conjoin.kernel.instants import after
from conjoin.runtime.codec.json_text import json_text
from conjoin.times.iso8601 import read_instant


def _text(flags: str, help_: str, metavar: str = "TEXT") -> Any:
    return typer.Option(*flags.split(), metavar=metavar, help=help_, show_default=False)


Name = Annotated[str | None, _text("--name", "Only messages of this name.", "NAME")]
Key = Annotated[str | None, _text("--correlationKey --key", "Only with this correlation key.", "KEY")]
TenantId = Annotated[str | None, _text("--tenantId --tenant", "Only of this tenant.", "TENANT")]
Process = Annotated[str | None, _text("--process", "Only of this process.", "ID")]
Instance = Annotated[int | None, _text("--instance", "Only of this instance.", "KEY")]
Element = Annotated[str | None, _text("--element", "Only at this element.", "ID")]
Business = Annotated[str | None, _text("--businessId --business-id", "Only with this business id.", "ID")]
Since = Annotated[str | None, _text("--since", "From this instant on: ISO 8601, or 1h for an hour ago.", "WHEN")]
Until = Annotated[str | None, _text("--until", "Before this instant.", "WHEN")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")]
After = Annotated[str | None, _text("--after", "Continue after the previous page.", "CURSOR")]
Lines = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line; the last may be a cursor for --after.")
]


def read_when(text: str | None, option: str, now: int) -> int | None:
    """An instant; a duration is that long ago."""
    if text is None:
        return None
    instant = read_instant(text if "T" in text else f"{text}T00:00:00Z")
    if instant is not None:
        return instant
    try:
        return after(now, -read_ms(text, option))
    except InputError:
        example = "an instant such as 2026-01-31T08:00:00Z, a day, or a duration such as 1h"
        raise InputError([f"{option}: {text!r} is not {example}"]) from None


def print_page(page: ToldPage, columns: Sequence[str], nothing: str, as_json: bool) -> None:
    items = page.items
    if as_json:
        lines = [json_text(item) for item in items]
        lines += [json_text({"after": page.after})] if page.after else []
    else:
        lines = list(_table(columns, items)) if items else [nothing]
        lines += [f"more: --after {page.after}"] if page.after else []
    for line in lines:
        typer.echo(line)


def _table(columns: Sequence[str], items: Sequence[dict[str, Any]]) -> Iterator[str]:
    rows = [[column.replace("_", " ") for column in columns]]
    rows += [[_cell(item[column]) for column in columns] for item in items]
    widths = [max(len(row[index]) for row in rows) for index in range(len(columns))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(f"{attempt['process']} {attempt['instance']} {attempt['outcome']}" for attempt in value)
    if value in (None, ""):
        return "-"
    # One row is one line, whatever a name or a key holds.
    return "".join(it if it.isprintable() else "\N{REPLACEMENT CHARACTER}" for it in str(value))
