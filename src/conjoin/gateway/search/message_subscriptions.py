"""The searches for message subscriptions (elements that wait for a message, and message start events) and correlations.

Of subscriptions that are closed, the last of each name and key is known; whether a message closed it is not, so it is
shown as deleted. One that has taken a message and still waits is shown as created.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import ANYTHING, INSTANT, KEY, NUMBER, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.reading.correlations import correlations_of, definition_of_start, start_rows
from conjoin.runtime.reading.finding import rows_with


def _subscriptions(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    instances = rows_with(broker, "instance", (row.instance_key for row in rows if row.instance_key))
    definitions = broker.definitions
    for row in rows:
        instance, is_start, is_open = instances.get(row.instance_key), row.key < 0, row.closed_at is None
        key = definition_of_start(row.key) if is_start else instance.definition_key if instance is not None else 0
        definition = definitions.by_key.get(key) or definitions.latest(row.tenant_id, row.process_id)
        yield [
            {
                **MESSAGE_SUBSCRIPTIONS.columns_of(row),
                "correlationKey": None if is_start else row.correlation_key,
                "messageSubscriptionState": "CREATED" if is_open else "DELETED",
                "messageSubscriptionType": "START_EVENT" if is_start else "PROCESS_EVENT",
                "lastUpdatedDate": row.opened_at if is_open else row.closed_at,
                "rootProcessInstanceKey": None if instance is None else instance.tree_key,
                "processDefinitionKey": None if definition is None else definition.key,
                "processDefinitionName": None if definition is None else definition.plan.name,
                "processDefinitionVersion": None if definition is None else definition.version,
                **{"toolName": None, "inboundConnectorType": None, "toolProperties": {}},
            }
        ]


def _correlations(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    found = [(row, correlations_of(broker, row)) for row in rows]
    instances = rows_with(broker, "instance", (it.instance_key for _, some in found for it in some))
    for row, some in found:
        of_row = CORRELATED_MESSAGE_SUBSCRIPTIONS.columns_of(row)
        items = []
        for it in some:
            if not broker.scope.sees(row.tenant_id, row.name, it.process_id):
                continue
            instance = instances.get(it.instance_key)
            definition_key = it.definition_key or (None if instance is None else instance.definition_key)
            if definition_key is None:
                # The instance was removed when its retention was over; the definition may be an older one.
                latest = broker.definitions.latest(row.tenant_id, it.process_id)
                definition_key = latest.key if latest is not None else 0
            items.append(
                {
                    **of_row,
                    "correlationTime": it.at,
                    "subscriptionKey": it.subscription_key or definition_key,
                    "elementId": it.element_id,
                    "elementInstanceKey": it.element_key,
                    "processInstanceKey": it.instance_key,
                    "rootProcessInstanceKey": it.instance_key if instance is None else instance.tree_key,
                    "processDefinitionId": it.process_id,
                    "processDefinitionKey": definition_key,
                    "partitionId": shard_of(row.correlation_key, broker.shard_count) + 1,
                }
            )
        yield items


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
    _subscriptions,
    more_rows=start_rows,
)

CORRELATED_MESSAGE_SUBSCRIPTIONS = Search(
    "correlated-message-subscriptions",
    "message",
    (
        Field("messageKey", KEY, "key"),
        Field("messageName", TEXT, "name"),
        Field("correlationKey", TEXT, "correlation_key", nullable=True),
        Field("correlationTime", INSTANT),
        Field("subscriptionKey", KEY),
        Field("elementId", TEXT),
        Field("elementInstanceKey", KEY, nullable=True),
        Field("processInstanceKey", KEY),
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("processDefinitionId", TEXT),
        Field("processDefinitionKey", KEY),
        Field("partitionId", NUMBER),
        Field("businessId", TEXT, "business_id", nothing="", nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
    ),
    _correlations,
    {"verdict": (("in", ("correlated", "short")),)},
    is_one=False,
)
