"""What is typed on the command line, read: variables, durations, files. What cannot be read is an InputError."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.errors import InputError
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.times.durations import read_duration_ms

LONGEST_PAUSE_MS = 365 * 86_400_000
"""Between two rounds of a command that goes on: no system sleeps for as long as a duration may be."""

Variables = Annotated[
    str,
    typer.Option(
        "--variables", metavar="JSON", help="An object as JSON; @FILE reads it from a file, - from the standard input."
    ),
]
Tenant = Annotated[
    str, typer.Option("--tenantId", "--tenant", metavar="TENANT", help="The tenant it belongs to.", show_default=False)
]
CorrelationKey = Annotated[
    str,
    typer.Option("--correlationKey", "--key", metavar="KEY", help="The correlation key.", show_default=False),
]
BusinessId = Annotated[
    str,
    typer.Option("--businessId", "--business-id", metavar="ID", help="The business id.", show_default=False),
]


def read_variables(text: str, option: str = "--variables") -> dict[str, Any]:
    try:
        value = read_client_json(_content(text, option))
    except NOT_JSON as error:
        raise InputError([f"{option}: is not JSON: {error}"]) from None
    if not isinstance(value, dict):
        raise InputError([f'{option}: is not an object such as {{"orderId": "o-1"}}'])
    return value


def _content(text: str, option: str) -> str | bytes:
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise InputError([f"{option}: {text[1:]}: {error.strerror}"]) from None


def read_files(files: Sequence[Path]) -> list[tuple[str, bytes]]:
    """The name and content of each; all that cannot be read are named at once."""
    read, problems = [], []
    for file in files:
        try:
            read.append((str(file), file.read_bytes()))
        except OSError as error:
            problems.append(f"{file}: {error.strerror}")
    if problems:
        raise InputError(problems)
    return read


def read_ms(text: str, option: str) -> int:
    """Milliseconds of `300ms`, `1.5s`, `1h30m`, `7d`; a bare number is milliseconds."""
    ms = read_duration_ms(text)
    if ms is None:
        raise InputError([f"{option}: {text!r:.60} is not a duration such as 300ms, 30s, 1h30m or 7d"])
    return ms
