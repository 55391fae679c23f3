"""Lists of a store as searches of `/v2`: which field of the answer is which column, and which filter is which."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.errors import InputError
from conjoin.runtime.reading.lists import ListQuery
from conjoin.times.iso8601 import instant_text

_WHERE = {"process": "processDefinitionId", "instance": "processInstanceKey", "element": "elementId"}
_SHOWN = {"process_id": "processDefinitionId", "instance_key": "processInstanceKey", "element_id": "elementId"}
_JOB_STATES = {"ready": "CREATED", "activated": "CREATED", "failed": "FAILED", "backing_off": "FAILED"}
_WAITS = {"open": "CREATED", "busy": "CREATED", "closed": "DELETED"}
_MOST = 1_000


@dataclass(frozen=True)
class SearchedList:
    """`columns` are ours, each with its field there; `filters` the same; `words` are values that differ."""

    name: str
    columns: Mapping[str, str]
    filters: Mapping[str, str]
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    time: str = ""
    shown: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    def body(self, asked: ListQuery) -> dict[str, Any]:
        where: dict[str, Any] = {}
        for name, value in asked.filters.items():
            if name in self.words and value not in self.words[name]:
                raise InputError([f"{name}: {value!r} is none of {', '.join(self.words[name])}"])
            said = self.words[name][value] if name in self.words else value
            where[self.filters[name]] = str(said) if self.filters[name].endswith("Key") else said
        times = {"$gte": asked.since, "$lt": asked.until}
        times_said = {test: instant_text(at) for test, at in times.items() if at is not None}
        if times_said:
            where[self.time] = times_said
        return {"filter": where, "page": {"limit": min(asked.limit, _MOST), "after": asked.after}}

    def item(self, told: Mapping[str, Any]) -> dict[str, Any]:
        found = {ours: told.get(theirs) for ours, theirs in self.columns.items()}
        return found | {name: show(found[name]) for name, show in self.shown.items()}


def _lower(text: str) -> str:
    return text.lower()


SEARCHED = {
    "instances": SearchedList(
        "process-instances",
        {
            **{"key": "processInstanceKey", "process_id": "processDefinitionId", "version": "processDefinitionVersion"},
            **{"tenant_id": "tenantId", "business_id": "businessId", "state": "state", "started": ""},
            **{"parent_key": "parentProcessInstanceKey", "started_at": "startDate", "ended_at": "endDate"},
            "incidents": "hasIncident",
        },
        {
            **{"process": "processDefinitionId", "version": "processDefinitionVersion", "state": "state"},
            **{"incidents": "hasIncident", "parent": "parentProcessInstanceKey", "business_id": "businessId"},
            "tenant": "tenantId",
        },
        {"state": {"active": "ACTIVE", "completed": "COMPLETED", "terminated": "TERMINATED"}},
        "startDate",
        {"state": _lower, "incidents": int},
    ),
    "incidents": SearchedList(
        "incidents",
        {
            **{"key": "incidentKey", "tenant_id": "tenantId", "job_key": "jobKey"},
            **{"error_type": "errorType", "text": "errorMessage", **_SHOWN},
        },
        {**_WHERE, "type": "errorType", "tenant": "tenantId"},
    ),
    "jobs": SearchedList(
        "jobs",
        {
            **{"key": "jobKey", "type": "type", "state": "state", "tenant_id": "tenantId", **_SHOWN},
            **{"retries": "retries", "worker": "worker", "due_at": "deadline", "message": "errorMessage"},
        },
        {**_WHERE, "type": "type", "state": "state", "worker": "worker", "tenant": "tenantId"},
        {"state": {**_JOB_STATES, "error_thrown": "ERROR_THROWN"}},
        shown={"state": _lower},
    ),
    "subscriptions": SearchedList(
        "message-subscriptions",
        {
            **{"key": "messageSubscriptionKey", "name": "messageName", "correlation_key": "correlationKey"},
            **{"tenant_id": "tenantId", "business_id": "businessId", "state": "messageSubscriptionState", **_SHOWN},
        },
        {
            **{**_WHERE, "name": "messageName", "key": "correlationKey", "state": "messageSubscriptionState"},
            **{"business_id": "businessId", "tenant": "tenantId"},
        },
        {"state": _WAITS},
        "lastUpdatedDate",
        {"state": lambda state: "open" if state == "CREATED" else "closed"},
    ),
}
