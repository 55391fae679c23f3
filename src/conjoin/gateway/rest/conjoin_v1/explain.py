"""Why a message was or was not correlated; and what would become of one that is not sent."""

from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.disconnects import while_there
from conjoin.gateway.http.messages import new_message
from conjoin.gateway.http.problems import accepted
from conjoin.gateway.http.reading import decoder, key_in, read_json_body
from conjoin.gateway.rest.conjoin_v1.fates import EXPLANATION
from conjoin.gateway.rest.conjoin_v1.message_fields import EXAMPLE, MESSAGE_SCHEMA
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import array, whole
from conjoin.runtime.broker import Broker
from conjoin.runtime.explain.explain import explain

_READER = decoder(dict[str, Any])


async def explain_message(call: RestCall) -> Response:
    return await call.service.look(_explained, call.service.broker, key_in(call.request, "messageKey"))


def _explained(broker: Broker, key: int) -> Response:
    return answer(accepted(explain(broker, key)).as_json())


async def dry_run(call: RestCall) -> Response:
    """Nothing is sent and nothing is changed."""
    message = new_message(await read_json_body(call.request, _READER))
    return answer(accepted(await while_there(call.request, call.service.rehearse(message))).as_json())


ENDPOINTS = (
    Endpoint(
        *("GET", "/conjoin/v1/messages/{messageKey}/explain", "explainMessage", "Why it was or was not correlated"),
        explain_message,
        answer=EXPLANATION,
    ),
    Endpoint(
        *("POST", "/conjoin/v1/explain", "explainUnsent", "What would become of a message that is not sent", dry_run),
        answer=whole({"dry_run": EXPLANATION, "known": array(EXPLANATION)}),
        takes={"application/json": MESSAGE_SCHEMA},
        example=EXAMPLE,
    ),
)
