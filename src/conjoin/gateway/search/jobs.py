"""The searches for open jobs, and for user tasks, which are jobs that no worker can activate.

Completed ones leave nothing behind. The store keeps no time for a task: `creationDate` is the start of its instance.
"""

from typing import Any

from conjoin.gateway.search.engine.fields import ANYTHING, FLAG, INSTANT, KEY, NUMBER, TEXT, Field, only_shown, words
from conjoin.gateway.search.engine.schemas import filter_schema
from conjoin.gateway.search.engine.search import OF_ELEMENT, Item, Search, one_of, with_instances
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instances import USER_TASK, for_people, shown_text

STATES = {
    **{"CREATED": ("ready", "activated"), "FAILED": ("failed", "backing_off"), "ERROR_THROWN": ("error_thrown",)},
    **dict.fromkeys(("CANCELED", "COMPLETED", "MIGRATED", "RETRIES_UPDATED", "TIMED_OUT"), ()),
}
_KINDS = ("BPMN_ELEMENT", "EXECUTION_LISTENER", "TASK_LISTENER", "AD_HOC_SUB_PROCESS")
_LISTENER_EVENTS = ("ASSIGNING", "CANCELING", "COMPLETING", "CREATING", "END", "START", "UNSPECIFIED", "UPDATING")
_TASK_STATES = (
    *("CREATING", "CREATED", "ASSIGNING", "UPDATING", "COMPLETING", "COMPLETED", "CANCELING", "CANCELED", "FAILED"),
)


def _job(broker: Broker, row: Any, its: Any) -> Item:
    job = broker.definitions.by_key[its.definition_key].plan.elements[row.element_id].job
    return {
        **JOBS.columns_of(row),
        "hasFailedWithRetriesLeft": row.state == "backing_off",
        "deadline": row.due_at if row.state == "activated" else None,
        "errorMessage": shown_text(broker.hiding, row.message, its) or None,
        "customHeaders": dict(job.headers) if job is not None else {},
        **{"kind": "BPMN_ELEMENT", "listenerEventType": "UNSPECIFIED", "priority": 0, "errorCode": None},
        **dict.fromkeys(("isDenied", "deniedReason", "endTime", "creationTime", "lastUpdateTime", "businessId")),
    }


def _user_task(broker: Broker, row: Any, its: Any) -> Item:
    plan = broker.definitions.by_key[its.definition_key].plan
    element = plan.elements[row.element_id]
    people = for_people(element, row.element_key, its, broker.now, broker.hiding)
    return {
        **USER_TASKS.columns_of(row),
        **{"state": "CREATED", "name": element.name, "processName": plan.name},
        "processDefinitionVersion": its.version,
        "businessId": its.business_id or None,
        "creationDate": its.started_at,
        "externalFormReference": people.pop("externalReference"),
        **people,
        **{"completionDate": None, "formKey": None, "customHeaders": {}, "tags": []},
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
        *OF_ELEMENT,
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
    with_instances(_job),
    {"type": (("<>", USER_TASK),)},
)

USER_TASKS = Search(
    "user-tasks",
    "job",
    (
        Field("userTaskKey", KEY, "key"),
        Field("name", TEXT, nullable=True),
        Field("state", words(*_TASK_STATES)),
        Field("assignee", TEXT, "worker", nothing="", nullable=True),
        *OF_ELEMENT,
        only_shown("processDefinitionVersion", NUMBER),
        Field("businessId", TEXT, nullable=True),
        Field("tenantId", TEXT, "tenant_id"),
        Field("creationDate", INSTANT),
        Field("completionDate", INSTANT, nullable=True),
        Field("dueDate", INSTANT, nullable=True),
        Field("followUpDate", INSTANT, nullable=True),
        Field("priority", NUMBER),
        only_shown("processName", TEXT, nullable=True),
        only_shown("externalFormReference", TEXT, nullable=True),
        only_shown("formKey", KEY, nullable=True),
        *(only_shown(name, ANYTHING) for name in ("candidateGroups", "candidateUsers", "customHeaders", "tags")),
    ),
    with_instances(_user_task),
    {"type": (("=", USER_TASK),)},
    row_filters={
        "candidateGroup": one_of("candidateGroup", lambda row, item: item["candidateGroups"]),
        "candidateUser": one_of("candidateUser", lambda row, item: item["candidateUsers"]),
    },
    row_filter_schemas={name: filter_schema(Field(name, TEXT)) for name in ("candidateGroup", "candidateUser")},
)
