"""Messages: what became of them, as lists and one by one; and publishing with an answer that says who took it."""

import asyncio
import time
from typing import Any

from starlette.responses import Response

from conjoin.gateway.http.disconnects import while_there
from conjoin.gateway.http.messages import new_message
from conjoin.gateway.http.problems import accepted, invalid
from conjoin.gateway.http.reading import decoder, key_in, read_json_body
from conjoin.gateway.rest.conjoin_v1.asking import asked_of, listed, parameters
from conjoin.gateway.rest.conjoin_v1.fates import ATTEMPT, fate
from conjoin.gateway.rest.conjoin_v1.message_fields import EXAMPLE, MESSAGE_SCHEMA
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import array, page, record
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.reading.finding import message_with_key
from conjoin.runtime.reading.list_items import MessageItem
from conjoin.runtime.reading.lists import LISTS

LONGEST_WAIT_MS = 60_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.25
_UNDECIDED = ("buffered", "waiting")
_READER = decoder(dict[str, Any])
_LISTING = LISTS["messages"]
_FATE = ("message", "verdict", "reason", "decided_at", "sentence", "storage", "attempts", "still_buffered")


async def list_messages(call: RestCall) -> Response:
    asked = asked_of(call.request, _LISTING, keys=["instance"])
    return await call.service.look(listed, call.service.broker, "messages", _LISTING, asked)


async def show_message(call: RestCall) -> Response:
    found = await call.service.look(explain, call.service.broker, key_in(call.request, "messageKey"))
    return answer(_fate(accepted(found)))


def _fate(found: Explanation) -> dict[str, Any]:
    said = found.as_json()
    return {name: said[name] for name in _FATE if name in said}


async def publish(call: RestCall) -> Response:
    """Answers when somebody has it, or when the wait is over."""
    said = dict(await read_json_body(call.request, _READER))
    wait_ms = said.pop("wait_ms", 0)
    if type(wait_ms) is not int or not 0 <= wait_ms <= LONGEST_WAIT_MS:
        raise invalid(f"wait_ms: {wait_ms!r:.40} is not a number of milliseconds from 0 to {LONGEST_WAIT_MS}")
    message = new_message(said)
    with call.gateway.metrics.publishing("rest") as outcome:
        published = accepted(outcome.noted(await call.service.call(Calls.publish, message)), "PUBLISH")
    found = await while_there(call.request, _result(call.service, published.key, wait_ms))
    return answer(_fate(accepted(found)))


async def _result(service: Service, key: int, wait_ms: int) -> Any:
    """No thread waits: the row is looked at now and then."""
    give_up, pause_s = time.monotonic() + wait_ms / 1_000, _FIRST_PAUSE_S
    while True:
        row = await service.look_up(message_with_key, service.broker.store, key)
        left_s = give_up - time.monotonic()
        if row is None or row.verdict not in _UNDECIDED or row.deadline <= service.broker.now or left_s <= 0:
            return await service.look(explain, service.broker, key)
        await asyncio.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


_WAIT = {"wait_ms": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT_MS}}
_WAITED = {**MESSAGE_SCHEMA, "properties": {**MESSAGE_SCHEMA["properties"], **_WAIT}}
_TOLD = fate(_FATE)

ENDPOINTS = (
    Endpoint(
        *("GET", "/conjoin/v1/messages", "listMessages", "Messages and what became of them", list_messages),
        answer=page(record(MessageItem, attempts=array(ATTEMPT))),
        query=parameters(_LISTING, ["instance"]),
    ),
    Endpoint(
        *("POST", "/conjoin/v1/messages", "publishWithResult", "Publish a message, and wait for what becomes of it"),
        publish,
        answer=_TOLD,
        takes={"application/json": _WAITED},
        refuses=(409, 504),
        example=EXAMPLE,
        links={name: {"messageKey": "$response.body#/message/key"} for name in ("showMessage", "explainMessage")},
    ),
    Endpoint(
        *("GET", "/conjoin/v1/messages/{messageKey}", "showMessage", "What became of a message", show_message),
        answer=_TOLD,
    ),
)
