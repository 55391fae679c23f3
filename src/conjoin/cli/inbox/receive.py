"""conjoin inbox receive: rows of files into a channel. What cannot be read becomes a dead letter; the rest goes on."""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from conjoin.cli.inbox.access import counted, in_words, operators_inbox
from conjoin.cli.invocation import CommandCall, on_engine
from conjoin.cli.options import option
from conjoin.cli.reading import STANDARD_INPUT, opened
from conjoin.errors import InputError
from conjoin.runtime.inbox.receiving import FORMATS, JSON_LINES, format_of, read_rows
from conjoin.runtime.inbox.rows import text_to_keep

BAD_LINES = 1
_LONGEST_SOURCE = 200
"""With the number of a row behind it, it is the id of a message."""


class _Input(NamedTuple):
    name: str
    source: str
    format: str


@on_engine(
    "conjoin inbox receive orders monday.jsonl tuesday.csv",
    "kafkacat -C -t orders -e | conjoin inbox receive orders - --source orders-monday",
)
def receive(
    call: CommandCall,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="The name of a channel in the settings.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="- is the standard input.")],
    format_: Annotated[str | None, option("--format", "jsonl or csv. Default: as the name ends.", "FORMAT")] = None,
    source: Annotated[str | None, option("--source", "Names one file for its rows. Default: its path.", "NAME")] = None,
) -> None:
    """Receive messages from files: lines of JSON, or CSV with a header.

    With a mapping in its channel a row is what the mapping makes of it. Without one a row has the fields of a message:

      {"id": "m-1", "name": "paid", "key": "o-1", "variables": {"amount": 40}}

    A row without an id is known by its source and number: read again, it is a duplicate, and is not stored.
    A row that cannot be read is kept as a dead letter with its reason (conjoin store dead-letters).
    """
    inputs, counts = _inputs(files, format_, source), Counter[str]()
    with operators_inbox(call) as inbox:
        inbox.check_channel(channel)
        for one in inputs:
            with opened(one.name) as lines:
                name = one.source or f"standard input {inbox.now}"
                counts += inbox.receive(channel, read_rows(lines, name, one.format))
    found = counted(counts)
    call.print({"received": 0, **found}, in_words(found, "no rows"))
    if counts["bad_lines"]:
        raise typer.Exit(BAD_LINES)


def _inputs(files: list[str], format_: str | None, source: str | None) -> list[_Input]:
    problems = [f"{name}: cannot be given twice" for name in dict.fromkeys(files) if files.count(name) > 1]
    if format_ is not None and format_ not in FORMATS:
        problems.append(f"--format: {format_!r} is none of {', '.join(FORMATS)}")
    if source is not None and len(files) > 1:
        problems.append("--source: names the rows of one file, and several are given")
    found = []
    for name in files:
        how = format_ or (JSON_LINES if name == STANDARD_INPUT else format_of(name))
        problems += _unreadable(name, how)
        found.append(_Input(name, _source(name) if source is None else source, how or JSON_LINES))
    if problems:
        raise InputError(problems)
    return found


def _unreadable(name: str, format_: str | None) -> Iterator[str]:
    """Before anything is received."""
    if name == STANDARD_INPUT:
        return
    try:
        Path(name).open("rb").close()
    except OSError as error:
        yield f"{name}: {error.strerror}"
        return
    if format_ is None:
        yield f"{name}: does not end with .jsonl, .ndjson, .json or .csv; say which it is with --format"


def _source(name: str) -> str:
    """The path of a file, which is the same wherever the command is typed; what comes through a pipe has none."""
    if name == STANDARD_INPUT:
        return ""
    path = text_to_keep(str(Path(name).absolute()))
    if len(path) <= _LONGEST_SOURCE:
        return path
    return f"{Path(path).name[-100:]}#{sha256(path.encode()).hexdigest()}"
