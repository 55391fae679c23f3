"""Models and instances: deployed, created, cancelled; their variables, incidents and user tasks.

What may be done twice without a difference is retried. Creating an instance may not: without an answer nobody knows
whether there is one, and the caller gets `NoAnswer`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from conjoin.client.exchange import Exchange, File, HttpRequest, Patience, called, never
from conjoin.client.values import ProcessInstance, ProcessVersion

Variables = Mapping[str, Any]
LATEST = -1


def deploy(patience: Patience, *files: str | Path | File, tenant: str = "") -> Exchange[list[ProcessVersion]]:
    """Files of models, or names with their contents: all of them or none. An unchanged model keeps its version."""
    read = [file if isinstance(file, tuple) else (Path(file).name, Path(file).read_bytes()) for file in files]
    names, fields = ", ".join(name for name, _ in read), {"tenantId": tenant} if tenant else {}
    request = HttpRequest(f"deploy {names}", "POST", "/v2/deployments", files=read, fields=fields)
    found = (yield from called(patience, request))["deployments"]
    return [msgspec.convert(it["processDefinition"], ProcessVersion, strict=False) for it in found]


def create_instance(
    patience: Patience,
    process_id: str,
    variables: Variables | None = None,
    version: int = LATEST,
    tenant: str = "",
    business_id: str = "",
) -> Exchange[ProcessInstance]:
    """An instance of a version, or of the latest. Not repeated if the server may have created it."""
    body = {"processDefinitionVersion": version, "tenantId": tenant, "businessId": business_id}
    return _created(patience, process_id, variables, body, 0)


def run_instance(
    patience: Patience,
    process_id: str,
    variables: Variables | None = None,
    wait_ms: int = 10_000,
    tenant: str = "",
) -> Exchange[ProcessInstance]:
    """Created, and answered when it has ended, with its variables; `TookTooLong` if it has not by then."""
    body = {"awaitCompletion": True, "requestTimeout": wait_ms, "tenantId": tenant}
    return _created(patience, process_id, variables, body, wait_ms)


def _created(
    patience: Patience, process_id: str, variables: Variables | None, more: Mapping[str, Any], wait_ms: int
) -> Exchange[ProcessInstance]:
    body = {"processDefinitionId": process_id, "variables": dict(variables or {})}
    body |= {name: value for name, value in more.items() if value != ""}
    request = HttpRequest(f"create {process_id!r}", "POST", "/v2/process-instances", later_s=wait_ms / 1_000)
    return msgspec.convert((yield from called(patience, request, body, never)), ProcessInstance, strict=False)


def cancel_instance(patience: Patience, key: int) -> Exchange[None]:
    request = HttpRequest(f"cancel instance {key}", "POST", f"/v2/process-instances/{key}/cancellation")
    return called(patience, request, gone_is_done=True)


def resolve_incident(patience: Patience, key: int) -> Exchange[None]:
    request = HttpRequest(f"resolve incident {key}", "POST", f"/v2/incidents/{key}/resolution")
    return called(patience, request, gone_is_done=True)


def set_variables(patience: Patience, scope_key: int, variables: Variables, local: bool = False) -> Exchange[None]:
    """Of an instance, or of an element instance in it."""
    request = HttpRequest(f"set variables of {scope_key}", "PUT", f"/v2/element-instances/{scope_key}/variables")
    return called(patience, request, {"variables": dict(variables), "local": local})


def assign_user_task(patience: Patience, key: int, assignee: str) -> Exchange[None]:
    request = HttpRequest(f"assign user task {key}", "POST", f"/v2/user-tasks/{key}/assignment")
    return called(patience, request, {"assignee": assignee})


def unassign_user_task(patience: Patience, key: int) -> Exchange[None]:
    return called(patience, HttpRequest(f"unassign user task {key}", "DELETE", f"/v2/user-tasks/{key}/assignee"))


def complete_user_task(patience: Patience, key: int, variables: Variables | None = None) -> Exchange[None]:
    request = HttpRequest(f"complete user task {key}", "POST", f"/v2/user-tasks/{key}/completion")
    return called(patience, request, {"variables": dict(variables or {})}, gone_is_done=True)
