"""What a message carried, deleted on request; what became of the message is kept."""

from starlette.responses import Response

from conjoin.gateway.http.reading import key_in
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, done


async def erase(call: RestCall) -> Response:
    return done(await call.service.erase_payload(key_in(call.request, "messageKey")), "DELETE")


ENDPOINTS = (
    Endpoint(
        *("DELETE", "/conjoin/v1/messages/{messageKey}/payload", "erasePayload"),
        "Delete what a message that is over carried; its verdict is kept",
        erase,
        refuses=(409,),
    ),
)
