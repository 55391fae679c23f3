"""A message as our own endpoints take it: the fields of a row of a source, in any of their spellings.

`{"name": "paid", "key": "o-1", "id": "p-17", "ttl": "1h", "variables": {}, "tenant": "", "business_id": ""}`
"""

from collections.abc import Mapping
from typing import Any

from conjoin.gateway.rest.problems import invalid
from conjoin.gateway.rest.reading import tenant_of
from conjoin.runtime.ingest.mapping import SPELLINGS, unknown_field
from conjoin.runtime.ingest.rows import Unusable, json_object, message_of
from conjoin.runtime.messages import NewMessage

_TEXT = {"type": "string"}
_NAMES = {"name": _TEXT, "key": _TEXT, "id": _TEXT, "variables": {"type": "object"}, "tenant": _TEXT}
MESSAGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {**_NAMES, "ttl": {"type": ["string", "integer"]}, "business_id": _TEXT, "published_at": _TEXT},
    "additionalProperties": False,
}


def new_message(said: Mapping[str, Any]) -> NewMessage:
    message = _read(said)
    if isinstance(message, str):
        raise invalid(f"The message {message}" if message.startswith(("is ", "has ")) else message)
    tenant_of(message.tenant_id)
    return message


def read_line(line: bytes) -> NewMessage | str:
    """The message, or what is wrong with the line."""
    try:
        return _read(json_object(line))
    except Unusable as why:
        return str(why)


def _read(said: Mapping[str, Any]) -> NewMessage | str:
    strange = next((name for name in said if name not in SPELLINGS), None)
    if strange is not None:
        return unknown_field(strange)
    try:
        return message_of(said)
    except Unusable as why:
        return str(why)
