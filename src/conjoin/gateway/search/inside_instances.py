"""The searches for what is inside instances: element instances, variables, open incidents.

What has ended inside leaves nothing behind, nor does an incident that was resolved. The store keeps no time for them:
`startDate` and `creationTime` are the start of the instance.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import FLAG, INSTANT, KEY, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.search import OF_ELEMENT, Item, Search, with_instances
from conjoin.gateway.search.processes import STATES
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.reading.instances import elements_of, shown_text, variables_of

_TYPES = {
    **{"process": "PROCESS", "subprocess": "SUB_PROCESS", "event_subprocess": "EVENT_SUB_PROCESS"},
    **{"call_activity": "CALL_ACTIVITY", "start_event": "START_EVENT", "end_event": "END_EVENT"},
    **{"catch_event": "INTERMEDIATE_CATCH_EVENT", "throw_event": "INTERMEDIATE_THROW_EVENT"},
    **{"boundary_event": "BOUNDARY_EVENT", "exclusive_gateway": "EXCLUSIVE_GATEWAY"},
    **{"parallel_gateway": "PARALLEL_GATEWAY", "inclusive_gateway": "INCLUSIVE_GATEWAY"},
    **{"event_gateway": "EVENT_BASED_GATEWAY", "job_task": "SERVICE_TASK", "user_task": "USER_TASK"},
    **{"receive_task": "RECEIVE_TASK", "script_task": "SCRIPT_TASK", "pass_task": "TASK"},
}
_MULTI_INSTANCE = "MULTI_INSTANCE_BODY"
CUT_AT = 8_191
"""Characters; what is longer is shown whole on request, and by `GET /v2/variables/{key}`."""
_INCIDENTS = (
    *("CALLED_ELEMENT_ERROR", "CONDITION_ERROR", "EXTRACT_VALUE_ERROR", "IO_MAPPING_ERROR", "JOB_NO_RETRIES"),
    "UNHANDLED_ERROR_EVENT",
)
_INCIDENT_TYPES = {**{word: (word,) for word in _INCIDENTS}, "UNKNOWN": ("DUPLICATE_SUBSCRIPTION",)}
_OTHER_INCIDENTS = (
    *("AD_HOC_SUB_PROCESS_NO_RETRIES", "CALLED_DECISION_ERROR", "DECISION_EVALUATION_ERROR", "FORM_NOT_FOUND"),
    *("EXECUTION_LISTENER_NO_RETRIES", "MESSAGE_SIZE_EXCEEDED", "RESOURCE_NOT_FOUND", "TASK_LISTENER_NO_RETRIES"),
    "UNSPECIFIED",
)
"""Clients may filter for them; no incident here has one."""


def _elements(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    for row in rows:
        plan, of_row = broker.definitions.by_key[row.definition_key].plan, ELEMENT_INSTANCES.columns_of(row)
        items = []
        for it in elements_of(row):
            is_root = it.scope_key == 0
            element = plan.root if is_root else plan.elements[it.element_id]
            items.append(
                {
                    **of_row,
                    "elementInstanceKey": it.key,
                    "elementId": element.id,
                    "elementName": element.name or element.id,
                    "type": _MULTI_INSTANCE if it.is_loop else _TYPES[element.kind],
                    "hasIncident": it.incident_key != 0 or (is_root and row.incidents > 0),
                    "incidentKey": it.incident_key or None,
                    "elementInstanceScopeKey": it.scope_key or None,
                }
            )
        yield items


def _variables(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    for row in rows:
        of_row = VARIABLES.columns_of(row)
        values = [(it, json_text(broker.hiding.value(it.name, it.value))) for it in variables_of(row)]
        yield [
            {
                **of_row,
                **{"variableKey": it.key, "name": it.name, "value": value, "scopeKey": it.scope_key},
                "isTruncated": len(value) > CUT_AT,
            }
            for it, value in values
        ]


def cut(variable: dict[str, Any]) -> dict[str, Any]:
    """As a list shows it."""
    return variable | {"value": variable["value"][:CUT_AT]} if variable["isTruncated"] else variable


def _incident(broker: Broker, row: Any, its: Any) -> Item:
    return {
        **INCIDENTS.columns_of(row),
        "errorType": row.error_type if row.error_type in _INCIDENTS else "UNKNOWN",
        "errorMessage": shown_text(broker.hiding, row.text, its),
        "creationTime": its.started_at,
        "state": "ACTIVE",
        "tenantId": its.tenant_id,
    }


ELEMENT_INSTANCES = Search(
    "element-instances",
    "instance",
    (
        Field("elementInstanceKey", KEY),
        Field("elementId", TEXT),
        Field("elementName", TEXT),
        Field("type", words(*_TYPES.values(), _MULTI_INSTANCE)),
        Field("state", words(*STATES), "state", stored=STATES),
        Field("hasIncident", FLAG, sorts=False),
        Field("incidentKey", KEY, nullable=True),
        Field("startDate", INSTANT, "started_at"),
        Field("endDate", INSTANT, "ended_at", sparse=True, nullable=True),
        Field("processInstanceKey", KEY, "key"),
        only_shown("rootProcessInstanceKey", KEY, "tree_key", nullable=True),
        Field("processDefinitionId", TEXT, "process_id"),
        Field("processDefinitionKey", KEY, "definition_key"),
        Field("tenantId", TEXT, "tenant_id"),
        Field("elementInstanceScopeKey", KEY, sorts=False, is_shown=False, nullable=True),
    ),
    _elements,
    is_one=False,
)

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
        only_shown("rootProcessInstanceKey", KEY, "tree_key", nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
    ),
    _variables,
    is_one=False,
)

INCIDENTS = Search(
    "incidents",
    "incident",
    (
        Field("incidentKey", KEY, "key"),
        *OF_ELEMENT,
        Field("jobKey", KEY, "job_key", nothing=0, nullable=True),
        Field("errorType", words(*_INCIDENT_TYPES, *_OTHER_INCIDENTS), "error_type", stored=_INCIDENT_TYPES),
        Field("errorMessage", TEXT, "text", sorts=False, quotes=True),
        Field("creationTime", INSTANT),
        Field("state", words("ACTIVE", "MIGRATED", "PENDING", "RESOLVED", "UNKNOWN")),
        Field("tenantId", TEXT),
    ),
    with_instances(_incident),
)
