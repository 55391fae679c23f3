"""The store: its status, the policies in force (by message name, `*` for all), and lists of what it holds."""

from typing import Any

from starlette.responses import Response

from conjoin.errors import ReadStopped
from conjoin.gateway.http.problems import accepted
from conjoin.gateway.http.reading import needed
from conjoin.gateway.http.schemas import COUNT, FLAG, INSTANT, TEXT, array, nullable, whole
from conjoin.gateway.monitoring.metrics import OPEN
from conjoin.gateway.rest.conjoin_v1.list_query import list_endpoint
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading import finding, list_items
from conjoin.store.reading import at_most
from conjoin.times.iso8601 import instant_text

_COUNTING_S = 1.0
MOST_COUNTED = 100_000
"""Of each; more than that is answered as this number."""
_MOST_UNDELIVERED = 1_000
"""For each receiver: these rows are read, not counted."""
_SET_ASIDE = "/conjoin/v1/set-aside"
PolicyAnswers = dict[str, str | int | bool]


async def status(call: RestCall) -> Response:
    return await call.service.look(lambda: answer(_status(call.service.broker)))


def _status(broker: Broker) -> dict[str, Any]:
    view, facts = broker.catalog.view(), broker.store.facts
    return {
        "profile": facts.profile,
        "shards": facts.shards,
        "unique_business_ids": facts.unique_business_ids,
        "catalog_version": view.version,
        "processes": {
            latest.process_id: latest.version
            for latest in view.definitions.all_latest()
            if broker.scope.sees(latest.tenant_id, None, latest.process_id)
        },
        "open": {name: _count(broker, *what) for name, what in OPEN.items()},
        "counted_up_to": MOST_COUNTED,
    }


def _count(broker: Broker, table: str, where: dict[str, Any]) -> int | None:
    """None: counting takes too long, for a caller who sees few of many rows."""
    try:
        with at_most(_COUNTING_S):
            return finding.count(broker, table, where, MOST_COUNTED)
    except ReadStopped:
        return None


async def shards(call: RestCall) -> Response:
    return await call.service.look(lambda: answer({"items": _progress(call.service.broker)}))


def _progress(broker: Broker) -> list[dict[str, Any]]:
    """As `conjoin store status` shows it; its cost does not grow with what is open."""
    found: list[dict[str, Any]] = []
    received: dict[tuple[int, int], int] = {}
    for shard in range(broker.shard_count):
        with broker.post.look(shard) as snapshot:
            head, (first, last) = snapshot.head, snapshot.log_ends()
            received |= {(sender, shard): number for sender, number in snapshot.received().items()}
        time = instant_text(head.time) if head.time else None
        its = {"shard": shard, "version": head.version, "counter": head.next_key, "time": time}
        found.append(its | {"logged": last - first + 1 if last else 0})
    for shard, progress in enumerate(found):
        with broker.post.look(shard) as snapshot:
            waiting = (
                snapshot.outbox(receiver, received.get((shard, receiver), 0), _MOST_UNDELIVERED)
                for receiver in snapshot.receivers()
            )
            progress["undelivered"] = sum(map(len, waiting))
    return found


async def list_policies(call: RestCall) -> Response:
    return answer(await call.service.look(call.service.broker.catalog.policies_as_json))


async def set_policy(call: RestCall) -> Response:
    """Replaces all that is set for this name; the profile decides the rest."""
    name = needed("name", call.request.path_params["name"])
    call.note(policy=call.body)
    return answer(await call.service.carry_out(_set, call.service.broker, name, call.body))


def _set(broker: Broker, name: str, answers: PolicyAnswers) -> dict[str, Any]:
    broker.catalog.set_policy(name, answers, broker.now)
    version = broker.catalog.view().version
    return {"name": name, "policy": broker.catalog.in_force().get(name, {}), "catalog_version": version}


async def retry_set_aside(call: RestCall) -> Response:
    accepted(await call.service.carry_out(call.service.broker.retry_set_aside, call.key("key")), "RETRY")
    return Response(status_code=204)


async def delete_set_aside(call: RestCall) -> Response:
    accepted(await call.service.carry_out(call.service.broker.delete_set_aside, call.key("key")), "DELETE")
    return Response(status_code=204)


_POLICY = {"type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}}
_CHANGE = whole({"catalog_version": COUNT, "name": TEXT, "policy": _POLICY, "set_at": INSTANT})
_POLICIES = whole(
    {
        "profile": TEXT,
        "policies": {"type": "object", "additionalProperties": _POLICY},
        "changes": array(_CHANGE),
        "not_in_force": array(TEXT),
    }
)
_STATUS = whole(
    {
        "profile": TEXT,
        "shards": COUNT,
        "unique_business_ids": FLAG,
        "catalog_version": COUNT,
        "processes": {"type": "object", "additionalProperties": COUNT},
        "open": whole(dict.fromkeys(OPEN, nullable(COUNT))),
        "counted_up_to": COUNT,
    }
)
_COUNTS = ("shard", "version", "counter", "logged", "undelivered")
_SHARD = whole({**dict.fromkeys(_COUNTS, COUNT), "time": nullable(INSTANT)})

ENDPOINTS = (
    Endpoint("GET", "/conjoin/v1/policies", "listPolicies", "What is in force", list_policies, answer=_POLICIES),
    Endpoint(
        *("PUT", "/conjoin/v1/policies/{name}", "setPolicy", "Set the policies of a message name", set_policy),
        body=PolicyAnswers,
        answer=whole({"name": TEXT, "policy": _POLICY, "catalog_version": COUNT}),
        example={"time_to_live": "1h"},
    ),
    list_endpoint("subscriptions", "listSubscriptions", "Who waits for which message", list_items.SubscriptionItem),
    list_endpoint("instances", "listInstances", "Instances, running and ended", list_items.InstanceItem),
    list_endpoint("incidents", "listIncidents", "What keeps instances from going on", list_items.IncidentItem),
    list_endpoint("jobs", "listJobs", "Open jobs, and which worker has them", list_items.JobItem),
    list_endpoint("set-aside", "listSetAside", "What could not be carried out, and why", list_items.SetAsideItem),
    Endpoint("POST", f"{_SET_ASIDE}/{{key}}/retry", "retrySetAside", "Retry it now", retry_set_aside, refuses=(409,)),
    Endpoint("DELETE", f"{_SET_ASIDE}/{{key}}", "deleteSetAside", "Never carry it out", delete_set_aside),
    list_endpoint("dead-letters", "listDeadLetters", "Rows that are no message, and why", list_items.DeadLetterItem),
    Endpoint("GET", "/conjoin/v1/status", "getStoreStatus", "How the store is", status, answer=_STATUS),
    Endpoint(
        *("GET", "/conjoin/v1/shards", "listShards", "How far each shard is", shards),
        answer=whole({"items": array(_SHARD)}),
    ),
)
