"""The search for open jobs. Completed ones leave nothing behind; user tasks have a search of their own."""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.gateway.search.engine.fields import ANYTHING, FLAG, INSTANT, KEY, NUMBER, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.search import Item, Search
from conjoin.gateway.search.instance_facts import facts_of
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instances import shown_text
from conjoin.runtime.reading.user_tasks import USER_TASK

STATES = {
    **{"CREATED": ("ready", "activated"), "FAILED": ("failed", "backing_off"), "ERROR_THROWN": ("error_thrown",)},
    **dict.fromkeys(("CANCELED", "COMPLETED", "MIGRATED", "RETRIES_UPDATED", "TIMED_OUT"), ()),
}
_WORDS = {stored: word for word, some in STATES.items() for stored in some}
_KINDS = ("BPMN_ELEMENT", "EXECUTION_LISTENER", "TASK_LISTENER", "AD_HOC_SUB_PROCESS")
_LISTENER_EVENTS = ("ASSIGNING", "CANCELING", "COMPLETING", "CREATING", "END", "START", "UNSPECIFIED", "UPDATING")


def _items(broker: Broker, rows: Sequence[Any]) -> Iterator[list[Item]]:
    instances = facts_of(broker, rows)
    by_key = broker.definitions.by_key
    for row in rows:
        its = instances.get(row.instance_key)
        if its is None:
            yield []
            continue
        job = by_key[its.definition_key].plan.elements[row.element_id].job
        text = shown_text(broker.hiding, row.message, its.row)
        yield [_item(row, its, text) | {"customHeaders": dict(job.headers) if job is not None else {}}]


def _item(row: Any, its: Any, text: str) -> Item:
    return {
        "jobKey": row.key,
        "type": row.type,
        "state": _WORDS[row.state],
        "worker": row.worker,
        "retries": row.retries,
        "hasFailedWithRetriesLeft": row.state == "backing_off",
        "deadline": row.due_at if row.state == "activated" else None,
        "errorMessage": text or None,
        "errorCode": None,
        "elementId": row.element_id,
        "elementInstanceKey": row.element_key,
        "processDefinitionId": its.process_id,
        "processDefinitionKey": its.definition_key,
        "processInstanceKey": row.instance_key,
        "rootProcessInstanceKey": its.root_key,
        "tenantId": row.tenant_id,
        **{"kind": "BPMN_ELEMENT", "listenerEventType": "UNSPECIFIED", "priority": 0},
        **dict.fromkeys(("isDenied", "deniedReason", "endTime", "creationTime", "lastUpdateTime", "businessId")),
    }


JOBS = Search(
    "jobs",
    "job",
    (
        Field("jobKey", KEY, "key"),
        Field("type", TEXT, "type"),
        Field("state", words(*STATES), "state", stored=STATES),
        Field("worker", TEXT, "worker"),
        Field("retries", NUMBER, "retries"),
        Field("hasFailedWithRetriesLeft", FLAG),
        Field("deadline", INSTANT, nullable=True),
        Field("errorMessage", TEXT, "message", nothing="", nullable=True, quotes=True),
        Field("errorCode", TEXT, nullable=True),
        Field("elementId", TEXT, "element_id"),
        Field("elementInstanceKey", KEY, "element_key"),
        Field("processDefinitionId", TEXT),
        Field("processDefinitionKey", KEY),
        Field("processInstanceKey", KEY, "instance_key"),
        only_shown("rootProcessInstanceKey", KEY, nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
        Field("kind", words(*_KINDS)),
        Field("listenerEventType", words(*_LISTENER_EVENTS)),
        Field("priority", NUMBER),
        Field("isDenied", FLAG, nullable=True),
        Field("deniedReason", TEXT, nullable=True),
        Field("endTime", INSTANT, nullable=True),
        Field("creationTime", INSTANT, nullable=True),
        Field("lastUpdateTime", INSTANT, sorts=False, nullable=True),
        only_shown("businessId", TEXT, nullable=True),
        only_shown("customHeaders", ANYTHING),
    ),
    _items,
    {"type": (("<>", USER_TASK),)},
)
