"""The engine behind a server: what `conjoin.Client` answers, as commands show it. A refusal of the server is a value.

What the server does not say (how an instance was started, whether a version is new) is left empty.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from conjoin.cli.engine.port import Told, ToldPage, Variables
from conjoin.cli.engine.searched_lists import SEARCHED
from conjoin.client import Client, ModelledError, Publication
from conjoin.errors import CallFailed, InputError
from conjoin.runtime.client_api.answers import (
    CODES,
    DONE,
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    DeployedProcess,
    Deployment,
    Done,
    Refusal,
)
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.reading.lists import ListQuery
from conjoin.times.iso8601 import instant_text

_A = TypeVar("_A")
_P = ParamSpec("_P")
_LISTS = ("messages", "set-aside")
"""That `/conjoin/v1` has as a store has them."""
_LARGEST_WAIT_MS = 60_000


def refused(
    call: Callable[Concatenate["ThroughServer", _P], _A],
) -> Callable[Concatenate["ThroughServer", _P], _A | Refusal]:
    """A business no as a value; that there is no server, or that the caller may not, stays an error."""

    @wraps(call)
    def method(self: "ThroughServer", *given: _P.args, **named: _P.kwargs) -> _A | Refusal:
        try:
            return call(self, *given, **named)
        except CallFailed as error:
            if error.reason not in CODES:
                raise
            return Refusal(error.reason, error.sentence)

    return method


def publication(message: NewMessage) -> Publication:
    which = (message.name, message.key, message.variables, message.ttl_ms)
    return Publication(*which, message.message_id, message.tenant_id, message.business_id)


def in_query(asked: ListQuery) -> dict[str, str]:
    """As lists of `/conjoin/v1` are asked."""
    times = {"since": asked.since, "until": asked.until}
    said = {name: instant_text(at) for name, at in times.items() if at is not None}
    said |= {name: str(value) for name, value in asked.filters.items()}
    return said | {"limit": str(min(asked.limit, 1_000))} | ({"cursor": asked.after} if asked.after else {})


class ThroughServer:
    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def now(self) -> int:
        return time.time_ns() // 1_000

    @refused
    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> Deployment:
        found = self.client.deploy(*resources, tenant=tenant_id)
        processes = [
            DeployedProcess(
                *(it.process_definition_key, it.process_definition_id, it.process_definition_version),
                it.resource_name,
                # The server does not say.
                is_new=None,  # type: ignore[arg-type]
            )
            for it in found
        ]
        return Deployment(0, processes)

    def models(self) -> Sequence[Told]:
        return [
            {
                "key": str(it.process_definition_key),
                "process_id": it.process_definition_id,
                "version": it.version,
                "name": it.name,
                "tenant_id": it.tenant_id,
            }
            for it in self.client.processes()
        ]

    @refused
    def create_instance(
        self, process_id: str, variables: Variables, version: int, business_id: str, tenant_id: str
    ) -> CreatedInstance:
        it = self.client.create_instance(process_id, variables, version or -1, tenant_id, business_id)
        which = (it.process_definition_id, it.process_definition_version, it.process_definition_key)
        return CreatedInstance(it.process_instance_key, *which)

    @refused
    def cancel_instance(self, key: int) -> Done:
        self.client.cancel_instance(key)
        return DONE

    @refused
    def set_variables(self, key: int, variables: Variables, local: bool) -> Done:
        self.client.set_variables(key, variables, local)
        return DONE

    @refused
    def resolve_incident(self, key: int) -> Done:
        self.client.resolve_incident(key)
        return DONE

    @refused
    def publish(self, message: NewMessage, wait_ms: int | None) -> Told:
        """The client makes an id if there is none, so that a retry is no second message."""
        if wait_ms is not None and wait_ms > _LARGEST_WAIT_MS:
            raise InputError([f"--wait: a server waits for {_LARGEST_WAIT_MS // 1_000}s at most"])
        fate = self.client.publish_and_wait(publication(message), wait_ms or 0)
        told: Told = self.client.request("GET", f"/conjoin/v1/messages/{fate.key}/explain")
        return told

    @refused
    def correlate(self, message: NewMessage) -> CorrelatedMessage:
        taken = self.client.correlate(publication(message))
        return CorrelatedMessage(taken.message_key, taken.process_instance_key)

    @refused
    def explain(self, key: int) -> Told:
        told: Told = self.client.request("GET", f"/conjoin/v1/messages/{key}/explain")
        return told

    @refused
    def explain_unsent(self, message: NewMessage) -> Told:
        it = message
        said: Told = {"name": it.name, "key": it.key, "variables": dict(it.variables), "tenant": it.tenant_id}
        more = {"ttl": it.ttl_ms, "id": it.message_id, "business_id": it.business_id}
        said |= {name: value for name, value in more.items() if value not in (None, "")}
        told: Told = self.client.request("POST", "/conjoin/v1/explain", said)
        return told

    @refused
    def broadcast_signal(self, name: str, variables: Variables, tenant_id: str) -> Done:
        self.client.broadcast_signal(name, variables, tenant_id)
        return DONE

    @refused
    def activate_jobs(
        self, type_: str, limit: int, worker: str, timeout_ms: int, tenant_id: str
    ) -> Sequence[ActivatedJob]:
        body = {"type": type_, "worker": worker, "timeout": timeout_ms, "maxJobsToActivate": limit}
        body |= {"requestTimeout": -1, "tenantIds": [tenant_id]}
        return [_job(it) for it in self.client.request("POST", "/v2/jobs/activation", body)["jobs"]]

    @refused
    def complete_job(self, key: int, variables: Variables) -> Done:
        self.client.complete_job(key, variables)
        return DONE

    @refused
    def fail_job(self, key: int, retries: int, message: str, backoff_ms: int) -> Done:
        self.client.fail_job(key, retries, message, backoff_ms)
        return DONE

    @refused
    def throw_error(self, key: int, code: str, message: str, variables: Variables) -> Done:
        self.client.throw_error(key, ModelledError(code, message, variables))
        return DONE

    @refused
    def update_retries(self, key: int, retries: int) -> Done:
        self.client.update_retries(key, retries)
        return DONE

    @refused
    def page(self, what: str, asked: ListQuery) -> ToldPage:
        if what in _LISTS:
            told = self.client.request("GET", f"/conjoin/v1/{what}", query=in_query(asked))
            return ToldPage(told["items"], told["cursor"])
        if what not in SEARCHED:
            raise InputError([f"{what.replace('-', ' ')} are listed from the store only: leave --server out"])
        searched, found, after = SEARCHED[what], list[Told](), asked.after
        # A search may stop before a page is full, and names a cursor for all pages but an empty last one.
        while len(found) < asked.limit:
            body = searched.body(replace(asked, limit=asked.limit - len(found), after=after))
            told = self.client.request("POST", f"/v2/{searched.name}/search", body)
            found += map(searched.item, told["items"])
            after = told["page"]["endCursor"]
            if after is None:
                break
        return ToldPage(found, after)

    @refused
    def retry_set_aside(self, key: int) -> Done:
        self.client.retry_set_aside(key)
        return DONE

    @refused
    def delete_set_aside(self, key: int) -> Done:
        self.client.delete_set_aside(key)
        return DONE

    @refused
    def policies(self) -> Told:
        return self.client.policies()

    @refused
    def set_policy(self, name: str, policy: Mapping[str, Any]) -> int:
        version: int = self.client.set_policy(name, policy)["catalog_version"]
        return version


def _job(told: Mapping[str, Any]) -> ActivatedJob:
    return ActivatedJob(
        key=int(told["jobKey"]),
        type=told["type"],
        instance_key=int(told["processInstanceKey"]),
        process_id=told["processDefinitionId"],
        version=told["processDefinitionVersion"],
        element_id=told["elementId"],
        element_key=int(told["elementInstanceKey"]),
        retries=told["retries"],
        worker=told["worker"],
        deadline=told["deadline"] * 1_000,
        headers=told["customHeaders"],
        variables=told["variables"],
    )
