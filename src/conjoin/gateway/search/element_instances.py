"""The search for element instances: whatever is alive inside instances, and the instances themselves.

What has ended inside leaves nothing behind. The store keeps no time for an element: `startDate` is its instance's.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import FLAG, INSTANT, KEY, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.gateway.search.process_instances import STATES
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instances import LiveElement, elements_of

_WORDS = {stored: word for word, [stored] in STATES.items()}
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


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    by_key = broker.definitions.by_key
    for row in rows:
        plan = by_key[row.definition_key].plan
        yield [_item(row, it, plan) for it in elements_of(row)]


def _item(row: Any, it: LiveElement, plan: Any) -> Item:
    element = plan.root if it.scope_key == 0 else plan.elements[it.element_id]
    return {
        "elementInstanceKey": it.key,
        "elementId": element.id,
        "elementName": element.name or element.id,
        "type": _MULTI_INSTANCE if it.is_loop else _TYPES[element.kind],
        "state": _WORDS[row.state],
        "hasIncident": it.incident_key != 0 or (it.scope_key == 0 and row.incidents > 0),
        "incidentKey": it.incident_key or None,
        "startDate": row.started_at,
        "endDate": row.ended_at,
        "processInstanceKey": row.key,
        "rootProcessInstanceKey": row.tree_key,
        "processDefinitionId": row.process_id,
        "processDefinitionKey": row.definition_key,
        "tenantId": row.tenant_id,
        "elementInstanceScopeKey": it.scope_key or None,
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
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("processDefinitionId", TEXT, "process_id"),
        Field("processDefinitionKey", KEY, "definition_key"),
        Field("tenantId", TEXT, "tenant_id"),
        Field("elementInstanceScopeKey", KEY, sorts=False, is_shown=False, nullable=True),
    ),
    _items,
    is_one=False,
)
