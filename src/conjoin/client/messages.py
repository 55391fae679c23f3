"""Messages: published exactly once however many attempts it takes, correlated, explained, and many at a time.

Every message has an id, made here if there is none. The server refuses a second message with the same id for as long as
the first one lives, so a message is sent again only while that is sure; a refusal then says that it is there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any
from uuid import uuid4

import msgspec

from conjoin.client.exchange import (
    Exchange,
    Found,
    HandOut,
    Heard,
    HttpRequest,
    Patience,
    RetryPause,
    Take,
    asked,
    body_of,
    done,
    encoded,
    never,
)
from conjoin.client.problems import problem_of
from conjoin.client.values import (
    DEFAULT_TENANT,
    BulkResult,
    CorrelationResult,
    DeliveryAttempt,
    Fate,
    MessageExplanation,
    Publication,
)
from conjoin.errors import AlreadyThere, NoAnswer, ServerBusy, TookTooLong

LINES_A_REQUEST = 5_000
_MARGIN_MS = 1_000
"""A message is not sent again when its id may be forgotten before it arrives."""
_MESSAGES = "/conjoin/v1/messages"
_EXPLANATION = msgspec.json.Decoder(MessageExplanation, strict=False)
_CORRELATED = msgspec.json.Decoder(CorrelationResult, strict=False)


def with_id(message: Publication) -> Publication:
    return message if message.id else replace(message, id=uuid4().hex)


def publish(patience: Patience, message: Publication) -> Exchange[Fate]:
    """Exactly once, however many attempts it takes; the answer says what has become of it so far."""
    return (yield from publish_and_wait(patience, message, 0))


def publish_and_wait(patience: Patience, message: Publication, wait_ms: int = 10_000) -> Exchange[Fate]:
    """Answers when somebody has it, or when the wait is over."""
    sent = with_id(message)
    body = encoded({**_fields(sent), "wait_ms": wait_ms})
    request = HttpRequest(f"publish {sent.name!r}", "POST", _MESSAGES, body, later_s=wait_ms / 1_000)
    try:
        heard = yield from asked(request, patience, _while_remembered([sent]))
    except (NoAnswer, ServerBusy, TookTooLong) as unknown:
        if message.id or unknown.reason == ServerBusy.code:
            # Another message may have had the id; or this one was turned away at the door.
            raise
        found = yield from _found(sent, patience)
        if found is None:
            raise
        return found
    if heard.maybe_done and heard.answer.status == 409:
        return (yield from _there_already(sent, request, heard, patience))
    return _fate(msgspec.json.decode(body_of(heard, request)), sent.id)


def _there_already(sent: Publication, request: HttpRequest, heard: Heard, patience: Patience) -> Exchange[Fate]:
    """An attempt without an answer has done it."""
    refused = problem_of(request.asked, *heard.answer[:2])
    found = (yield from _found(sent, patience)) if isinstance(refused, AlreadyThere) else None
    if found is None:
        raise refused
    return found


def _found(sent: Publication, patience: Patience) -> Exchange[Fate | None]:
    """The message that was accepted with this id, looked for until patience is over."""
    about = {"name": sent.name, "key": sent.key, "id": sent.id, "tenant": sent.tenant or DEFAULT_TENANT}
    query = {name: value for name, value in about.items() if value} | {"order": "desc"}
    request = HttpRequest(f"find message {sent.id!r}", "GET", _MESSAGES, query=query)
    for attempt in range(patience.attempts):
        found = msgspec.json.decode((yield from done(request, patience)))["items"]
        accepted = [item for item in found if item["verdict"] != "refused"]
        if accepted:
            key = int(accepted[0]["key"])
            shown = yield from done(HttpRequest(f"show message {key}", "GET", f"{_MESSAGES}/{key}"), patience)
            return _fate(msgspec.json.decode(shown), sent.id)
        yield RetryPause(patience.pause_s(attempt, ""))
    return None


def correlate(patience: Patience, message: Publication) -> Exchange[CorrelationResult]:
    """Now or not at all: `NotFound` if nobody waits."""
    # One attempt that the server may have seen: it keeps no id of it.
    said = {"name": message.name, "correlationKey": message.key, "variables": dict(message.variables)}
    said |= {"tenantId": message.tenant} if message.tenant else {}
    said |= {"businessId": message.business_id} if message.business_id else {}
    request = HttpRequest(f"correlate {message.name!r}", "POST", "/v2/messages/correlation", encoded(said))
    heard = yield from asked(request, patience, never)
    return _CORRELATED.decode(body_of(heard, request))


def explain(patience: Patience, what: Publication | int) -> Exchange[MessageExplanation]:
    """A message that was published, by its key; or what would become of one that was not."""
    if isinstance(what, int):
        request = HttpRequest(f"explain message {what}", "GET", f"{_MESSAGES}/{what}/explain")
        return _EXPLANATION.decode((yield from done(request, patience)))
    request = HttpRequest(f"explain {what.name!r}", "POST", "/conjoin/v1/explain", encoded(_fields(what)))
    told = msgspec.json.decode((yield from done(request, patience)))
    return msgspec.convert(told["dry_run"], MessageExplanation, strict=False)


def publish_many(patience: Patience) -> Found[BulkResult]:
    """Takes messages and hands out a line for each, in their order."""
    while given := (yield Take(LINES_A_REQUEST)):
        some = [with_id(message) for message in given]
        request = HttpRequest(
            *(f"publish {len(some)} messages", "POST", f"{_MESSAGES}/bulk"),
            b"".join(encoded(_fields(message)) + b"\n" for message in some),
            "application/x-ndjson",
            later_s=len(some) / 100,
        )
        heard = yield from asked(request, patience, _while_remembered(some))
        told = [msgspec.json.decode(line) for line in body_of(heard, request).splitlines()]
        by_line = {it["line"]: it for it in told if "line" in it}
        answered = [(message, by_line[number]) for number, message in enumerate(some, 1) if number in by_line]
        yield HandOut([_line(message, it, heard.maybe_done) for message, it in answered])
        if len(answered) < len(some):
            # The server broke off, and says why in its last line.
            text = f"{len(some) - len(answered)} have no answer: {told[-1].get('error', 'cut off')}"
            raise NoAnswer(request.asked, text)


def _line(message: Publication, told: Mapping[str, Any], maybe_done: bool) -> BulkResult:
    if maybe_done and told.get("code") == AlreadyThere.code:
        return BulkResult(message, verdict="accepted", reason="sent_before")
    shown = {name: told.get(name, "") for name in ("verdict", "reason", "error")}
    return BulkResult(message, int(told.get("key", 0)), **shown)


def broadcast_signal(
    patience: Patience, name: str, variables: Mapping[str, Any] | None = None, tenant: str = ""
) -> Exchange[None]:
    """To every instance that waits for it now, and to processes that start with it. Not repeated: it has no id."""
    said = {"signalName": name, "variables": dict(variables or {})} | ({"tenantId": tenant} if tenant else {})
    request = HttpRequest(f"broadcast {name!r}", "POST", "/v2/signals/broadcast", encoded(said))
    body_of((yield from asked(request, patience, never)), request)


def _while_remembered(sent: Iterable[Publication]) -> Callable[[], bool]:
    """The server counts from when it has the message, and that is later than now."""
    shortest_ms, began = min(message.ttl_ms or 0 for message in sent), monotonic()
    return lambda: (monotonic() - began) * 1_000 + _MARGIN_MS < shortest_ms


def _fields(message: Publication) -> dict[str, Any]:
    said = {"name": message.name, "key": message.key, "variables": dict(message.variables)}
    more = {"ttl": message.ttl_ms, "id": message.id, "tenant": message.tenant, "business_id": message.business_id}
    return said | {name: value for name, value in more.items() if value not in (None, "")}


def _fate(told: Mapping[str, Any], id_: str) -> Fate:
    attempts = msgspec.convert(told["attempts"], tuple[DeliveryAttempt, ...], strict=False)
    about = (told["verdict"], told["reason"], told["sentence"], told["storage"])
    return Fate(int(told["message"]["key"]), id_, *about, attempts)
