"""Receiving into a channel of the inbox: a message, or lines of them. What cannot be read is kept as a dead letter."""

from collections.abc import AsyncIterator
from dataclasses import asdict, fields
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from conjoin.errors import InputError
from conjoin.gateway.rest.endpoint import Call, Endpoint, answer
from conjoin.gateway.rest.own.inbox_access import inbox_of
from conjoin.gateway.rest.problems import invalid, not_found
from conjoin.gateway.rest.reading import body_of, chunks
from conjoin.gateway.rest.schemas import COUNT, TEXT, closed
from conjoin.runtime.inbox.channel_rows import Headers, Row
from conjoin.runtime.inbox.counts import Counts

NDJSON = "application/x-ndjson"
_AT_ONCE = 1_000
_MOST_BYTES = 256 * 1024 * 1024
_PREFIX = b"x-correlate-"


async def receive(call: Call) -> Response:
    """Durable when it is answered. A message without an id is a new one each time it is sent."""
    inbox, channel = inbox_of(call), call.request.path_params["channel"]
    if channel not in inbox.channels:
        known = ", ".join(inbox.channels) or "none"
        raise not_found(f"There is no channel {channel!r:.60}: there are {known}")
    if not inbox.channels[channel].enabled:
        raise invalid(f"The channel {channel!r} is not enabled")
    counts = Counts()
    async for rows in _rows(call.request, f"rest {uuid4()}"):
        counts += await _received(call, channel, rows)
    return answer({"channel": channel, **_not_zero(counts)}, 202)


async def _received(call: Call, channel: str, rows: list[Row]) -> Counts:
    try:
        return await call.service.carry_out(inbox_of(call).receive_rows, channel, rows)
    except InputError as error:
        raise invalid(str(error)) from None


def _not_zero(counts: Counts) -> dict[str, int]:
    return {word: count for word, count in asdict(counts).items() if count or word == "received"}


async def _rows(request: Request, source: str) -> AsyncIterator[list[Row]]:
    headers: Headers = tuple((name.decode("latin-1"), value) for name, value in request.headers.raw if _is_ours(name))
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != NDJSON:
        yield [Row(source, 1, await body_of(request), headers)]
        return
    rest, number = b"", 0
    async for chunk in chunks(request, _MOST_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        numbered = [Row(source, at, line, headers) for at, line in enumerate(lines, number + 1) if line.strip()]
        number += len(lines)
        for begin in range(0, len(numbered), _AT_ONCE):
            yield numbered[begin : begin + _AT_ONCE]
    if rest.strip():
        yield [Row(source, number + 1, rest, headers)]


def _is_ours(name: bytes) -> bool:
    return name.lower().startswith(_PREFIX)


_TAKES: dict[str, Any] = {"application/json": {}, NDJSON: {"type": "string"}, "application/octet-stream": {}}

ENDPOINTS = (
    Endpoint(
        *(
            "POST",
            "/conjoin/v1/inbox/{channel}",
            "receiveInboxMessages",
            "Receive a message, or lines of them",
            receive,
        ),
        answer=closed({"channel": TEXT, **{it.name: COUNT for it in fields(Counts)}}, ["channel", "received"]),
        status=202,
        takes=_TAKES,
    ),
)
