"""The policies of a store: what is in force, every change, and changing them for a message name (`*` for all)."""

from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.reading import needed
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import COUNT, INSTANT, TEXT, array, whole
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.policies_set import policies_as_json

Answers = dict[str, str | int | bool]


async def list_policies(call: RestCall) -> Response:
    return answer(await call.service.look(policies_as_json, call.service.broker))


async def set_policy(call: RestCall) -> Response:
    """All that is set for this name; what is not named is as the profile says."""
    name = needed("name", call.request.path_params["name"])
    call.tell(policy=call.body)
    return answer(await call.service.carry_out(_set, call.service.broker, name, call.body))


def _set(broker: Broker, name: str, answers: Answers) -> dict[str, Any]:
    broker.catalog.set_policy(name, answers, broker.now)
    version = broker.catalog.view().version
    return {"name": name, "policy": broker.catalog.in_force().get(name, {}), "catalog_version": version}


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

ENDPOINTS = (
    Endpoint("GET", "/conjoin/v1/policies", "listPolicies", "What is in force", list_policies, answer=_POLICIES),
    Endpoint(
        *("PUT", "/conjoin/v1/policies/{name}", "setPolicy", "Set the policies of a message name", set_policy),
        body=Answers,
        answer=whole({"name": TEXT, "policy": _POLICY, "catalog_version": COUNT}),
        example={"time_to_live": "1h"},
    ),
)
