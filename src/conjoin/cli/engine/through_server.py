"""The engine behind a server: what `conjoin.Client` answers, as commands show it. What it refuses is a `CallFailed`.

What the server does not say (how an instance was started, whether a version is new) is left empty. Lists that only
`/v2` has are searches there: `SEARCHED` says which field is which column, and which filter is which.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conjoin.cli.printing import JsonObject
from conjoin.client import Client, ModelledError, Publication
from conjoin.errors import InputError
from conjoin.runtime.client_api.answers import (
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    DeployedProcess,
    Deployment,
)
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.reading.lists import ListPage, ListQuery
from conjoin.times.iso8601 import instant_text

_LISTS = ("messages", "set-aside", "dead-letters", "inbox")
"""That `/conjoin/v1` has as a store has them."""
_OPEN = {
    **{"instances": "active_instances", "subscriptions": "open_subscriptions", "buffered": "buffered_messages"},
    **{"jobs": "open_jobs", "timers": "", "incidents": "open_incidents"},
}
"""What is open, by the names of `/conjoin/v1/status`."""
_LARGEST_WAIT_MS = 60_000
_MOST_ITEMS = 1_000


class ThroughServer:
    def __init__(self, client: Client) -> None:
        self.calls = self.client = client

    @property
    def now(self) -> int:
        return time.time_ns() // 1_000

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> Deployment:
        processes = [
            DeployedProcess(
                *(it.process_definition_key, it.process_definition_id, it.process_definition_version),
                it.resource_name,
                # The server does not say.
                is_new=None,  # type: ignore[arg-type]
            )
            for it in self.client.deploy(*resources, tenant=tenant_id)
        ]
        return Deployment(0, processes)

    def models(self) -> Sequence[JsonObject]:
        return [
            {"key": str(it.process_definition_key), "process_id": it.process_definition_id, "version": it.version}
            | {"name": it.name, "tenant_id": it.tenant_id}
            for it in self.client.processes()
        ]

    def create_instance(
        self, process_id: str, variables: Mapping[str, Any], version: int, business_id: str, tenant_id: str
    ) -> CreatedInstance:
        """A version of 0 is the latest."""
        it = self.client.create_instance(process_id, variables, version or -1, tenant_id, business_id)
        which = (it.process_definition_id, it.process_definition_version, it.process_definition_key)
        return CreatedInstance(it.process_instance_key, *which)

    def publish(self, message: NewMessage, wait_ms: int | None) -> JsonObject:
        """The client makes an id if there is none, so that a retry is no second message."""
        if wait_ms is not None and wait_ms > _LARGEST_WAIT_MS:
            raise InputError([f"--wait: a server waits for {_LARGEST_WAIT_MS // 1_000}s at most"])
        return self.explain(self.client.publish_and_wait(publication(message), wait_ms or 0).key)

    def correlate(self, message: NewMessage) -> CorrelatedMessage:
        taken = self.client.correlate(publication(message))
        return CorrelatedMessage(taken.message_key, taken.process_instance_key)

    def explain(self, key: int) -> JsonObject:
        found: JsonObject = self.client.request("GET", f"/conjoin/v1/messages/{key}/explain")
        return found

    def explain_unsent(self, message: NewMessage) -> JsonObject:
        it = message
        body: JsonObject = {"name": it.name, "key": it.key, "variables": dict(it.variables), "tenant": it.tenant_id}
        more = {"ttl": it.ttl_ms, "id": it.message_id, "business_id": it.business_id}
        body |= {name: value for name, value in more.items() if value not in (None, "")}
        found: JsonObject = self.client.request("POST", "/conjoin/v1/explain", body)
        return found

    def activate_jobs(
        self, type_: str, limit: int, worker: str, timeout_ms: int, tenant_id: str
    ) -> Sequence[ActivatedJob]:
        body = {"type": type_, "worker": worker, "timeout": timeout_ms, "maxJobsToActivate": limit}
        body |= {"requestTimeout": -1, "tenantIds": [tenant_id]}
        return [
            ActivatedJob(
                key=int(it["jobKey"]),
                type=it["type"],
                instance_key=int(it["processInstanceKey"]),
                process_id=it["processDefinitionId"],
                version=it["processDefinitionVersion"],
                element_id=it["elementId"],
                element_key=int(it["elementInstanceKey"]),
                retries=it["retries"],
                worker=it["worker"],
                deadline=it["deadline"] * 1_000,
                headers=it["customHeaders"],
                variables=it["variables"],
            )
            for it in self.client.request("POST", "/v2/jobs/activation", body)["jobs"]
        ]

    def throw_error(self, key: int, code: str, message: str, variables: Mapping[str, Any]) -> None:
        self.client.throw_error(key, ModelledError(code, message, variables))

    def page(self, what: str, query: ListQuery) -> ListPage:
        if what in _LISTS:
            found = self.client.request("GET", f"/conjoin/v1/{what}", query=_in_query(query))
            return ListPage(found["items"], found["cursor"])
        searched, items, after = SEARCHED[what], list[JsonObject](), query.after
        # A search may stop before a page is full, and names a cursor for all pages but an empty last one.
        while len(items) < query.limit:
            body = searched.body(replace(query, limit=query.limit - len(items), after=after))
            found = self.client.request("POST", f"/v2/{searched.name}/search", body)
            items += map(searched.item, found["items"])
            after = found["page"]["endCursor"]
            if after is None:
                break
        return ListPage(items, after)

    def policies(self) -> JsonObject:
        return self.client.policies()

    def set_policy(self, name: str, policy: Mapping[str, Any]) -> int:
        version: int = self.client.set_policy(name, policy)["catalog_version"]
        return version

    def status(self) -> JsonObject:
        """Timers are not counted by a server, nor is what is open on each shard."""
        found: JsonObject = self.client.request("GET", "/conjoin/v1/status")
        policies = self.client.policies()
        return {
            **{name: found[name] for name in ("profile", "unique_business_ids", "catalog_version", "processes")},
            **{name: policies[name] for name in ("policies", "not_in_force")},
            "shards": self.client.request("GET", "/conjoin/v1/shards")["items"],
            "open": {ours: found["open"].get(theirs) for ours, theirs in _OPEN.items()},
        }


def publication(message: NewMessage) -> Publication:
    which = (message.name, message.key, message.variables, message.ttl_ms)
    return Publication(*which, message.message_id, message.tenant_id, message.business_id)


def _in_query(query: ListQuery) -> dict[str, str]:
    """As the lists of `/conjoin/v1` take it."""
    times = {"since": query.since, "until": query.until}
    found = {name: instant_text(at) for name, at in times.items() if at is not None}
    found |= {name: str(value) for name, value in query.filters.items()}
    return found | {"limit": str(min(query.limit, _MOST_ITEMS))} | ({"cursor": query.after} if query.after else {})


_FIELDS = {
    **dict.fromkeys(("process", "process_id"), "processDefinitionId"),
    **dict.fromkeys(("instance", "instance_key"), "processInstanceKey"),
    **dict.fromkeys(("element", "element_id"), "elementId"),
    **dict.fromkeys(("tenant", "tenant_id"), "tenantId"),
    **dict.fromkeys(("parent", "parent_key"), "parentProcessInstanceKey"),
    **{"business_id": "businessId", "job_key": "jobKey", "incidents": "hasIncident", "due_at": "deadline"},
    **{"started": "", "started_at": "startDate", "ended_at": "endDate", "error_type": "errorType"},
    **dict.fromkeys(("text", "message"), "errorMessage"),
}
"""Of all searches, by the names of filters and columns of a store; one that is in no table is the same there."""


@dataclass(frozen=True)
class SearchedList:
    """`fields` are its own, where they differ; `words` are values that differ; `time` is what since and until mean."""

    name: str
    columns: str
    fields: Mapping[str, str]
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    time: str = ""
    shown: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    def body(self, query: ListQuery) -> JsonObject:
        where: JsonObject = {}
        for name, value in query.filters.items():
            if name in self.words and value not in self.words[name]:
                raise InputError([f"{name}: {value!r} is none of {', '.join(self.words[name])}"])
            wanted = self.words[name][value] if name in self.words else value
            # The key of a list is its own; as a filter it is a correlation key.
            its = "correlationKey" if name == "key" else self._field(name)
            where[its] = str(wanted) if its.endswith("Key") else wanted
        times = {"$gte": query.since, "$lt": query.until}
        if within := {test: instant_text(at) for test, at in times.items() if at is not None}:
            where[self.time] = within
        return {"filter": where, "page": {"limit": min(query.limit, _MOST_ITEMS), "after": query.after}}

    def item(self, found: Mapping[str, Any]) -> JsonObject:
        item = {column: found.get(self._field(column)) for column in self.columns.split()}
        return item | {name: show(item[name]) for name, show in self.shown.items()}

    def _field(self, name: str) -> str:
        return self.fields.get(name) or _FIELDS.get(name, name)


def _lower(text: str) -> str:
    return text.lower()


SEARCHED = {
    "instances": SearchedList(
        "process-instances",
        "key process_id version tenant_id business_id state started parent_key started_at ended_at incidents",
        {"key": "processInstanceKey", "version": "processDefinitionVersion"},
        {"state": {"active": "ACTIVE", "completed": "COMPLETED", "terminated": "TERMINATED"}},
        "startDate",
        {"state": _lower, "incidents": int},
    ),
    "incidents": SearchedList(
        "incidents",
        "key tenant_id job_key error_type text process_id instance_key element_id",
        {"key": "incidentKey", "type": "errorType"},
    ),
    "jobs": SearchedList(
        "jobs",
        "key type state tenant_id process_id instance_key element_id retries worker due_at message",
        {"key": "jobKey"},
        {
            "state": {"ready": "CREATED", "activated": "CREATED", "failed": "FAILED", "backing_off": "FAILED"}
            | {"error_thrown": "ERROR_THROWN"}
        },
        shown={"state": _lower},
    ),
    "subscriptions": SearchedList(
        "message-subscriptions",
        "key name correlation_key tenant_id business_id state process_id instance_key element_id",
        {
            **{"key": "messageSubscriptionKey", "name": "messageName", "correlation_key": "correlationKey"},
            "state": "messageSubscriptionState",
        },
        {"state": {"open": "CREATED", "busy": "CREATED", "closed": "DELETED"}},
        "lastUpdatedDate",
        {"state": lambda state: "open" if state == "CREATED" else "closed"},
    ),
}
