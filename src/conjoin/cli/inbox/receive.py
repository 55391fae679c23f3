"""conjoin inbox receive: rows of files into a channel. What cannot be read becomes a dead letter; the rest goes on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import typer

from conjoin.cli.inbox.opening import opened_inbox
from conjoin.cli.inbox.telling import counted, in_words
from conjoin.cli.printing import AsJson, tell
from conjoin.cli.store_option import Data, StoreUrl
from conjoin.errors import InputError
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.receiving import FORMATS, JSON_LINES, format_of, read_rows
from conjoin.runtime.inbox.rows import text_to_keep

_STANDARD_INPUT = "-"
_AT_ONCE = 5_000
_LONGEST_SOURCE = 200
"""With the number of a row behind it, it is the id of a message."""


class _Input(NamedTuple):
    name: str
    source: str
    format: str


def receive(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="The name of a channel in the settings.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="- is the standard input.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="jsonl or csv. Default: as the name ends.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Names one file for its rows. Default: its path.", show_default=False),
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Receive messages from files: lines of JSON, or CSV with a header.

    With a mapping in its channel a row is what the mapping makes of it. Without one a row has the fields of a message:

      {"id": "m-1", "name": "paid", "key": "o-1", "variables": {"amount": 40}}

    A row without an id is known by its place, source and number: read again, it is a duplicate, and is not stored.
    A row that cannot be read is kept as a dead letter with its reason (conjoin store dead-letters).

    [bold]Examples[/bold]

      conjoin inbox receive orders monday.jsonl tuesday.csv

      kafkacat -C -t orders -e | conjoin inbox receive orders - --source orders-monday
    """
    inputs = _inputs(files, format_, source)
    counts = Counts()
    with opened_inbox(data, store) as inbox:
        if not inbox.channel(channel).enabled:
            raise InputError([f"the channel {channel!r} is not enabled"])
        for one in inputs:
            counts += _receive(inbox, channel, one)
    found = counted(counts)
    tell({"received": 0, **found}, in_words(found, "no rows"), as_json)


def _receive(inbox: Inbox, channel: str, one: _Input) -> Counts:
    counts = Counts()
    source = one.source or f"standard input {inbox.shards.now}"
    with _opened(one.name) as lines:
        rows = read_rows(lines, source, one.format)
        while some := list(islice(rows, _AT_ONCE)):
            counts += inbox.receive_rows(channel, some)
    return counts


def _inputs(files: list[str], format_: str | None, source: str | None) -> list[_Input]:
    problems = [f"{name}: cannot be given twice" for name in dict.fromkeys(files) if files.count(name) > 1]
    if format_ is not None and format_ not in FORMATS:
        problems.append(f"--format: {format_!r} is none of {', '.join(FORMATS)}")
    if source is not None and len(files) > 1:
        problems.append("--source: names the rows of one file, and several are given")
    found = []
    for name in files:
        how = format_ or (JSON_LINES if name == _STANDARD_INPUT else format_of(name))
        problems += _unreadable(name, how)
        found.append(_Input(name, _source(name) if source is None else source, how or JSON_LINES))
    if problems:
        raise InputError(problems)
    return found


def _unreadable(name: str, format_: str | None) -> Iterator[str]:
    """Before anything is received."""
    if name == _STANDARD_INPUT:
        return
    try:
        Path(name).open("rb").close()
    except OSError as error:
        yield f"{name}: {error.strerror}"
        return
    if format_ is None:
        yield f"{name}: does not end with .jsonl, .ndjson, .json or .csv; say which it is with --format"


def _source(name: str) -> str:
    """The place of a file, which is the same wherever the command is typed; what comes through a pipe has none."""
    if name == _STANDARD_INPUT:
        return ""
    path = text_to_keep(str(Path(name).absolute()))
    if len(path) <= _LONGEST_SOURCE:
        return path
    return f"{Path(path).name[-100:]}#{sha256(path.encode()).hexdigest()}"


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == _STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as lines:
        yield lines
