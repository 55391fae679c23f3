"""The engine behind a server: what `conjoin.Client` answers, as commands show it. What it refuses is a `CallFailed`.

What the server does not say (whether a deployed version is new) is left empty.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import asdict

from conjoin.cli.printing import JsonObject
from conjoin.client import Client, ModelledError, Publication
from conjoin.errors import InputError
from conjoin.runtime.client_api import answers as a
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.reading.lists import ListPage, ListQuery
from conjoin.times.iso8601 import instant_text

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

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> a.Deployment:
        processes = [
            a.DeployedProcess(
                *(it.process_definition_key, it.process_definition_id, it.process_definition_version),
                it.resource_name,
                # The server does not say.
                is_new=None,  # type: ignore[arg-type]
            )
            for it in self.client.deploy(*resources, tenant=tenant_id)
        ]
        return a.Deployment(0, processes)

    def models(self) -> Sequence[JsonObject]:
        return [
            {"key": str(it.process_definition_key), "process_id": it.process_definition_id, "version": it.version}
            | {"name": it.name, "tenant_id": it.tenant_id}
            for it in self.client.processes()
        ]

    def create_instance(
        self, process_id: str, variables: Mapping[str, Any], version: int, business_id: str, tenant_id: str
    ) -> a.CreatedInstance:
        """A version of 0 is the latest."""
        it = self.client.create_instance(process_id, variables, version or -1, tenant_id, business_id)
        which = (it.process_definition_id, it.process_definition_version, it.process_definition_key)
        return a.CreatedInstance(it.process_instance_key, *which)

    def publish(self, message: NewMessage, wait_ms: int | None, replaces: int | None = None) -> JsonObject:
        """The client makes an id if there is none, so that a retry is no second message."""
        if wait_ms is not None and wait_ms > _LARGEST_WAIT_MS:
            raise InputError([f"--wait: a server waits for {_LARGEST_WAIT_MS // 1_000}s at most"])
        # It is published: no other call can make that an error.
        fate = self.client.publish_and_wait(replace(publication(message), replaces=replaces), wait_ms or 0)
        about = {"verdict": fate.verdict, "reason": fate.reason, "sentence": fate.sentence, "storage": fate.storage}
        attempts = [
            {name: value for name, value in asdict(it).items() if value not in (None, "")} for it in fate.attempts
        ]
        return {"message": {"key": str(fate.key)}, **about, "attempts": attempts}

    def correlate(self, message: NewMessage) -> a.CorrelatedMessage:
        taken = self.client.correlate(publication(message))
        return a.CorrelatedMessage(taken.message_key, taken.process_instance_key)

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
    ) -> Sequence[a.ActivatedJob]:
        body = {"type": type_, "worker": worker, "timeout": timeout_ms, "maxJobsToActivate": limit}
        body |= {"requestTimeout": -1, "tenantIds": [tenant_id]}
        return [
            a.ActivatedJob(
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
        items, after = list[JsonObject](), query.after
        # The server may stop before a page is full, and has a limit of its own.
        while len(items) < query.limit:
            wanted = replace(query, limit=query.limit - len(items), after=after)
            found = self.client.request("GET", f"/conjoin/v1/{what}", query=_in_query(wanted))
            items += found["items"]
            after = found["cursor"]
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
    found |= {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.filters.items()
    }
    return found | {"limit": str(min(query.limit, _MOST_ITEMS))} | ({"cursor": query.after} if query.after else {})
