"""The search for message subscriptions: elements that wait for a message, and the message start events of processes.

Of those that are closed, the last of each name and key is known; whether a message closed it is not, so it is told as
deleted. One that has taken a message and still waits is told as created.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import ANYTHING, INSTANT, KEY, NUMBER, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.start_rows import definition_of_start, start_rows


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    instances = rows_with(broker, "instance", (row.instance_key for row in rows if row.instance_key))
    definitions = broker.definitions
    for row in rows:
        instance = instances.get(row.instance_key)
        key = definition_of_start(row.key) if row.key < 0 else instance.definition_key if instance is not None else 0
        definition = definitions.by_key.get(key) or definitions.latest(row.tenant_id, row.process_id)
        yield [_item(row, instance, definition)]


def _item(row: Any, instance: Any, definition: Any) -> Item:
    is_start = row.key < 0
    return {
        "messageSubscriptionKey": row.key,
        "messageName": row.name,
        "correlationKey": None if is_start else row.correlation_key,
        "messageSubscriptionState": "CREATED" if row.closed_at is None else "DELETED",
        "messageSubscriptionType": "START_EVENT" if is_start else "PROCESS_EVENT",
        "lastUpdatedDate": row.opened_at if row.closed_at is None else row.closed_at,
        "elementId": row.element_id,
        "elementInstanceKey": row.element_key or None,
        "processInstanceKey": row.instance_key or None,
        "rootProcessInstanceKey": None if instance is None else instance.tree_key,
        "processDefinitionId": row.process_id,
        "processDefinitionKey": None if definition is None else definition.key,
        "processDefinitionName": None if definition is None else definition.plan.name,
        "processDefinitionVersion": None if definition is None else definition.version,
        "businessId": row.business_id or None,
        "tenantId": row.tenant_id,
        **{"toolName": None, "inboundConnectorType": None, "toolProperties": {}},
    }


MESSAGE_SUBSCRIPTIONS = Search(
    "message-subscriptions",
    "subscription",
    (
        Field("messageSubscriptionKey", KEY, "key"),
        Field("messageName", TEXT, "name"),
        Field("correlationKey", TEXT, "correlation_key", nullable=True),
        Field("messageSubscriptionState", words("CREATED", "CORRELATED", "DELETED", "MIGRATED")),
        Field("messageSubscriptionType", words("START_EVENT", "PROCESS_EVENT")),
        Field("lastUpdatedDate", INSTANT),
        Field("elementId", TEXT, "element_id"),
        Field("elementInstanceKey", KEY, "element_key", nothing=0, nullable=True),
        Field("processInstanceKey", KEY, "instance_key", nothing=0, nullable=True),
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("processDefinitionId", TEXT, "process_id"),
        Field("processDefinitionKey", KEY, sorts=False, nullable=True),
        Field("processDefinitionName", TEXT, nullable=True),
        Field("processDefinitionVersion", NUMBER, nullable=True),
        Field("businessId", TEXT, "business_id", nothing="", nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
        Field("toolName", TEXT, nullable=True),
        Field("inboundConnectorType", TEXT, nullable=True),
        only_shown("toolProperties", ANYTHING),
    ),
    _items,
    more_rows=start_rows,
)
