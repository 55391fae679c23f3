"""Receiving into a channel of the inbox: a message, or lines of them. What cannot be read is kept as a dead letter."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, fields
from typing import Any
from uuid import uuid4

from starlette.responses import Response

from conjoin.errors import InputError
from conjoin.gateway.http.problems import invalid, not_found
from conjoin.gateway.http.reading import body_of, hold
from conjoin.gateway.memory_budget import json_cost
from conjoin.gateway.rest.conjoin_v1.asking import NUMBER, read_number, read_query
from conjoin.gateway.rest.conjoin_v1.inbox_access import inbox_of
from conjoin.gateway.rest.endpoint import Endpoint, QueryParameter, RestCall, answer
from conjoin.gateway.rest.json_lines import NDJSON, line_batches
from conjoin.gateway.rest.openapi.schemas import COUNT, TEXT, closed
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.receiving import Headers, Row

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


async def receive(call: RestCall) -> Response:
    """Durable when it is answered. A message without an id is a new one each time it is sent, unless `source` names
    where it comes from: then it is known by that name and its number there, which `first` begins.
    """
    inbox, channel = inbox_of(call), call.request.path_params["channel"]
    if channel not in inbox.channels:
        known = ", ".join(inbox.channels) or "none"
        raise not_found(f"There is no channel {channel!r:.60}: there are {known}")
    if not inbox.channels[channel].enabled:
        raise invalid(f"The channel {channel!r} is not enabled")
    given = read_query(call.request, _QUERY, ["source"])
    source, first = given.get("source") or f"rest {uuid4()}", read_number("first", given.get("first", "1"))
    if len(source) > _LONGEST_SOURCE or "\0" in source:
        raise invalid(f"source: is longer than {_LONGEST_SOURCE} characters, or has characters that are no text (NUL)")
    counts = Counts()
    async with aclosing(_rows(call, source, first)) as batches:
        async for rows in batches:
            counts += await _received(call, channel, rows)
    return answer({"channel": channel, **_not_zero(counts)}, 202)


async def _received(call: RestCall, channel: str, rows: list[Row]) -> Counts:
    try:
        return await call.service.carry_out(inbox_of(call).receive_rows, channel, rows)
    except InputError as error:
        raise invalid(str(error)) from None


def _not_zero(counts: Counts) -> dict[str, int]:
    return {word: count for word, count in asdict(counts).items() if count or word == "received"}


async def _rows(call: RestCall, source: str, first: int) -> AsyncGenerator[list[Row]]:
    request = call.request
    headers: Headers = tuple((name.decode("latin-1"), value) for name, value in request.headers.raw if _is_ours(name))
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != NDJSON:
        body = await body_of(request)
        hold(request, json_cost(body))
        yield [Row(source, first, body, headers)]
        return
    async with aclosing(line_batches(request, call.service.line_memory, _MOST_LINES)) as batches:
        async for lines in batches:
            yield [Row(source, first - 1 + number, line, headers) for number, line in lines]


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
        query=_QUERY,
        takes=_TAKES,
    ),
)
