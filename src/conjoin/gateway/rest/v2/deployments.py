"""Deployments: model files, as a form. All of them or none."""

from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message

from conjoin.gateway.http.problems import accepted, invalid
from conjoin.gateway.http.reading import MOST_BYTES, hold, in_time, not_too_large, of_type, tenant_of, too_large
from conjoin.gateway.memory_budget import xml_cost
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import TENANT, closed
from conjoin.gateway.rest.v2.shapes import KeyText, Shape, Tenant
from conjoin.runtime.client_api.answers import DeployedProcess

_MOST_FILES = 1_000
_OTHERS = ("decisionDefinition", "decisionRequirements", "form", "resource")


def _limited(request: Request) -> Request:
    """The same request, which breaks off when it grows too large."""
    not_too_large(request, MOST_BYTES)
    size = 0

    async def receive() -> Message:
        nonlocal size
        message = await request.receive()
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            raise too_large(MOST_BYTES)
        hold(request, len(message.get("body", b"")))
        return message

    return Request(request.scope, receive)


async def deploy(call: RestCall) -> Response:
    of_type(call.request, "multipart/form-data")
    try:
        form = _limited(call.request).form(max_files=_MOST_FILES, max_fields=10)
        async with in_time(), form as fields:
            resources, tenant_id = await _read(fields)
    except HTTPException as error:
        raise invalid(f"The form cannot be read: {error.detail}") from None
    except ClientDisconnect:
        raise invalid("The body was cut off") from None
    call.tell(resources=[name for name, _ in resources], tenantId=tenant_id)
    hold(call.request, sum(xml_cost(content) for _, content in resources))
    deployment = accepted(await call.service.deploy(resources, tenant_id), "CREATE")
    told = [_told(process, tenant_id) for process in deployment.processes]
    return answer({"deploymentKey": str(deployment.key), "tenantId": tenant_id, "deployments": told})


async def _read(fields: FormData) -> tuple[list[tuple[str, bytes]], str]:
    resources: list[tuple[str, bytes]] = []
    tenant_id = ""
    for name, value in fields.multi_items():
        if name == "tenantId" and isinstance(value, str):
            tenant_id = value
        elif name == "resources" and isinstance(value, UploadFile) and value.filename:
            resources.append((value.filename, await value.read()))
        else:
            raise invalid(f"Request property [{name}] cannot be parsed: there are resources (files) and tenantId")
    if not resources:
        raise invalid("No resources provided")
    return resources, tenant_of(tenant_id)


def _told(process: DeployedProcess, tenant_id: str) -> dict[str, Any]:
    deployed = {
        "processDefinitionId": process.process_id,
        "processDefinitionVersion": process.version,
        "processDefinitionKey": str(process.key),
        "resourceName": process.resource,
        "tenantId": tenant_id,
    }
    return {"processDefinition": deployed, **dict.fromkeys(_OTHERS)}


class DeployedDefinition(Shape):
    process_definition_id: str
    process_definition_version: int
    process_definition_key: KeyText
    resource_name: str
    tenant_id: Tenant


class Deployed(Shape):
    process_definition: DeployedDefinition
    decision_definition: None
    decision_requirements: None
    form: None
    resource: None


class DeploymentTold(Shape):
    deployment_key: KeyText
    tenant_id: Tenant
    deployments: list[Deployed]


_FILES = {"type": "array", "minItems": 1, "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
_FORM = closed({"resources": _FILES, "tenantId": TENANT}, ["resources"])

ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/deployments", "createDeployment", "Deploy model files: all of them or none", deploy),
        answer=DeploymentTold,
        refuses=(409,),
        takes={"multipart/form-data": _FORM},
    ),
)
