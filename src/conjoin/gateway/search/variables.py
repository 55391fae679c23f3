"""The search for variables of instances, running and ended. A value is told as JSON, and a long one is cut."""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import FLAG, KEY, TEXT, Field, only_shown
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.reading.instances import variables_of

CUT_AT = 8_191
"""Characters; what is longer is shown whole on request, and by `GET /v2/variables/{key}`."""


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    for row in rows:
        yield [_item(row, it, broker.hiding.value(it.name, it.value)) for it in variables_of(row)]


def _item(row: Any, it: Any, shown: Any) -> Item:
    value = json_text(shown)
    return {
        "variableKey": it.key,
        "name": it.name,
        "value": value,
        "isTruncated": len(value) > CUT_AT,
        "scopeKey": it.scope_key,
        "processInstanceKey": row.key,
        "rootProcessInstanceKey": row.tree_key,
        "tenantId": row.tenant_id,
    }


def cut(told: dict[str, Any]) -> dict[str, Any]:
    """As a list shows it."""
    return told | {"value": told["value"][:CUT_AT]} if told["isTruncated"] else told


VARIABLES = Search(
    "variables",
    "instance",
    (
        Field("variableKey", KEY),
        Field("name", TEXT),
        Field("value", TEXT),
        Field("isTruncated", FLAG, sorts=False),
        Field("scopeKey", KEY),
        Field("processInstanceKey", KEY, "key"),
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
    ),
    _items,
    is_one=False,
)
