"""Process instances: created (and awaited), cancelled; variables, incidents and signals."""

from itertools import permutations
from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.disconnects import while_there
from conjoin.gateway.http.problems import accepted, invalid, unimplemented
from conjoin.gateway.http.reading import key_in, key_of, needed, tenant_of
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer, done
from conjoin.gateway.rest.v2.shapes import (
    BusinessId,
    Int32,
    Int64,
    KeyText,
    Name,
    OperationReference,
    Shape,
    Tenant,
    Variables,
)
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.client_api.calls import Calls, NewInstance

_NOT_HERE = {
    "start_instructions": "startInstructions",
    "runtime_instructions": "runtimeInstructions",
    "tags": "tags",
}


class Creation(Shape):
    """By the id of a process, or by the key of a definition."""

    process_definition_id: str | None = None
    process_definition_key: KeyText | Int64 | None = None
    process_definition_version: Int32 | None = None
    variables: Variables | None = None
    tenant_id: Tenant | None = None
    business_id: BusinessId | None = None
    await_completion: bool | None = None
    request_timeout: Int64 | None = None
    fetch_variables: list[str] | None = None
    operation_reference: Int64 | None = None
    start_instructions: list[dict[str, Any]] | None = None
    runtime_instructions: list[dict[str, Any]] | None = None
    tags: list[str] | None = None


class Created(Shape):
    process_definition_id: str
    process_definition_version: int
    process_definition_key: KeyText
    process_instance_key: KeyText
    tenant_id: Tenant
    variables: Variables
    tags: list[str]
    business_id: str | None


class NewVariables(Shape):
    variables: Variables
    local: bool | None = None
    operation_reference: Int64 | None = None


class Signal(Shape):
    signal_name: Name
    variables: Variables | None = None
    tenant_id: Tenant | None = None


class Broadcast(Shape):
    tenant_id: Tenant
    signal_key: KeyText


async def create(call: RestCall) -> Response:
    said: Creation = call.body
    for name, wire_name in _NOT_HERE.items():
        if getattr(said, name):
            raise unimplemented(f"Creating an instance with {wire_name}")
    new = _new(said)
    if not said.await_completion:
        return answer(_told(accepted(await call.service.call(Calls.create_instance, new), "CREATE"), {}))
    work = call.service.create_with_result(new, said.request_timeout or 0, tuple(said.fetch_variables or ()))
    result = accepted(await while_there(call.request, work), "CREATE_WITH_AWAITING_RESULT")
    return answer(_told(result.instance, result.variables))


def _new(said: Creation) -> NewInstance:
    by_id, by_key = said.process_definition_id is not None, said.process_definition_key is not None
    if by_id == by_key:
        raise invalid("At least one of [processDefinitionId, processDefinitionKey] is required, and only one of them")
    version = said.process_definition_version if said.process_definition_version is not None else -1
    if version < 1 and version != -1:
        raise invalid(f"Request property [processDefinitionVersion] cannot be {version}: it is a version, or -1")
    new = NewInstance(said.process_definition_id or "", said.variables or {}, max(version, 0), said.business_id or "")
    new.tenant_id = tenant_of(said.tenant_id)
    if said.process_definition_key is not None:
        new.definition_key = key_of("processDefinitionKey", said.process_definition_key)
    return new


def _told(created: CreatedInstance, variables: Any) -> dict[str, Any]:
    return {
        "processDefinitionId": created.process_id,
        "processDefinitionVersion": created.version,
        "processDefinitionKey": str(created.definition_key),
        "processInstanceKey": str(created.key),
        "tenantId": created.tenant_id,
        "variables": variables,
        "tags": [],
        "businessId": created.business_id or None,
    }


async def cancel(call: RestCall) -> Response:
    return done(await call.service.call(Calls.cancel_instance, key_in(call.request, "processInstanceKey")), "CANCEL")


async def set_variables(call: RestCall) -> Response:
    said: NewVariables = call.body
    key = key_in(call.request, "elementInstanceKey")
    return done(await call.service.call(Calls.set_variables, key, said.variables, bool(said.local)), "UPDATE")


async def resolve(call: RestCall) -> Response:
    return done(await call.service.call(Calls.resolve_incident, key_in(call.request, "incidentKey")), "RESOLVE")


async def broadcast(call: RestCall) -> Response:
    said: Signal = call.body
    tenant_id = tenant_of(said.tenant_id)
    name = needed("signalName", said.signal_name)
    accepted(await call.service.call(Calls.broadcast_signal, name, said.variables or {}, tenant_id), "BROADCAST")
    # A signal is nothing that is kept, so there is no record that could have a key.
    return answer({"tenantId": tenant_id, "signalKey": "0"})


_ONE_WAY = {
    "oneOf": [
        {"required": [given], "properties": {given: {"type": ["string", "integer"]}, other: {"type": "null"}}}
        for given, other in permutations(("processDefinitionId", "processDefinitionKey"))
    ],
    "properties": {"processDefinitionVersion": {"anyOf": [{"const": -1}, {"minimum": 1}, {"type": "null"}]}},
}

ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/process-instances", "createProcessInstance", "Create an instance, and wait for it if asked"),
        create,
        body=Creation,
        narrower=_ONE_WAY,
        answer=Created,
        refuses=(404, 409, 501, 504),
        example={"processDefinitionId": "order", "variables": {"orderId": "o-1"}},
        links={
            name: {"processInstanceKey": "$response.body#/processInstanceKey"}
            for name in ("getProcessInstance", "cancelProcessInstance", "searchProcessInstanceIncidents")
        },
    ),
    Endpoint(
        *("POST", "/v2/process-instances/{processInstanceKey}/cancellation", "cancelProcessInstance"),
        "Cancel an instance",
        cancel,
        body=OperationReference,
        needs_body=False,
        refuses=(409, 504),
        example={},
    ),
    Endpoint(
        *("PUT", "/v2/element-instances/{elementInstanceKey}/variables", "createElementInstanceVariables"),
        "Set variables of an instance or of a scope in it",
        set_variables,
        body=NewVariables,
        refuses=(409, 504),
        example={"variables": {"amount": 40}},
    ),
    Endpoint(
        *("POST", "/v2/incidents/{incidentKey}/resolution", "resolveIncident", "Try again where an instance is stuck"),
        resolve,
        body=OperationReference,
        needs_body=False,
        refuses=(409, 504),
        example={},
    ),
    Endpoint(
        *("POST", "/v2/signals/broadcast", "broadcastSignal", "Broadcast a signal", broadcast),
        body=Signal,
        answer=Broadcast,
        refuses=(409, 504),
        example={"signalName": "stop"},
    ),
)
