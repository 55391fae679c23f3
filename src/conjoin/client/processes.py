"""Models and instances: deployed, created, cancelled; their variables and incidents.

What may be done twice without a difference is tried again. Creating an instance may not: without an answer nobody knows
whether there is one, and the caller is told so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from conjoin.client.exchange import Exchange, File, HttpRequest, Patience, asked, body_of, done, encoded, never
from conjoin.client.values import ProcessInstance, ProcessVersion

Variables = Mapping[str, Any]
LATEST = -1
_INSTANCE = msgspec.json.Decoder(ProcessInstance, strict=False)


def deploy(files: Sequence[File], tenant: str, patience: Patience) -> Exchange[list[ProcessVersion]]:
    """A model that has not changed stays the version that it is, so it may be sent again."""
    names = ", ".join(name for name, _ in files)
    fields = {"tenantId": tenant} if tenant else {}
    request = HttpRequest(f"deploy {names}", "POST", "/v2/deployments", files=files, fields=fields)
    told = msgspec.json.decode((yield from done(request, patience)))["deployments"]
    return [msgspec.convert(it["processDefinition"], ProcessVersion, strict=False) for it in told]


def new_instance(
    process_id: str, variables: Variables | None, version: int = LATEST, tenant: str = "", business_id: str = ""
) -> dict[str, Any]:
    """As `/v2` spells it."""
    said = {"processDefinitionId": process_id, "variables": dict(variables or {}), "processDefinitionVersion": version}
    more = {"tenantId": tenant, "businessId": business_id}
    return said | {name: value for name, value in more.items() if value}


def create(said: Mapping[str, Any], wait_ms: int, patience: Patience) -> Exchange[ProcessInstance]:
    waited = {"awaitCompletion": True, "requestTimeout": wait_ms} if wait_ms else {}
    asks, body = f"create {said['processDefinitionId']!r}", encoded({**said, **waited})
    request = HttpRequest(asks, "POST", "/v2/process-instances", body, later_s=wait_ms / 1_000)
    heard = yield from asked(request, patience, never)
    return _INSTANCE.decode(body_of(heard, request))


def cancel(key: int, patience: Patience) -> Exchange[None]:
    request = HttpRequest(f"cancel instance {key}", "POST", f"/v2/process-instances/{key}/cancellation")
    yield from done(request, patience, gone_is_done=True)


def resolve(key: int, patience: Patience) -> Exchange[None]:
    request = HttpRequest(f"resolve incident {key}", "POST", f"/v2/incidents/{key}/resolution")
    yield from done(request, patience, gone_is_done=True)


def set_variables(key: int, variables: Variables, local: bool, patience: Patience) -> Exchange[None]:
    body = encoded({"variables": dict(variables), "local": local})
    request = HttpRequest(f"set variables of {key}", "PUT", f"/v2/element-instances/{key}/variables", body)
    yield from done(request, patience)
