"""What is typed on the command line, read: variables, durations, files. What cannot be read is an InputError."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.errors import InputError
from conjoin.kernel.instants import read_duration_ms
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_LONGEST = 100
"""Characters of a duration: the time to look for its parts grows with the square."""
LONGEST_PAUSE_MS = 365 * 86_400_000
"""Between two rounds of a command that goes on: no system sleeps for as long as a duration may be."""
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

Variables = Annotated[
    str,
    typer.Option(
        "--variables", metavar="JSON", help="An object as JSON; @FILE reads it from a file, - from the standard input."
    ),
]
Tenant = Annotated[
    str, typer.Option("--tenantId", "--tenant", metavar="TENANT", help="Whose it is.", show_default=False)
]
CorrelationKey = Annotated[
    str,
    typer.Option("--correlationKey", "--key", metavar="KEY", help="Whom it is meant for.", show_default=False),
]
BusinessId = Annotated[
    str,
    typer.Option(
        "--businessId", "--business-id", metavar="ID", help="What your business calls it.", show_default=False
    ),
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
    whole = read_duration_ms(text)
    if whole is not None:
        return whole
    parts = _PART.findall(text) if len(text) <= _LONGEST else []
    ms = sum(float(number) * _UNITS_MS[unit] for number, unit in parts)
    if not parts or "".join(number + unit for number, unit in parts) != text or ms > LARGEST_INT64:
        raise InputError([f"{option}: {text!r:.60} is not a duration such as 300ms, 30s, 1h30m or 7d"])
    return round(ms)
