"""The search for open incidents. Resolved ones leave nothing behind.

The store keeps no time of its own for an incident: `creationTime` is the start of its instance.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import INSTANT, KEY, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.gateway.search.instance_facts import facts_of
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instances import shown_text

_TYPES = (
    *("CALLED_ELEMENT_ERROR", "CONDITION_ERROR", "EXTRACT_VALUE_ERROR", "IO_MAPPING_ERROR", "JOB_NO_RETRIES"),
    "UNHANDLED_ERROR_EVENT",
)
_STORED = {**{word: (word,) for word in _TYPES}, "UNKNOWN": ("DUPLICATE_SUBSCRIPTION",)}
_OTHERS = (
    *("AD_HOC_SUB_PROCESS_NO_RETRIES", "CALLED_DECISION_ERROR", "DECISION_EVALUATION_ERROR", "FORM_NOT_FOUND"),
    *("EXECUTION_LISTENER_NO_RETRIES", "MESSAGE_SIZE_EXCEEDED", "RESOURCE_NOT_FOUND", "TASK_LISTENER_NO_RETRIES"),
    "UNSPECIFIED",
)
"""Clients may ask for them; no incident here has one."""


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    instances = facts_of(broker, rows)
    for row in rows:
        its = instances.get(row.instance_key)
        yield [] if its is None else [_item(row, its, shown_text(broker.hiding, row.text, its.row))]


def _item(row: Any, its: Any, text: str) -> Item:
    return {
        "incidentKey": row.key,
        "processDefinitionId": its.process_id,
        "processDefinitionKey": its.definition_key,
        "processInstanceKey": row.instance_key,
        "rootProcessInstanceKey": its.root_key,
        "elementId": row.element_id,
        "elementInstanceKey": row.element_key,
        "jobKey": row.job_key or None,
        "errorType": row.error_type if row.error_type in _TYPES else "UNKNOWN",
        "errorMessage": text,
        "creationTime": its.started_at,
        "state": "ACTIVE",
        "tenantId": its.tenant_id,
    }


INCIDENTS = Search(
    "incidents",
    "incident",
    (
        Field("incidentKey", KEY, "key"),
        Field("processDefinitionId", TEXT),
        Field("processDefinitionKey", KEY),
        Field("processInstanceKey", KEY, "instance_key"),
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("elementId", TEXT, "element_id"),
        Field("elementInstanceKey", KEY, "element_key"),
        Field("jobKey", KEY, "job_key", nothing=0, nullable=True),
        Field("errorType", words(*_STORED, *_OTHERS), "error_type", stored=_STORED),
        Field("errorMessage", TEXT, "text", sorts=False, quotes=True),
        Field("creationTime", INSTANT),
        Field("state", words("ACTIVE", "MIGRATED", "PENDING", "RESOLVED", "UNKNOWN")),
        Field("tenantId", TEXT),
    ),
    _items,
)
