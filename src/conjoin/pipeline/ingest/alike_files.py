"""Files that begin alike: Spark is asked about one of them, and its answer holds for the others.

How a file begins is read here if it lies on this machine, as text or as a footer, and only compared: what a header or
a schema means is for Spark to say. A file that cannot be read here, or that is strange, is alike to none.
"""

import gzip
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

_LONGEST = 64 * 1024
_STRANGE = (b'"', b"\r", b"\0", b"\xef\xbb\xbf")
"""A name in quotes may go over several lines."""
_GZIP = ".gz"
_ON_THIS_MACHINE = ("file:///", "file:/")

Answer = TypeVar("Answer")


def asked_once(
    files: Iterable[str],
    looks: Callable[[str], Hashable],
    ask: Callable[[str], Answer],
    failures: tuple[type[Exception], ...],
) -> Iterator[tuple[str, Answer | Exception]]:
    """What `ask` says of each file, or how it fails. `looks` None: alike to none. A failure is of its file alone."""
    answers: dict[Hashable, Answer] = {}
    for file in files:
        look = looks(file)
        if look is not None and look in answers:
            yield file, answers[look]
            continue
        try:
            answer = ask(file)
        except failures as error:
            yield file, error
            continue
        if look is not None:
            answers[look] = answer
        yield file, answer


def first_line(file: str) -> bytes | None:
    """Of a text file."""
    path = _here(file)
    if path is None:
        return None
    try:
        with gzip.open(path) if path.suffix == _GZIP else path.open("rb") as stream:
            line = stream.readline(_LONGEST)
    except (OSError, EOFError):
        return None
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    is_whole = line.endswith(b"\n") and text.strip() and not any(sign in text for sign in _STRANGE)
    return text if is_whole else None


def parquet_look(file: str) -> tuple[str, str] | None:
    """The schema of a Parquet file, with what its writer noted beside it."""
    path = _here(file)
    if path is None:
        return None
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None
    # Its first line is where it lies in memory.
    return str(footer.schema).partition("\n")[2], repr(footer.metadata)


def _here(file: str) -> Path | None:
    """Its path, if it lies on this machine. Spark's names of files are not encoded."""
    before = next((it for it in _ON_THIS_MACHINE if file.startswith(it)), None)
    return None if before is None else Path("/", file.removeprefix(before))
