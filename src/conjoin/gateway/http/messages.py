"""A message as our own endpoints and the console take it: the fields of a row of a source, in any of their spellings.

`{"name": "paid", "key": "o-1", "id": "p-17", "ttl": "1h", "variables": {}, "tenant": "", "business_id": ""}`
"""

from collections.abc import Mapping
from typing import Any

from conjoin.gateway.http.problems import invalid
from conjoin.gateway.http.reading import tenant_of
from conjoin.gateway.tenants import unusable_tenant
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.ingest.mapping import SPELLINGS, unknown_field
from conjoin.runtime.ingest.rows import Unusable, json_object, message_of


def new_message(said: Mapping[str, Any]) -> NewMessage:
    message = _read(said)
    if isinstance(message, str):
        raise invalid(f"The message {message}" if message.startswith(("is ", "has ")) else message)
    tenant_of(message.tenant_id)
    return message


def read_line(line: bytes) -> NewMessage | str:
    """The message, or what is wrong with the line."""
    try:
        message = _read(json_object(line))
    except Unusable as why:
        return str(why)
    problem = None if isinstance(message, str) else unusable_tenant([message.tenant_id])
    return message if problem is None else problem.text


def _read(said: Mapping[str, Any]) -> NewMessage | str:
    strange = next((name for name in said if name not in SPELLINGS), None)
    if strange is not None:
        return unknown_field(strange)
    try:
        return message_of(said)
    except Unusable as why:
        return str(why)
