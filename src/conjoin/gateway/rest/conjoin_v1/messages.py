"""Messages: published with an answer that says who took them; listed, shown and explained; their payload erased."""

import asyncio
import time
from typing import Any

from starlette.responses import Response

from conjoin.gateway.http import schemas
from conjoin.gateway.http.problems import accepted, invalid
from conjoin.gateway.http.reading import decoder, key_of, new_message, read_json_body, while_there
from conjoin.gateway.http.schemas import Schema, array, closed, nullable, record, whole
from conjoin.gateway.rest.conjoin_v1.list_query import list_endpoint
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.service import Service
from conjoin.kernel.storable import LONGEST_KEY
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import LONGEST_BUSINESS_ID
from conjoin.runtime.explain.explain import explain, what_became
from conjoin.runtime.explain.explanation import Attempt, Explanation, MessageFacts, NearNow, StillBuffered
from conjoin.runtime.explain.notes import Nobody, Related
from conjoin.runtime.ingest.mapping import SPELLINGS
from conjoin.runtime.reading.finding import message_with_key
from conjoin.runtime.reading.list_items import MessageItem

LONGEST_WAIT_MS = 60_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.25
_UNDECIDED = ("buffered", "waiting")
_READER = decoder(dict[str, Any])
_OUTCOME = ("message", "verdict", "reason", "decided_at", "sentence", "storage", "attempts", "still_buffered")
"""What of an explanation says what became of the message, without the near misses."""


async def show_message(call: RestCall) -> Response:
    found = await call.service.look(explain, call.service.broker, call.key("messageKey"))
    return answer(_outcome(accepted(found)))


def _outcome(found: Explanation) -> dict[str, Any]:
    facts = found.as_json()
    return {name: facts[name] for name in _OUTCOME if name in facts}


async def publish(call: RestCall) -> Response:
    """Answers as soon as somebody has taken it, or when the wait is over."""
    fields = dict(await read_json_body(call.request, _READER))
    wait_ms = fields.pop("wait_ms", 0)
    if type(wait_ms) is not int or not 0 <= wait_ms <= LONGEST_WAIT_MS:
        raise invalid(f"wait_ms: {wait_ms!r:.40} is not a number of milliseconds from 0 to {LONGEST_WAIT_MS}")
    replaced = fields.pop("replaces", None)
    message = new_message(fields)
    published = await call.publish_instead(None if replaced is None else key_of("replaces", replaced), message)
    found = await while_there(call.request, _result(call.service, published.key, wait_ms))
    return answer(_outcome(accepted(found)))


async def _result(service: Service, key: int, wait_ms: int) -> Any:
    """No thread waits: the row is polled."""
    give_up, pause_s = time.monotonic() + wait_ms / 1_000, _FIRST_PAUSE_S
    while True:
        row = await service.look_up(message_with_key, service.broker.store, key)
        left_s = give_up - time.monotonic()
        if row is None or row.verdict not in _UNDECIDED or row.deadline <= service.broker.now or left_s <= 0:
            return await service.look(what_became, service.broker, key)
        await asyncio.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


async def explain_message(call: RestCall) -> Response:
    return await call.service.look(_explained, call.service.broker, call.key("messageKey"))


def _explained(broker: Broker, key: int) -> Response:
    return answer(accepted(explain(broker, key)).as_json())


async def dry_run(call: RestCall) -> Response:
    """Nothing is sent and nothing is changed."""
    message = new_message(await read_json_body(call.request, _READER))
    return answer(accepted(await while_there(call.request, call.service.rehearse(message))).as_json())


async def erase_payload(call: RestCall) -> Response:
    accepted(await call.service.erase_payload(call.key("messageKey")), "DELETE")
    return Response(status_code=204)


_LABEL: Schema = {"anyOf": [{**schemas.TEXT, "maxLength": LONGEST_KEY}, schemas.INT64]}
_TTL: Schema = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h|d)$", "description": "Or ISO 8601, as PT1H"}
_MILLISECONDS: Schema = {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1}
_FIELDS: dict[str, Schema] = {
    "name": schemas.NAME,
    "key": _LABEL,
    "id": _LABEL,
    "ttl": {"anyOf": [_TTL, {"type": "integer", "minimum": -(2**63) + 1, "maximum": 2**63 - 1}]},
    "variables": schemas.OBJECT,
    "tenant": schemas.TENANT,
    "business_id": {**schemas.TEXT, "maxLength": LONGEST_BUSINESS_ID},
    "published_at": {"anyOf": [schemas.INSTANT, _MILLISECONDS]},
}
MESSAGE_SCHEMA = closed(
    {spelling: _FIELDS[name] if name == "name" else nullable(_FIELDS[name]) for spelling, name in SPELLINGS.items()},
    ["name"],
)
"""Of what `new_message` reads."""
_WAIT = {
    "wait_ms": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT_MS},
    "replaces": nullable({**schemas.KEY, "description": "A lost message, in place of which this one is sent"}),
}
_EXAMPLE = {"name": "paid", "key": "o-1", "ttl": "1h", "variables": {"amount": 40}}
_ATTEMPT = record(Attempt)
_EXPLANATION = record(
    Explanation,
    message=record(MessageFacts),
    # Without what is not known.
    attempts=array(closed(_ATTEMPT["properties"], ["outcome", "offered_at"])),
    near_misses=array(schemas.OBJECT),
    still_buffered=nullable(record(StillBuffered)),
    related=array(record(Related, message=schemas.KEY)),
    nobody=nullable(record(Nobody)),
    near_now=nullable(record(NearNow, near_misses=array(schemas.OBJECT))),
)
_OUTCOME_SCHEMA = whole({name: _EXPLANATION["properties"][name] for name in _OUTCOME})

ENDPOINTS = (
    list_endpoint("messages", "listMessages", "Messages and what became of them", MessageItem),
    Endpoint(
        *("POST", "/conjoin/v1/messages", "publishWithResult", "Publish a message, and wait for what becomes of it"),
        publish,
        answer=_OUTCOME_SCHEMA,
        takes={"application/json": {**MESSAGE_SCHEMA, "properties": {**MESSAGE_SCHEMA["properties"], **_WAIT}}},
        refuses=(404, 409, 504),
        example=_EXAMPLE,
        links={name: {"messageKey": "$response.body#/message/key"} for name in ("showMessage", "explainMessage")},
    ),
    Endpoint(
        *("GET", "/conjoin/v1/messages/{messageKey}", "showMessage", "What became of a message", show_message),
        answer=_OUTCOME_SCHEMA,
    ),
    Endpoint(
        *("GET", "/conjoin/v1/messages/{messageKey}/explain", "explainMessage", "Why it was or was not correlated"),
        explain_message,
        answer=_EXPLANATION,
    ),
    Endpoint(
        *("POST", "/conjoin/v1/explain", "explainUnsent", "What would become of a message that is not sent", dry_run),
        answer=whole({"dry_run": _EXPLANATION, "known": array(_EXPLANATION)}),
        takes={"application/json": MESSAGE_SCHEMA},
        example=_EXAMPLE,
    ),
    Endpoint(
        *("DELETE", "/conjoin/v1/messages/{messageKey}/payload", "erasePayload"),
        "Delete what a message that is over carried; its verdict is kept",
        erase_payload,
        refuses=(409,),
    ),
)
