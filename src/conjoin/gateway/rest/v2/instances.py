"""Process instances: created (and awaited) and cancelled; their variables set, their incidents resolved."""

from itertools import permutations
from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.problems import accepted, invalid, unimplemented
from conjoin.gateway.http.reading import key_of, tenant_of, while_there
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer, command
from conjoin.gateway.rest.v2 import shapes
from conjoin.gateway.rest.v2.shapes import AnswerShape, Shape
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.client_api.calls import Calls, NewInstance

_UNSUPPORTED = {
    "start_instructions": "startInstructions",
    "runtime_instructions": "runtimeInstructions",
    "tags": "tags",
}


class Creation(Shape):
    """By the id of a process, or by the key of a definition."""

    process_definition_id: str | None = None
    process_definition_key: shapes.KeyText | shapes.Int64 | None = None
    process_definition_version: shapes.Int32 | None = None
    variables: shapes.Variables | None = None
    tenant_id: shapes.Tenant | None = None
    business_id: shapes.BusinessId | None = None
    await_completion: bool | None = None
    request_timeout: shapes.Int64 | None = None
    fetch_variables: list[str] | None = None
    operation_reference: shapes.Int64 | None = None
    start_instructions: list[dict[str, Any]] | None = None
    runtime_instructions: list[dict[str, Any]] | None = None
    tags: list[str] | None = None


class Created(AnswerShape):
    process_definition_id: str
    process_definition_version: int
    process_definition_key: shapes.KeyText
    process_instance_key: shapes.KeyText
    tenant_id: shapes.Tenant
    variables: shapes.Variables
    tags: list[str]
    business_id: str | None


class NewVariables(Shape):
    variables: shapes.Variables
    local: bool | None = None
    operation_reference: shapes.Int64 | None = None


async def create(call: RestCall) -> Response:
    body: Creation = call.body
    for name, wire_name in _UNSUPPORTED.items():
        if getattr(body, name):
            raise unimplemented(f"Creating an instance with {wire_name}")
    new = _new(body)
    if not body.await_completion:
        return _created(await call.command(Calls.create_instance, new), {})
    work = call.service.create_with_result(new, body.request_timeout or 0, tuple(body.fetch_variables or ()))
    result = accepted(await while_there(call.request, work), "CREATE_WITH_AWAITING_RESULT")
    return _created(result.instance, result.variables)


def _new(body: Creation) -> NewInstance:
    by_id, by_key = body.process_definition_id is not None, body.process_definition_key is not None
    if by_id == by_key:
        raise invalid("At least one of [processDefinitionId, processDefinitionKey] is required, and only one of them")
    version = body.process_definition_version if body.process_definition_version is not None else -1
    if version < 1 and version != -1:
        raise invalid(f"Request property [processDefinitionVersion] cannot be {version}: it is a version, or -1")
    new = NewInstance(body.process_definition_id or "", body.variables or {}, max(version, 0), body.business_id or "")
    new.tenant_id = tenant_of(body.tenant_id)
    if body.process_definition_key is not None:
        new.definition_key = key_of("processDefinitionKey", body.process_definition_key)
    return new


def _created(created: CreatedInstance, variables: Any) -> Response:
    definition = (created.process_id, created.version, str(created.definition_key), str(created.key))
    return answer(Created(*definition, created.tenant_id, variables, [], created.business_id or None))


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
    command(
        *("POST", "/v2/process-instances/{processInstanceKey}/cancellation", "cancelProcessInstance"),
        *("Cancel an instance", Calls.cancel_instance),
        body=shapes.OperationReference,
        needs_body=False,
        example={},
    ),
    command(
        *("PUT", "/v2/element-instances/{elementInstanceKey}/variables", "createElementInstanceVariables"),
        *("Set variables of an instance or of a scope in it", Calls.set_variables),
        lambda body: (body.variables, bool(body.local)),
        body=NewVariables,
        example={"variables": {"amount": 40}},
    ),
    command(
        *("POST", "/v2/incidents/{incidentKey}/resolution", "resolveIncident", "Try again where an instance is stuck"),
        Calls.resolve_incident,
        body=shapes.OperationReference,
        needs_body=False,
        example={},
    ),
)
