"""The inbox for people and programs: lists, one message with its history, and everything that can be done with it."""

import base64
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from conjoin.gateway.http.problems import invalid, not_found
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.rest.conjoin_v1.asking import asked_of, listed, parameters
from conjoin.gateway.rest.conjoin_v1.inbox_access import changed, inbox_of, who_asks
from conjoin.gateway.rest.endpoint import Endpoint, Handler, RestCall, answer
from conjoin.gateway.rest.openapi.schemas import (
    COUNT,
    FLAG,
    INSTANT,
    INT64,
    KEY,
    OBJECT,
    TEXT,
    TOLD_INSTANT,
    array,
    closed,
    nullable,
    one_of_words,
    page,
    record,
    whole,
)
from conjoin.runtime.client_api.inbox_orders import SIMPLE, Operation, SetAttempts, SetNextRetry
from conjoin.runtime.inbox.listing import INBOX, HistoryLine, InboxItem, Shown
from conjoin.runtime.inbox.mapping import HINT_FIELDS
from conjoin.runtime.reading.lists import ListQuery
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text, read_instant

_STATE = ("key", "state", "attempts", "next_retry_at", "parked_for")
_FILTERS = closed({name: it.schema for name, it in parameters(INBOX).items() if name in INBOX.filters})


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    """Unknown properties are refused."""


class InboxSettingBody(_Strict):
    attempts: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    next_retry_at: Annotated[str, Meta(extra_json_schema=INSTANT)] | None = None


class Correction(_Strict):
    payload: str | None = None
    hint: dict[str, Any] = {}


class Selection(_Strict):
    """`dry_run`: only say what it would come to."""

    operation: Annotated[str, Meta(extra_json_schema=one_of_words(SIMPLE))]
    filters: dict[str, str] = {}
    dry_run: bool = True


async def list_inbox(call: RestCall) -> Response:
    asked = asked_of(call.request, INBOX)
    inbox_of(call)
    return await call.service.look(listed, call.service.broker, "messages of the inbox", INBOX, asked)


async def show(call: RestCall) -> Response:
    key = key_in(call.request, "key")
    shown = await call.service.look(inbox_of(call).show, key)
    if shown is None:
        raise not_found(f"There is no message {key} in the inbox")
    return answer(_told(shown))


def _told(shown: Shown) -> dict[str, Any]:
    try:
        payload = {"payload": shown.payload.decode()}
    except UnicodeDecodeError:
        payload = {"payload_base64": base64.b64encode(shown.payload).decode()}
    history = [{**line._asdict(), "at": instant_text(line.at)} for line in shown.history]
    said: dict[str, Any] = to_plain(shown._replace(payload=b"", headers={}, history=()))
    item: dict[str, Any] = said.pop("item")
    return item | said | {"headers": dict(shown.headers), "history": history, "payload": None} | payload


def _operate(operation: Operation) -> Handler:
    async def handle(call: RestCall) -> Response:
        key = key_in(call.request, "key")
        return _state(await call.service.carry_out(inbox_of(call).operate, key, operation, who_asks(call)))

    return handle


def _state(outcome: object) -> Response:
    message: Any = changed(outcome)
    return answer(to_plain({name: getattr(message, name) for name in _STATE}))


async def set_(call: RestCall) -> Response:
    said: InboxSettingBody = call.body
    orders: list[Operation] = [] if said.attempts is None else [SetAttempts(said.attempts)]
    if said.next_retry_at is not None:
        at = read_instant(said.next_retry_at)
        if at is None:
            raise invalid(f"next_retry_at: {said.next_retry_at!r:.60} is not an instant such as 2030-01-31T08:00:00Z")
        orders.append(SetNextRetry(at))
    call.tell(attempts=said.attempts, next_retry_at=said.next_retry_at)
    if not orders:
        raise invalid("What is to be set? There are attempts and next_retry_at")
    key, inbox = key_in(call.request, "key"), inbox_of(call)
    outcomes = [changed(await call.service.carry_out(inbox.operate, key, order, who_asks(call))) for order in orders]
    return _state(outcomes[-1])


async def correct(call: RestCall) -> Response:
    said: Correction = call.body
    key, payload = key_in(call.request, "key"), None if said.payload is None else said.payload.encode()
    return _state(await call.service.carry_out(inbox_of(call).correct, key, payload, said.hint, who_asks(call)))


async def operate_on_selection(call: RestCall) -> Response:
    said: Selection = call.body
    order = SIMPLE.get(said.operation)
    if order is None:
        raise invalid(f"operation: {said.operation!r:.40} is none of {', '.join(SIMPLE)}")
    inbox, asked = inbox_of(call), ListQuery(said.filters)
    call.tell(operation=said.operation, filters=said.filters, dry_run=said.dry_run)
    if said.dry_run:
        selected = await call.service.look(inbox.rehearse_on_all, asked, order)
    else:
        selected = await call.service.carry_out(inbox.operate_on_all, asked, order, who_asks(call))
    return answer({"dry_run": said.dry_run, "changed": selected.changed, "refused": dict(selected.refused)})


_TOLD_STATE = whole(
    {
        "key": KEY,
        "state": one_of_words(INBOX.choices["state"]),
        "attempts": COUNT,
        "next_retry_at": nullable(TOLD_INSTANT),
        "parked_for": nullable({"type": "string"}),
    }
)
_LINE = record(HistoryLine, at=TOLD_INSTANT)
_SHOWN = record(Shown, history=array(_LINE), payload=nullable({"type": "string"}))["properties"]
_SHOWN = record(InboxItem)["properties"] | {name: it for name, it in _SHOWN.items() if name != "item"}
_WHOLE = closed({**_SHOWN, "payload_base64": {"type": "string"}}, list(_SHOWN))
_CHANGED = whole({"dry_run": FLAG, "changed": COUNT, "refused": {"type": "object", "additionalProperties": COUNT}})
_SOMETHING = {
    "anyOf": [
        {"required": [name], "properties": {name: {"type": kind}}}
        for name, kind in (("attempts", "integer"), ("next_retry_at", "string"))
    ]
}
_HINT_KINDS = {"variables": OBJECT, "correlation_variables": OBJECT, "is_start": FLAG}
_HINT = closed({spelling: _HINT_KINDS.get(field, {"anyOf": [TEXT, INT64]}) for spelling, field in HINT_FIELDS.items()})

_ONE = "/conjoin/v1/inbox/messages/{key}"
_REFUSES = (409, 501)
_WORDS = {name: f"{name.capitalize()} a message of the inbox" for name in SIMPLE if name != "delete"}

ENDPOINTS = (
    Endpoint(
        *("GET", "/conjoin/v1/inbox", "listInbox", "Messages of the inbox", list_inbox),
        answer=page(record(InboxItem)),
        query=parameters(INBOX),
        refuses=(501,),
    ),
    Endpoint(
        *(
            "POST",
            "/conjoin/v1/inbox/messages/operations",
            "operateOnInbox",
            "Do something to a whole selection, or count it",
        ),
        operate_on_selection,
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
        answer=_TOLD_STATE,
        refuses=_REFUSES,
        example={"attempts": 0},
    ),
    Endpoint(
        *("PUT", _ONE, "correctInboxMessage", "Mend what it carries", correct),
        body=Correction,
        narrower={"properties": {"hint": _HINT}},
        answer=_TOLD_STATE,
        refuses=_REFUSES,
        example={"hint": {"correlationKey": "o-1"}},
    ),
    Endpoint(
        *("DELETE", _ONE, "deleteInboxMessage", "Take it out", _operate(SIMPLE["delete"])),
        answer=_TOLD_STATE,
        refuses=_REFUSES,
    ),
    *(
        Endpoint(
            *("POST", f"{_ONE}/{name}", f"{name}InboxMessage", text, _operate(SIMPLE[name])),
            answer=_TOLD_STATE,
            refuses=_REFUSES,
        )
        for name, text in _WORDS.items()
    ),
)
