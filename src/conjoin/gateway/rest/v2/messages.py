"""Publishing and correlating messages."""

from starlette.responses import Response

from conjoin.gateway.http.problems import accepted
from conjoin.gateway.http.reading import needed, tenant_of
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.v2.shapes import (
    BusinessId,
    CorrelationKey,
    Int64,
    KeyText,
    MessageId,
    MessageName,
    Shape,
    Tenant,
    Variables,
)
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.client_api.messages import NewMessage


class PublishMessageBody(Shape):
    name: MessageName
    correlation_key: CorrelationKey | None = None
    time_to_live: Int64 | None = None
    message_id: MessageId | None = None
    variables: Variables | None = None
    tenant_id: Tenant | None = None
    business_id: BusinessId | None = None


class Published(Shape):
    tenant_id: Tenant
    message_key: KeyText


class CorrelateMessageBody(Shape):
    name: MessageName
    correlation_key: CorrelationKey | None = None
    variables: Variables | None = None
    tenant_id: Tenant | None = None
    business_id: BusinessId | None = None


class CorrelateMessageAnswer(Shape):
    tenant_id: Tenant
    message_key: KeyText
    process_instance_key: KeyText


async def publish(call: RestCall) -> Response:
    said: PublishMessageBody = call.body
    tenant_id = tenant_of(said.tenant_id)
    which = (needed("name", said.name), said.correlation_key or "", said.variables or {}, said.time_to_live or 0)
    message = NewMessage(*which, said.message_id or "", said.business_id or "", tenant_id)
    with call.gateway.metrics.publishing("rest") as outcome:
        published = outcome.noted(await call.service.call(Calls.publish, message))
    key = accepted(published, "PUBLISH").key
    return answer({"tenantId": tenant_id, "messageKey": str(key)})


async def correlate(call: RestCall) -> Response:
    said: CorrelateMessageBody = call.body
    tenant_id = tenant_of(said.tenant_id)
    which = (needed("name", said.name), said.correlation_key or "", said.variables or {})
    message = NewMessage(*which, business_id=said.business_id or "", tenant_id=tenant_id)
    with call.gateway.metrics.publishing("rest") as outcome:
        correlated = outcome.noted(await call.service.call(Calls.correlate, message))
    taken = accepted(correlated, "CORRELATE")
    keys = {"messageKey": str(taken.key), "processInstanceKey": str(taken.instance_key)}
    return answer({"tenantId": tenant_id, **keys})


ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/messages/publication", "publishMessage", "Publish a message; who takes it is not told", publish),
        body=PublishMessageBody,
        answer=Published,
        refuses=(409, 504),
        example={"name": "paid", "correlationKey": "o-1", "timeToLive": 3_600_000, "variables": {"amount": 40}},
        links={name: {"messageKey": "$response.body#/messageKey"} for name in ("showMessage", "explainMessage")},
    ),
    Endpoint(
        *("POST", "/v2/messages/correlation", "correlateMessage", "Correlate a message now, or not at all", correlate),
        body=CorrelateMessageBody,
        answer=CorrelateMessageAnswer,
        refuses=(404, 409, 504),
        example={"name": "paid", "correlationKey": "o-1"},
        links={"getProcessInstance": {"processInstanceKey": "$response.body#/processInstanceKey"}},
    ),
)
