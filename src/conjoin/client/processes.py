"""Models and instances: deployed, created, cancelled; their variables, incidents and user tasks.

What may be done twice without a difference is retried. Creating an instance may not: without an answer nobody knows
whether there is one, and the caller gets `NoAnswer`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from conjoin.client.exchange import (
    Exchange,
    File,
    HttpRequest,
    Patience,
    answered,
    asked,
    body_of,
    done,
    encoded,
    never,
)
from conjoin.client.values import ProcessInstance, ProcessVersion

Variables = Mapping[str, Any]
LATEST = -1
_INSTANCE = msgspec.json.Decoder(ProcessInstance, strict=False)


def deploy(patience: Patience, *files: str | Path | File, tenant: str = "") -> Exchange[list[ProcessVersion]]:
    """Files of models, or names with their contents: all of them or none. An unchanged model keeps its version."""
    read = _read(files)
    names = ", ".join(name for name, _ in read)
    fields = {"tenantId": tenant} if tenant else {}
    request = HttpRequest(f"deploy {names}", "POST", "/v2/deployments", files=read, fields=fields)
    told = msgspec.json.decode((yield from done(request, patience)))["deployments"]
    return [msgspec.convert(it["processDefinition"], ProcessVersion, strict=False) for it in told]


def _read(files: Iterable[str | Path | File]) -> list[File]:
    return [file if isinstance(file, tuple) else (Path(file).name, Path(file).read_bytes()) for file in files]


def create_instance(
    patience: Patience,
    process_id: str,
    variables: Variables | None = None,
    version: int = LATEST,
    tenant: str = "",
    business_id: str = "",
) -> Exchange[ProcessInstance]:
    """An instance of a version, or of the latest. Not repeated if the server may have created it."""
    said = {"processDefinitionVersion": version, "tenantId": tenant, "businessId": business_id}
    return (yield from _created(patience, process_id, variables, said, 0))


def run_instance(
    patience: Patience,
    process_id: str,
    variables: Variables | None = None,
    wait_ms: int = 10_000,
    tenant: str = "",
) -> Exchange[ProcessInstance]:
    """Created, and answered when it has ended, with its variables; `TookTooLong` if it has not by then."""
    said = {"awaitCompletion": True, "requestTimeout": wait_ms, "tenantId": tenant}
    return (yield from _created(patience, process_id, variables, said, wait_ms))


def _created(
    patience: Patience, process_id: str, variables: Variables | None, said: Mapping[str, Any], wait_ms: int
) -> Exchange[ProcessInstance]:
    body = {"processDefinitionId": process_id, "variables": dict(variables or {})}
    body |= {name: value for name, value in said.items() if value != ""}
    asks, later_s = f"create {process_id!r}", wait_ms / 1_000
    request = HttpRequest(asks, "POST", "/v2/process-instances", encoded(body), later_s=later_s)
    heard = yield from asked(request, patience, never)
    return _INSTANCE.decode(body_of(heard, request))


def cancel_instance(patience: Patience, key: int) -> Exchange[None]:
    request = HttpRequest(f"cancel instance {key}", "POST", f"/v2/process-instances/{key}/cancellation")
    yield from done(request, patience, gone_is_done=True)


def resolve_incident(patience: Patience, key: int) -> Exchange[None]:
    request = HttpRequest(f"resolve incident {key}", "POST", f"/v2/incidents/{key}/resolution")
    yield from done(request, patience, gone_is_done=True)


def set_variables(patience: Patience, scope_key: int, variables: Variables, local: bool = False) -> Exchange[None]:
    """Of an instance, or of an element instance in it."""
    body = {"variables": dict(variables), "local": local}
    asks, path = f"set variables of {scope_key}", f"/v2/element-instances/{scope_key}/variables"
    yield from answered(patience, asks, "PUT", path, body)


def assign_user_task(patience: Patience, key: int, assignee: str) -> Exchange[None]:
    path, body = f"/v2/user-tasks/{key}/assignment", {"assignee": assignee}
    yield from answered(patience, f"assign user task {key}", "POST", path, body)


def unassign_user_task(patience: Patience, key: int) -> Exchange[None]:
    yield from answered(patience, f"unassign user task {key}", "DELETE", f"/v2/user-tasks/{key}/assignee")


def complete_user_task(patience: Patience, key: int, variables: Variables | None = None) -> Exchange[None]:
    body = encoded({"variables": dict(variables or {})})
    request = HttpRequest(f"complete user task {key}", "POST", f"/v2/user-tasks/{key}/completion", body)
    yield from done(request, patience, gone_is_done=True)
