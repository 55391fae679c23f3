"""Queries of the console about dead letters: one of them, and the message that it was meant to be, as far as it reads.

Nothing of a row is repaired here: an operator does that, and the kernel decides about the message.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.inbox_orders import OperationRefused
from conjoin.runtime.codec.json_text import NOT_JSON, json_text, read_client_json
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.receiving import Row
from conjoin.runtime.ingest.mapping import SPELLINGS
from conjoin.runtime.reading.list_items import dead_letter_items
from conjoin.runtime.reading.lists import LISTS
from conjoin.runtime.visibility.plain_values import to_plain

_FIELDS = ("name", "key", "id", "business_id", "tenant", "ttl")


def dead_letter(broker: Broker, key: int) -> dict[str, Any] | Refusal:
    """With `meant`, the fields of a form."""
    rows = list(broker.store.rows(LISTS["dead-letters"].table, {"key": key}, None, 1))
    if not rows:
        return Refusal("NOT_FOUND", f"There is no dead letter {key} any more: it was retried or deleted")
    [item] = dead_letter_items(broker, rows)
    return {**to_plain(item), "meant": meant(item.row)}


def meant(row: str) -> dict[str, str]:
    """What can be read of a row in our own fields; what cannot stays empty, and the row stands beside the form."""
    try:
        values = read_client_json(row)
    except NOT_JSON:
        values = None
    given: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
    read = {field: given[spelling] for spelling, field in reversed(SPELLINGS.items()) if spelling in given}
    fields = {name: _text(read.get(name)) for name in _FIELDS}
    variables = read.get("variables")
    return {**fields, "variables": json_text(variables) if isinstance(variables, Mapping) else ""}


def _text(value: Any) -> str:
    """Texts and whole numbers are what these fields can be."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def receive_again(inbox: Inbox, letter: Mapping[str, Any], raw: bytes) -> OperationRefused | None:
    """Under the place that the row had in its source, by which the inbox knows it if it has no id of its own."""
    return inbox.receive_corrected(letter["source"], Row(letter["part"], int(letter["position"]), raw))
