"""Messages in a file, one JSON object a line. A line that is no message is told with what is wrong, and skipped."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from conjoin.cli.reading import read_ms
from conjoin.errors import InputError
from conjoin.runtime.encoding.json_text import read_json
from conjoin.runtime.messages import NewMessage, unusable

# Our names, those of Zeebe's API, and those of the columns of tables of messages.
SPELLINGS = {
    "name": "name",
    **dict.fromkeys(("key", "correlationKey", "correlation_key"), "key"),
    "variables": "variables",
    **dict.fromkeys(("ttl", "timeToLive", "ttl_ms"), "ttl_ms"),
    **dict.fromkeys(("id", "messageId", "message_id"), "message_id"),
    **dict.fromkeys(("businessId", "business_id"), "business_id"),
    **dict.fromkeys(("tenant", "tenantId", "tenant_id"), "tenant_id"),
}


class BadLine(NamedTuple):
    number: int
    why: str


def read_lines(lines: Iterable[bytes]) -> Iterator[NewMessage | BadLine]:
    """Blank lines are nothing."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            message = _message(line)
            yield BadLine(number, message) if isinstance(message, str) else message


def _message(line: bytes) -> NewMessage | str:
    """The message, or what is wrong with the line."""
    try:
        said = read_json(line)
    except (ValueError, RecursionError) as error:
        return f"is not JSON: {error}"
    if not isinstance(said, dict):
        return "is not an object"
    values: dict[str, Any] = {"name": ""}
    for spelling, value in said.items():
        field = SPELLINGS.get(spelling)
        problem = _unknown(spelling) if field is None else _read(field, value, values)
        if problem:
            return f"{spelling}: {problem}"
    message = NewMessage(**values)
    refusal = unusable(message)
    return message if refusal is None else refusal.text


def _unknown(spelling: str) -> str:
    near = difflib.get_close_matches(spelling, SPELLINGS, n=1)
    return "there is no such field" + (f"; did you mean {near[0]}?" if near else "")


def _read(field: str, value: Any, values: dict[str, Any]) -> str:
    """Puts the value in, and says what is wrong with it. Null is as good as not there."""
    if value is None:
        return ""
    if field == "ttl_ms":
        return _read_ttl(value, values)
    wanted = dict if field == "variables" else str
    if not isinstance(value, wanted):
        return f"{value!r} is not {'an object' if wanted is dict else 'a text'}"
    values[field] = value
    return ""


def _read_ttl(value: Any, values: dict[str, Any]) -> str:
    try:
        values["ttl_ms"] = value if type(value) is int else read_ms(str(value), "ttl")
    except InputError:
        return f"{value!r} is neither milliseconds nor a duration such as 30s or 1h"
    return ""
