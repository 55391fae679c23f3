"""The one endpoint of Fleans: correlate a message now with an open subscription. Nothing is buffered.

It never starts an instance, whatever the profile of the store: the kernel offers it to subscriptions only.
"""

from starlette.responses import Response

from conjoin.gateway.http.problems import refused
from conjoin.gateway.http.reading import needed
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.v2.shapes import AnswerShape, CorrelationKey, MessageName, Shape, Variables
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.client_api.messages import NewMessage

_NOT_DELIVERED = ("NOT_FOUND", "INVALID_STATE")


class FleansMessage(Shape):
    message_name: MessageName
    correlation_key: CorrelationKey | None = None
    variables: Variables | None = None


class Delivery(AnswerShape):
    delivered: bool


async def deliver(call: RestCall) -> Response:
    body: FleansMessage = call.body
    name = needed("messageName", body.message_name)
    message = NewMessage(name, body.correlation_key or "", body.variables or {}, sync=True, subscriptions_only=True)
    outcome = await call.service.call(Calls.correlate, message)
    if isinstance(outcome, Refusal) and outcome.code not in _NOT_DELIVERED:
        raise refused(outcome)
    delivered = not isinstance(outcome, Refusal)
    return answer(Delivery(delivered), 200 if delivered else 404)


ENDPOINTS = (
    Endpoint(
        *("POST", "/api/workflow/message", "deliverMessage", "Deliver a message to an open subscription", deliver),
        body=FleansMessage,
        answer=Delivery,
        also={404: Delivery},
        refuses=(409, 504),
        example={"messageName": "paid", "correlationKey": "o-1"},
    ),
)
