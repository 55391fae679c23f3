"""What is typed on the command line, read: variables, times, files. What cannot be read is an InputError."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from conjoin.errors import InputError
from conjoin.kernel.instants import after
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.times.durations import read_duration_ms
from conjoin.times.iso8601 import read_instant

LONGEST_PAUSE_MS = 365 * 86_400_000
"""Between two rounds of a command that goes on: no system sleeps for as long as a duration may be."""
STANDARD_INPUT = "-"
_NOT_FOR_A_FOLDER = re.compile(r"[^\w.-]+")


def read_variables(text: str, option: str = "--variables") -> dict[str, Any]:
    """An object as JSON, `@FILE`, or `-` for the standard input."""
    content: str | bytes = text
    if text == STANDARD_INPUT:
        content = sys.stdin.read()
    elif text.startswith("@"):
        content = read_file(text[1:], option)
    try:
        value = read_client_json(content)
    except NOT_JSON as error:
        raise InputError([f"{option}: is not JSON: {error}"]) from None
    if not isinstance(value, dict):
        raise InputError([f'{option}: is not an object such as {{"orderId": "o-1"}}'])
    return value


@contextmanager
def opened(file: str, option: str = "") -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            content = stack.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise InputError([f"{option}{': ' if option else ''}{file}: {error.strerror}"]) from None
        yield content


def read_file(file: str, option: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError([f"{option}: {file}: {error.strerror}"]) from None


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


def read_when(text: str | None, option: str, now: int, ahead: bool = False) -> int | None:
    """An instant or a day; a duration is that long ago, or `ahead`."""
    if text is None:
        return None
    instant = read_instant(text if "T" in text else f"{text}T00:00:00Z")
    if instant is not None:
        return instant
    try:
        return after(now, read_ms(text, option) * (1 if ahead else -1))
    except InputError:
        example = "an instant such as 2026-01-31T08:00:00Z, a day, or a duration such as 1h"
        raise InputError([f"{option}: {text!r} is not {example}"]) from None


def is_missing(path: str) -> bool:
    """Of a path for Spark, which knows about patterns, other file systems and tables by name (`table:NAME`) itself."""
    return not (re.search(r"[*?\[{]", path) or "://" in path or path.startswith("table:") or Path(path).exists())


def checkpoint_folder(address: str, name: str) -> Path:
    """Where Spark notes how far it came: beside the files of a store, or here where that is somewhere else."""
    folder = Path("conjoin-checkpoints") if "://" in address else Path(address) / "checkpoints"
    return folder / _NOT_FOR_A_FOLDER.sub("_", name)
