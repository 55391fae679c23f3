"""Rows of a file: lines of JSON, or CSV with a header, of which each row is an object of texts. No Spark here.

Rows are numbered from 1 as they stand in the file. One that cannot be read says why, and those behind it are read.
"""

import csv
import io
from collections.abc import Callable, Iterator
from itertools import count
from typing import BinaryIO

from conjoin.errors import InputError
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.inbox.receiving.channel_rows import Row

JSON_LINES, CSV = "jsonl", "csv"
FORMATS = (JSON_LINES, CSV)
_LONGEST_VALUE = 64 * 1_048_576
_ENDINGS = {".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".json": JSON_LINES, ".csv": CSV}


def format_of(name: str) -> str | None:
    """By what its name ends with."""
    return next((format_ for ending, format_ in _ENDINGS.items() if name.lower().endswith(ending)), None)


def read_rows(lines: BinaryIO, source: str, format_: str) -> Iterator[Row]:
    """`format_` is one of FORMATS. Blank lines are nothing."""
    return _READERS[format_](lines, source)


def _json_lines(lines: BinaryIO, source: str) -> Iterator[Row]:
    return (Row(source, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _csv(lines: BinaryIO, source: str) -> Iterator[Row]:
    # Bytes that are no text are kept, so that only their row is refused.
    text = io.TextIOWrapper(lines, "utf-8-sig", "surrogateescape", newline="")
    try:
        yield from _csv_rows(text, source)
    finally:
        text.detach()


def _csv_rows(text: io.TextIOWrapper, source: str) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_VALUE)
    consumed: list[str] = []
    reader = csv.reader(_noted(text, consumed), strict=True)
    header = _header(reader, source)
    for number in count(1):
        consumed.clear()
        try:
            values = next(reader, None)
        except csv.Error as error:
            yield Row(source, number, _bytes(consumed), problem=str(error))
            continue
        if values is None:
            return
        if values:
            yield _csv_row(Row(source, number, _bytes(consumed)), header, values)


def _noted(lines: Iterator[str], consumed: list[str]) -> Iterator[str]:
    for line in lines:
        consumed.append(line)
        yield line


def _bytes(lines: list[str]) -> bytes:
    return "".join(lines).rstrip("\r\n").encode("utf-8", "surrogateescape")


def _header(reader: Iterator[list[str]], source: str) -> list[str]:
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise InputError([f"{source}: the header cannot be read: {error}"]) from None
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError([f"{source}: the header names {', '.join(map(repr, twice))} twice"])
    return header


def _csv_row(row: Row, header: list[str], values: list[str]) -> Row:
    """As an object. An empty value is none."""
    if len(values) != len(header):
        return row._replace(problem=f"has {len(values)} values, and the header has {len(header)}")
    try:
        return row._replace(raw=json_bytes({name: it or None for name, it in zip(header, values, strict=True)}))
    except UnicodeEncodeError:
        return row._replace(problem="is not UTF-8")


_READERS: dict[str, Callable[[BinaryIO, str], Iterator[Row]]] = {JSON_LINES: _json_lines, CSV: _csv}
