"""The search for process definitions: every version that was deployed."""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import FLAG, KEY, NUMBER, TEXT, Field, words
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    definitions = broker.definitions
    for row in rows:
        plan = definitions.by_key[row.key].plan
        latest = definitions.latest(row.tenant_id, row.process_id)
        yield [
            {
                "processDefinitionKey": row.key,
                "processDefinitionId": row.process_id,
                "name": plan.name,
                "resourceName": row.resource,
                "version": row.version,
                "versionTag": plan.version_tag,
                "tenantId": row.tenant_id,
                "hasStartForm": False,
                "state": "ACTIVE",
                "isLatestVersion": latest is not None and latest.key == row.key,
            }
        ]


PROCESS_DEFINITIONS = Search(
    "process-definitions",
    "definition",
    (
        Field("processDefinitionKey", KEY, "key"),
        Field("processDefinitionId", TEXT, "process_id"),
        Field("name", TEXT, nullable=True),
        Field("resourceName", TEXT, "resource"),
        Field("version", NUMBER, "version"),
        Field("versionTag", TEXT, nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
        Field("hasStartForm", FLAG, sorts=False),
        Field("state", words("ACTIVE", "DRAINING", "DELETED"), sorts=False),
        Field("isLatestVersion", FLAG, sorts=False, is_shown=False),
    ),
    _items,
)
