"""What was set aside because it could not be carried out (listed, retried, deleted), and the list of dead letters."""

from starlette.responses import Response

from conjoin.gateway.http.reading import key_in
from conjoin.gateway.queries.store import page_as_json
from conjoin.gateway.rest.conjoin_v1.asking import asked_of, parameters
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer, done
from conjoin.gateway.rest.openapi.schemas import page, record
from conjoin.runtime.reading.list_items import DeadLetterItem, SetAsideItem
from conjoin.runtime.reading.lists import LISTS, list_page

_WHAT, _DEAD_LETTERS = "set-aside", "dead-letters"
_LISTING, _LETTERS = LISTS[_WHAT], LISTS[_DEAD_LETTERS]
_PATH = "/conjoin/v1/set-aside"


async def listed(call: RestCall) -> Response:
    asked = asked_of(call.request, _LISTING, ["instance"])
    return answer(page_as_json(await call.service.look(list_page, call.service.broker, _WHAT, asked)))


async def list_dead_letters(call: RestCall) -> Response:
    asked = asked_of(call.request, _LETTERS)
    return answer(page_as_json(await call.service.look(list_page, call.service.broker, _DEAD_LETTERS, asked)))


async def retry(call: RestCall) -> Response:
    key = key_in(call.request, "key")
    return done(await call.service.carry_out(call.service.broker.retry_set_aside, key), "RETRY")


async def delete(call: RestCall) -> Response:
    key = key_in(call.request, "key")
    return done(await call.service.carry_out(call.service.broker.delete_set_aside, key), "DELETE")


ENDPOINTS = (
    Endpoint(
        *("GET", _PATH, "listSetAside", "What could not be carried out, and why", listed),
        answer=page(record(SetAsideItem)),
        query=parameters(_LISTING, ["instance"]),
    ),
    Endpoint("POST", f"{_PATH}/{{key}}/retry", "retrySetAside", "Try it again, now", retry, refuses=(409,)),
    Endpoint("DELETE", f"{_PATH}/{{key}}", "deleteSetAside", "Never carry it out", delete),
    Endpoint(
        *("GET", "/conjoin/v1/dead-letters", "listDeadLetters", "Rows that no message could be made of"),
        list_dead_letters,
        answer=page(record(DeadLetterItem)),
        query=parameters(_LETTERS),
    ),
)
