"""The inbox for people and programs: lists, one message with its history, and everything that can be done with it."""

import base64
from typing import Any

import msgspec
from starlette.responses import Response

from conjoin.gateway.rest.endpoint import ANY_OBJECT, Call, Endpoint, Handler, answer
from conjoin.gateway.rest.own.asking import PAGE, asked_of, page_as_json
from conjoin.gateway.rest.own.inbox_access import changed, inbox_of, who_asks
from conjoin.gateway.rest.problems import invalid, not_found
from conjoin.gateway.rest.reading import key_in
from conjoin.runtime.inbox.listing import INBOX, Shown
from conjoin.runtime.inbox_orders import SIMPLE, Operation, SetAttempts, SetNextRetry
from conjoin.runtime.instant_texts import instant_text, read_instant
from conjoin.runtime.lists import Asked
from conjoin.runtime.telling import told

_STATE = ("key", "state", "attempts", "next_retry_at", "parked_for")


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    """Unknown properties are refused."""


class Setting(_Strict):
    attempts: int | None = None
    next_retry_at: str | None = None


class Correction(_Strict):
    payload: str | None = None
    hint: dict[str, Any] = {}


class Selection(_Strict):
    """`dry_run`: only say what it would come to."""

    operation: str
    filters: dict[str, str] = {}
    dry_run: bool = True


async def list_inbox(call: Call) -> Response:
    asked = asked_of(call.request, INBOX.filters)
    return answer(page_as_json(await call.service.look(inbox_of(call).page, asked)))


async def show(call: Call) -> Response:
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
    said: dict[str, Any] = told(shown._replace(payload=b"", headers={}, history=()))
    item: dict[str, Any] = said.pop("item")
    return item | said | {"headers": dict(shown.headers), "history": history, "payload": None} | payload


def _operate(operation: Operation) -> Handler:
    async def handle(call: Call) -> Response:
        key = key_in(call.request, "key")
        return _state(await call.service.look(inbox_of(call).operate, key, operation, who_asks(call)))

    return handle


def _state(outcome: object) -> Response:
    message: Any = changed(outcome)
    return answer(told({name: getattr(message, name) for name in _STATE}))


async def set_(call: Call) -> Response:
    said: Setting = call.body
    orders: list[Operation] = [] if said.attempts is None else [SetAttempts(said.attempts)]
    if said.next_retry_at is not None:
        at = read_instant(said.next_retry_at)
        if at is None:
            raise invalid(f"next_retry_at: {said.next_retry_at!r:.60} is not an instant such as 2030-01-31T08:00:00Z")
        orders.append(SetNextRetry(at))
    if not orders:
        raise invalid("What is to be set? There are attempts and next_retry_at")
    key, inbox = key_in(call.request, "key"), inbox_of(call)
    outcomes = [changed(await call.service.look(inbox.operate, key, order, who_asks(call))) for order in orders]
    return _state(outcomes[-1])


async def correct(call: Call) -> Response:
    said: Correction = call.body
    key, payload = key_in(call.request, "key"), None if said.payload is None else said.payload.encode()
    return _state(await call.service.look(inbox_of(call).correct, key, payload, said.hint, who_asks(call)))


async def operate_on_selection(call: Call) -> Response:
    said: Selection = call.body
    order = SIMPLE.get(said.operation)
    if order is None:
        raise invalid(f"operation: {said.operation!r:.40} is none of {', '.join(SIMPLE)}")
    inbox, asked = inbox_of(call), Asked(said.filters)
    if said.dry_run:
        selected = await call.service.look(inbox.rehearse_on_all, asked, order)
    else:
        selected = await call.service.look(inbox.operate_on_all, asked, order, who_asks(call))
    return answer({"dry_run": said.dry_run, "changed": selected.changed, "refused": dict(selected.refused)})


_ONE = "/conjoin/v1/inbox/messages/{key}"
_WORDS = {name: f"{name.capitalize()} a message of the inbox" for name in SIMPLE if name != "delete"}

ENDPOINTS = (
    Endpoint(
        *("GET", "/conjoin/v1/inbox", "listInbox", "Messages of the inbox", list_inbox),
        answer=ANY_OBJECT,
        query={**{name: f"only with this {name}" for name in INBOX.filters}, **PAGE},
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
        answer=ANY_OBJECT,
    ),
    Endpoint("GET", _ONE, "showInboxMessage", "A message with its history", show, answer=ANY_OBJECT),
    Endpoint("PATCH", _ONE, "setInboxMessage", "Set attempts or next retry", set_, body=Setting, answer=ANY_OBJECT),
    Endpoint("PUT", _ONE, "correctInboxMessage", "Mend what it carries", correct, body=Correction, answer=ANY_OBJECT),
    Endpoint("DELETE", _ONE, "deleteInboxMessage", "Take it out", _operate(SIMPLE["delete"]), answer=ANY_OBJECT),
    *(
        Endpoint("POST", f"{_ONE}/{name}", f"{name}InboxMessage", text, _operate(SIMPLE[name]), answer=ANY_OBJECT)
        for name, text in _WORDS.items()
    ),
)
