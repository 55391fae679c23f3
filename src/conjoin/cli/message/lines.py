"""Messages in a file, one JSON object per line. A line that is no message is reported and skipped."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.ingest.mapping import SPELLINGS, unknown_field
from conjoin.runtime.ingest.rows import Unusable, json_object, message_of


class BadLine(NamedTuple):
    number: int
    why: str


class MessageLine(NamedTuple):
    number: int
    message: NewMessage


def read_lines(lines: Iterable[bytes]) -> Iterator[MessageLine | BadLine]:
    """Blank lines are nothing."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            message = _message(line)
            yield BadLine(number, message) if isinstance(message, str) else MessageLine(number, message)


def _message(line: bytes) -> NewMessage | str:
    """The message, or what is wrong with the line. An unknown field is an error here."""
    try:
        row = json_object(line)
        strange = next((name for name in row if name not in SPELLINGS), None)
        return message_of(row) if strange is None else unknown_field(strange)
    except Unusable as why:
        return str(why)
