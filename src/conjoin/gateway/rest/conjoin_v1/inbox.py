"""The inbox: messages received into a channel, lists, one message with its history, and every operation on it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, fields
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from msgspec import Meta
from starlette.responses import Response

from conjoin.errors import InputError
from conjoin.gateway.http import schemas
from conjoin.gateway.http.context import USER
from conjoin.gateway.http.problems import HttpProblem, invalid, not_found, refused
from conjoin.gateway.http.reading import body_of, hold
from conjoin.gateway.http.schemas import COUNT, FLAG, TEXT, array, closed, nullable, one_of_words, record, whole
from conjoin.gateway.memory_budget import json_cost
from conjoin.gateway.queries.store import whole_number
from conjoin.gateway.rest.conjoin_v1.list_query import NUMBER, list_response, parameters, read_list_query, read_query
from conjoin.gateway.rest.endpoint import Endpoint, Handler, QueryParameter, RestCall, answer
from conjoin.gateway.rest.json_lines import NDJSON, line_batches
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.inbox_orders import SIMPLE, Operation, OperationRefused, SetAttempts, SetNextRetry
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.listing import INBOX, HistoryLine, InboxItem, Shown, payload_as_text
from conjoin.runtime.inbox.mapping import HINT_FIELDS
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.receiving import Headers, Row
from conjoin.runtime.reading.lists import ListQuery
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import read_instant

_UNKNOWN_USER = "rest"
_MOST_LINES = 1_000_000
_PREFIX = b"x-correlate-"
_LONGEST_SOURCE = 200
_QUERY = {
    "source": QueryParameter(
        "names a file or stream: a line of it that was received before is a duplicate",
        {**TEXT, "maxLength": _LONGEST_SOURCE},
    ),
    "first": QueryParameter("the number of the first line in that source", NUMBER),
}
_STATE = ("key", "state", "attempts", "next_retry_at", "parked_for")
_FILTERS = closed({name: it.schema for name, it in parameters(INBOX).items() if name in INBOX.filters})


class InboxSettingBody(msgspec.Struct, forbid_unknown_fields=True):
    attempts: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    next_retry_at: Annotated[str, Meta(extra_json_schema=schemas.INSTANT)] | None = None


class Correction(msgspec.Struct, forbid_unknown_fields=True):
    payload: str | None = None
    hint: dict[str, Any] = {}


class Selection(msgspec.Struct, forbid_unknown_fields=True):
    """`dry_run`: only say what it would come to."""

    operation: Annotated[str, Meta(extra_json_schema=one_of_words(SIMPLE))]
    filters: dict[str, str] = {}
    dry_run: bool = True


def _inbox(call: RestCall) -> Inbox:
    if call.gateway.service.inbox is None:
        raise HttpProblem(501, "UNIMPLEMENTED", "This server has no inbox: configure [inbox] in its settings")
    return call.gateway.service.inbox


def _user(call: RestCall) -> str:
    """Stored with what is done to a message."""
    user: object = call.request.scope.get(USER)
    return user if isinstance(user, str) else _UNKNOWN_USER


async def receive(call: RestCall) -> Response:
    """Durable once it is answered. What cannot be read is stored as a dead letter. A message without an id is new each
    time it is sent, unless `source` names its origin: then it is known by that name and its number there, from `first`.
    """
    inbox, channel = _inbox(call), call.request.path_params["channel"]
    if channel not in inbox.channels:
        known = ", ".join(inbox.channels) or "none"
        raise not_found(f"There is no channel {channel!r:.60}: there are {known}")
    if not inbox.channels[channel].enabled:
        raise invalid(f"The channel {channel!r} is not enabled")
    given = read_query(call.request, _QUERY, ["source"])
    source, first = given.get("source") or f"rest {uuid4()}", whole_number("first", given.get("first", "1"))
    if len(source) > _LONGEST_SOURCE or "\0" in source:
        raise invalid(f"source: is longer than {_LONGEST_SOURCE} characters, or has characters that are no text (NUL)")
    counts = Counts()
    async with aclosing(_rows(call, source, first)) as batches:
        async for rows in batches:
            try:
                counts += await call.service.carry_out(inbox.receive_rows, channel, rows)
            except InputError as error:
                raise invalid(str(error)) from None
    received = {name: count for name, count in asdict(counts).items() if count or name == "received"}
    return answer({"channel": channel, **received}, 202)


async def _rows(call: RestCall, source: str, first: int) -> AsyncGenerator[list[Row]]:
    request = call.request
    headers: Headers = tuple(
        (name.decode("latin-1"), value) for name, value in request.headers.raw if name.lower().startswith(_PREFIX)
    )
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != NDJSON:
        body = await body_of(request)
        hold(request, json_cost(body))
        yield [Row(source, first, body, headers)]
        return
    async with aclosing(line_batches(request, call.service.line_memory, _MOST_LINES)) as batches:
        async for lines in batches:
            yield [Row(source, first - 1 + number, line, headers) for number, line in lines]


async def list_inbox(call: RestCall) -> Response:
    query = read_list_query(call.request, INBOX)
    _inbox(call)
    return await call.service.look(list_response, call.service.broker, "messages of the inbox", INBOX, query)


async def show(call: RestCall) -> Response:
    key = call.key("key")
    shown: Shown | None = await call.service.look(_inbox(call).show, key)
    if shown is None:
        raise not_found(f"There is no message {key} in the inbox")
    return answer(shown.as_json() | {"payload": None} | payload_as_text(shown.payload))


async def _operated(call: RestCall, *operations: Operation) -> Response:
    key, inbox = call.key("key"), _inbox(call)
    # One that is refused ends it.
    states = [_state(await call.service.carry_out(inbox.operate, key, it, _user(call))) for it in operations]
    return states[-1]


def _state(outcome: Any) -> Response:
    """Of the message as it is then."""
    if isinstance(outcome, OperationRefused):
        raise refused(Refusal(outcome.code, outcome.text))
    return answer(to_plain({name: getattr(outcome, name) for name in _STATE}))


def _operate(operation: Operation) -> Handler:
    async def handle(call: RestCall) -> Response:
        return await _operated(call, operation)

    return handle


async def set_(call: RestCall) -> Response:
    body: InboxSettingBody = call.body
    operations: list[Operation] = [] if body.attempts is None else [SetAttempts(body.attempts)]
    if body.next_retry_at is not None:
        at = read_instant(body.next_retry_at)
        if at is None:
            raise invalid(f"next_retry_at: {body.next_retry_at!r:.60} is not an instant such as 2030-01-31T08:00:00Z")
        operations.append(SetNextRetry(at))
    call.note(attempts=body.attempts, next_retry_at=body.next_retry_at)
    if not operations:
        raise invalid("What is to be set? There are attempts and next_retry_at")
    return await _operated(call, *operations)


async def correct(call: RestCall) -> Response:
    body: Correction = call.body
    key, payload = call.key("key"), None if body.payload is None else body.payload.encode()
    return _state(await call.service.carry_out(_inbox(call).correct, key, payload, body.hint, _user(call)))


async def operate_on_selection(call: RestCall) -> Response:
    body: Selection = call.body
    operation = SIMPLE.get(body.operation)
    if operation is None:
        raise invalid(f"operation: {body.operation!r:.40} is none of {', '.join(SIMPLE)}")
    inbox, query = _inbox(call), ListQuery(body.filters)
    call.note(operation=body.operation, filters=body.filters, dry_run=body.dry_run)
    if body.dry_run:
        selected = await call.service.look(inbox.rehearse_on_all, query, operation)
    else:
        selected = await call.service.carry_out(inbox.operate_on_all, query, operation, _user(call))
    return answer({"dry_run": body.dry_run, "changed": selected.changed, "refused": dict(selected.refused)})


_STATE_SCHEMA = whole(
    {
        "key": schemas.KEY,
        "state": one_of_words(INBOX.choices["state"]),
        "attempts": COUNT,
        "next_retry_at": nullable(schemas.ANSWERED_INSTANT),
        "parked_for": nullable({"type": "string"}),
    }
)
_LINE = record(HistoryLine, at=schemas.ANSWERED_INSTANT)
_SHOWN = record(
    Shown, history=array(_LINE), payload=nullable({"type": "string"}), near_misses=array(schemas.OBJECT), now=TEXT
)["properties"]
_SHOWN = record(InboxItem)["properties"] | {name: it for name, it in _SHOWN.items() if name != "item"}
_WHOLE = closed({**_SHOWN, "payload_base64": {"type": "string"}}, list(_SHOWN))
_CHANGED = whole({"dry_run": FLAG, "changed": COUNT, "refused": {"type": "object", "additionalProperties": COUNT}})
_KINDS = {"attempts": "integer", "next_retry_at": "string"}
_SOMETHING = {"anyOf": [{"required": [name], "properties": {name: {"type": kind}}} for name, kind in _KINDS.items()]}
_HINT_KINDS = {"variables": schemas.OBJECT, "correlation_variables": schemas.OBJECT, "is_start": FLAG}
_LABEL = {"anyOf": [TEXT, schemas.INT64]}
_HINT = closed({spelling: _HINT_KINDS.get(field, _LABEL) for spelling, field in HINT_FIELDS.items()})

_ONE = "/conjoin/v1/inbox/messages/{key}"
_REFUSES = (409, 501)
_WORDS = {name: f"{name.capitalize()} a message of the inbox" for name in SIMPLE if name != "delete"}

ENDPOINTS = (
    Endpoint(
        *("POST", "/conjoin/v1/inbox/{channel}", "receiveInboxMessages", "Receive a message, or lines of them"),
        receive,
        answer=closed({"channel": TEXT, **{it.name: COUNT for it in fields(Counts)}}, ["channel", "received"]),
        status=202,
        query=_QUERY,
        takes={"application/json": {}, NDJSON: {"type": "string"}, "application/octet-stream": {}},
    ),
    Endpoint(
        *("GET", "/conjoin/v1/inbox", "listInbox", "Messages of the inbox", list_inbox),
        answer=schemas.page(record(InboxItem)),
        query=parameters(INBOX),
        refuses=(501,),
    ),
    Endpoint(
        *("POST", "/conjoin/v1/inbox/messages/operations", "operateOnInbox"),
        *("Do something to a whole selection, or count it", operate_on_selection),
        body=Selection,
        narrower={"properties": {"filters": _FILTERS}},
        answer=_CHANGED,
        refuses=(501,),
        example={"operation": "retry", "filters": {"state": "parked"}, "dry_run": True},
    ),
    Endpoint("GET", _ONE, "showInboxMessage", "A message with its history", show, answer=_WHOLE, refuses=(501,)),
    Endpoint(
        *("PATCH", _ONE, "setInboxMessage", "Set attempts or next retry", set_),
        body=InboxSettingBody,
        narrower=_SOMETHING,
        answer=_STATE_SCHEMA,
        refuses=_REFUSES,
        example={"attempts": 0},
    ),
    Endpoint(
        *("PUT", _ONE, "correctInboxMessage", "Correct what it carries", correct),
        body=Correction,
        narrower={"properties": {"hint": _HINT}},
        answer=_STATE_SCHEMA,
        refuses=_REFUSES,
        example={"hint": {"correlationKey": "o-1"}},
    ),
    Endpoint(
        *("DELETE", _ONE, "deleteInboxMessage", "Take it out", _operate(SIMPLE["delete"])),
        answer=_STATE_SCHEMA,
        refuses=_REFUSES,
    ),
    *(
        Endpoint(
            *("POST", f"{_ONE}/{name}", f"{name}InboxMessage", text, _operate(SIMPLE[name])),
            answer=_STATE_SCHEMA,
            refuses=_REFUSES,
        )
        for name, text in _WORDS.items()
    ),
)
