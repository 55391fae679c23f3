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

from conjoin.client import exchange, values
from conjoin.client.exchange import Exchange, HttpRequest, Patience, body_of, called, encoded, never, sent
from conjoin.client.values import BulkResult, Fate, Publication
from conjoin.errors import AlreadyThere, NoAnswer, ServerBusy, TookTooLong

LINES_A_REQUEST = 5_000
_MARGIN_MS = 1_000
"""A message is not sent again when its id may be forgotten before it arrives."""
_MESSAGES = "/conjoin/v1/messages"


def with_id(message: Publication) -> Publication:
    return message if message.id else replace(message, id=uuid4().hex)


def publish(patience: Patience, message: Publication) -> Exchange[Fate]:
    """Exactly once, however many attempts it takes; the answer says what has become of it so far."""
    return (yield from publish_and_wait(patience, message, 0))


def publish_and_wait(patience: Patience, message: Publication, wait_ms: int = 10_000) -> Exchange[Fate]:
    """Answers when an instance has it, or when the wait is over."""
    new = with_id(message)
    body = encoded({**_fields(new), "wait_ms": wait_ms})
    request = HttpRequest(f"publish {new.name!r}", "POST", _MESSAGES, body, later_s=wait_ms / 1_000)
    try:
        heard = yield from sent(request, patience, _while_remembered([new]))
    except (NoAnswer, ServerBusy, TookTooLong) as unknown:
        if message.id or unknown.reason == ServerBusy.code:
            # Another message may have had the id; or this one was turned away at the door.
            raise
        found = yield from _found(new, patience)
        if found is None:
            raise
        return found
    if heard.maybe_done and heard.answer.status == 409:
        # An attempt without an answer may have done it.
        refused = exchange.problem_of(request, heard.answer)
        found = (yield from _found(new, patience)) if isinstance(refused, AlreadyThere) else None
        if found is None:
            raise refused
        return found
    return _fate(msgspec.json.decode(body_of(heard, request)), new.id)


def _found(new: Publication, patience: Patience) -> Exchange[Fate | None]:
    """The message that was accepted with this id, looked for until patience is over."""
    about = {"name": new.name, "key": new.key, "id": new.id, "tenant": new.tenant or values.DEFAULT_TENANT}
    query = {name: value for name, value in about.items() if value} | {"order": "desc"}
    request = HttpRequest(f"find message {new.id!r}", "GET", _MESSAGES, query=query)
    for attempt in range(patience.attempts):
        found = (yield from called(patience, request))["items"]
        accepted = [item for item in found if item["verdict"] != "refused"]
        if accepted:
            key = int(accepted[0]["key"])
            show = HttpRequest(f"show message {key}", "GET", f"{_MESSAGES}/{key}")
            return _fate((yield from called(patience, show)), new.id)
        yield exchange.RetryPause(patience.pause_s(attempt, ""))
    return None


def correlate(patience: Patience, message: Publication) -> Exchange[values.CorrelationResult]:
    """Now or not at all: `NotFound` if no instance waits."""
    # One attempt that the server may have seen: it keeps no id of it.
    body = {"name": message.name, "correlationKey": message.key, "variables": dict(message.variables)}
    body |= {"tenantId": message.tenant} if message.tenant else {}
    body |= {"businessId": message.business_id} if message.business_id else {}
    request = HttpRequest(f"correlate {message.name!r}", "POST", "/v2/messages/correlation")
    found = yield from called(patience, request, body, never)
    return msgspec.convert(found, values.CorrelationResult, strict=False)


def explain(patience: Patience, what: Publication | int) -> Exchange[values.MessageExplanation]:
    """A message that was published, by its key; or what would become of one that was not."""
    if isinstance(what, int):
        request = HttpRequest(f"explain message {what}", "GET", f"{_MESSAGES}/{what}/explain")
        found = yield from called(patience, request)
    else:
        request = HttpRequest(f"explain {what.name!r}", "POST", "/conjoin/v1/explain")
        found = (yield from called(patience, request, _fields(what)))["dry_run"]
    return msgspec.convert(found, values.MessageExplanation, strict=False)


def publish_many(patience: Patience) -> exchange.Found[BulkResult]:
    """Takes messages and hands out a line for each, in their order."""
    while given := (yield exchange.Take(LINES_A_REQUEST)):
        some = [with_id(message) for message in given]
        request = HttpRequest(
            *(f"publish {len(some)} messages", "POST", f"{_MESSAGES}/bulk"),
            b"".join(encoded(_fields(message)) + b"\n" for message in some),
            "application/x-ndjson",
            later_s=len(some) / 100,
        )
        heard = yield from sent(request, patience, _while_remembered(some))
        results = [msgspec.json.decode(line) for line in body_of(heard, request).splitlines()]
        by_line = {it["line"]: it for it in results if "line" in it}
        answered = [(message, by_line[number]) for number, message in enumerate(some, 1) if number in by_line]
        yield exchange.HandOut([_line(message, it, heard.maybe_done) for message, it in answered])
        if len(answered) < len(some):
            # The server broke off, and says why in its last line.
            text = f"{len(some) - len(answered)} have no answer: {results[-1].get('error', 'cut off')}"
            raise NoAnswer(request.purpose, text)


def _line(message: Publication, result: Mapping[str, Any], maybe_done: bool) -> BulkResult:
    if maybe_done and result.get("code") == AlreadyThere.code:
        return BulkResult(message, verdict="accepted", reason="sent_before")
    shown = {name: result.get(name, "") for name in ("verdict", "reason", "error")}
    return BulkResult(message, int(result.get("key", 0)), **shown)


def broadcast_signal(
    patience: Patience, name: str, variables: Mapping[str, Any] | None = None, tenant: str = ""
) -> Exchange[None]:
    """To every instance that waits for it now, and to processes that start with it. Not repeated: it has no id."""
    body = {"signalName": name, "variables": dict(variables or {})} | ({"tenantId": tenant} if tenant else {})
    return called(patience, HttpRequest(f"broadcast {name!r}", "POST", "/v2/signals/broadcast"), body, never)


def _while_remembered(messages: Iterable[Publication]) -> Callable[[], bool]:
    """The server counts from when it has the message, and that is later than now."""
    shortest_ms, began = min(message.ttl_ms or 0 for message in messages), monotonic()
    return lambda: (monotonic() - began) * 1_000 + _MARGIN_MS < shortest_ms


def _fields(message: Publication) -> dict[str, Any]:
    fields = {"name": message.name, "key": message.key, "variables": dict(message.variables)}
    more = {"ttl": message.ttl_ms, "id": message.id, "tenant": message.tenant, "business_id": message.business_id}
    more |= {"replaces": None if message.replaces is None else str(message.replaces)}
    return fields | {name: value for name, value in more.items() if value not in (None, "")}


def _fate(found: Mapping[str, Any], id_: str) -> Fate:
    attempts = msgspec.convert(found["attempts"], tuple[values.DeliveryAttempt, ...], strict=False)
    about = (found["verdict"], found["reason"], found["sentence"], found["storage"])
    return Fate(int(found["message"]["key"]), id_, *about, attempts)
