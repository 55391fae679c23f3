"""Publishing and correlating messages, and broadcasting signals."""

from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.reading import needed, tenant_of
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.v2 import shapes
from conjoin.gateway.rest.v2.shapes import AnswerShape, Shape
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.client_api.messages import NewMessage


class CorrelateMessageBody(Shape):
    name: shapes.MessageName
    correlation_key: shapes.CorrelationKey | None = None
    variables: shapes.Variables | None = None
    tenant_id: shapes.Tenant | None = None
    business_id: shapes.BusinessId | None = None


class PublishMessageBody(CorrelateMessageBody):
    time_to_live: shapes.Int64 | None = None
    message_id: shapes.MessageId | None = None


class Published(AnswerShape):
    tenant_id: shapes.Tenant
    message_key: shapes.KeyText


class CorrelateMessageAnswer(Published):
    process_instance_key: shapes.KeyText


class Signal(Shape):
    signal_name: shapes.Name
    variables: shapes.Variables | None = None
    tenant_id: shapes.Tenant | None = None


class Broadcast(AnswerShape):
    tenant_id: shapes.Tenant
    signal_key: shapes.KeyText


def _message(body: CorrelateMessageBody, **more: Any) -> NewMessage:
    more |= {"business_id": body.business_id or "", "tenant_id": tenant_of(body.tenant_id)}
    return NewMessage(needed("name", body.name), body.correlation_key or "", body.variables or {}, **more)


async def publish(call: RestCall) -> Response:
    body: PublishMessageBody = call.body
    message = _message(body, ttl_ms=body.time_to_live or 0, message_id=body.message_id or "")
    return answer(Published(message.tenant_id, str((await call.publish(Calls.publish, message)).key)))


async def correlate(call: RestCall) -> Response:
    message = _message(call.body)
    taken = await call.publish(Calls.correlate, message)
    return answer(CorrelateMessageAnswer(message.tenant_id, str(taken.key), str(taken.instance_key)))


async def broadcast(call: RestCall) -> Response:
    body: Signal = call.body
    tenant_id, name = tenant_of(body.tenant_id), needed("signalName", body.signal_name)
    await call.command(Calls.broadcast_signal, name, body.variables or {}, tenant_id)
    # A signal is not stored, so there is no record that could have a key.
    return answer(Broadcast(tenant_id, "0"))


ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/messages/publication", "publishMessage", "Publish a message, without waiting for a receiver"),
        publish,
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
    Endpoint(
        *("POST", "/v2/signals/broadcast", "broadcastSignal", "Broadcast a signal", broadcast),
        body=Signal,
        answer=Broadcast,
        refuses=(409, 504),
        example={"signalName": "stop"},
    ),
)
