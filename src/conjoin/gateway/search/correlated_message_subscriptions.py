"""The search for correlations: each time a message reached a waiting element or started an instance."""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import INSTANT, KEY, NUMBER, TEXT, Field, only_shown
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.reading.correlations import Correlation, correlations_of
from conjoin.runtime.reading.finding import rows_with


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    found = [(row, correlations_of(broker, row)) for row in rows]
    instances = rows_with(broker, "instance", (it.instance_key for _, some in found for it in some))
    for row, some in found:
        seen = [it for it in some if broker.scope.sees(row.tenant_id, row.name, it.process_id)]
        yield [_item(broker, row, it, instances.get(it.instance_key)) for it in seen]


def _item(broker: Broker, row: Any, it: Correlation, instance: Any) -> Item:
    definition_key = it.definition_key or (None if instance is None else instance.definition_key)
    if definition_key is None:
        # The instance was removed when its retention was over; the definition may be an older one.
        latest = broker.definitions.latest(row.tenant_id, it.process_id)
        definition_key = latest.key if latest is not None else 0
    return {
        "messageKey": row.key,
        "messageName": row.name,
        "correlationKey": row.correlation_key,
        "correlationTime": it.at,
        "subscriptionKey": it.subscription_key or definition_key,
        "elementId": it.element_id,
        "elementInstanceKey": it.element_key,
        "processInstanceKey": it.instance_key,
        "rootProcessInstanceKey": it.instance_key if instance is None else instance.tree_key,
        "processDefinitionId": it.process_id,
        "processDefinitionKey": definition_key,
        "partitionId": shard_of(row.correlation_key, broker.shard_count) + 1,
        "businessId": row.business_id or None,
        "tenantId": row.tenant_id,
    }


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
    _items,
    {"verdict": (("in", ("correlated", "short")),)},
    is_one=False,
)
