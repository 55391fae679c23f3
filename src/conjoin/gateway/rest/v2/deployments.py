"""Deployments: model files, as a form. All of them or none."""

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message

from conjoin.gateway.http.problems import accepted, invalid
from conjoin.gateway.http.reading import MOST_BYTES, hold, in_time, not_too_large, of_type, tenant_of, too_large
from conjoin.gateway.http.schemas import TENANT, closed
from conjoin.gateway.memory_budget import xml_cost
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.v2.shapes import AnswerShape, KeyText, Tenant

_MOST_FILES = 1_000


class DeployedDefinition(AnswerShape):
    process_definition_id: str
    process_definition_version: int
    process_definition_key: KeyText
    resource_name: str
    tenant_id: Tenant


class Deployed(AnswerShape):
    process_definition: DeployedDefinition
    decision_definition: None
    decision_requirements: None
    form: None
    resource: None


class DeploymentAnswer(AnswerShape):
    deployment_key: KeyText
    tenant_id: Tenant
    deployments: list[Deployed]


def _limited(request: Request) -> Request:
    """The same request, which fails when it grows too large."""
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
    call.note(resources=[name for name, _ in resources], tenantId=tenant_id)
    hold(call.request, sum(xml_cost(content) for _, content in resources))
    deployment = accepted(await call.service.deploy(resources, tenant_id), "CREATE")
    found = deployment.processes
    definitions = [DeployedDefinition(it.process_id, it.version, str(it.key), it.resource, tenant_id) for it in found]
    deployed = [Deployed(it, None, None, None, None) for it in definitions]
    return answer(DeploymentAnswer(str(deployment.key), tenant_id, deployed))


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


_FILES = {"type": "array", "minItems": 1, "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
_FORM = closed({"resources": _FILES, "tenantId": TENANT}, ["resources"])

ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/deployments", "createDeployment", "Deploy model files: all of them or none", deploy),
        answer=DeploymentAnswer,
        refuses=(409,),
        takes={"multipart/form-data": _FORM},
    ),
)
