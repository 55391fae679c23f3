"""Bulk publish: lines of messages in, lines of verdicts out, while both go on. A bad line is answered, and skipped.

A chunk is published before the next is read, so a client that sends faster than the store commits has to wait. What
is answered is kept until the client reads it: one that sends everything first is not waited for.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from conjoin.errors import ConjoinError
from conjoin.gateway.metrics import Metrics
from conjoin.gateway.rest.endpoint import Call, Endpoint
from conjoin.gateway.rest.own.message_fields import MESSAGE_SCHEMA, read_line
from conjoin.gateway.rest.problems import Problem
from conjoin.gateway.rest.reading import MOST_BYTES, chunks, of_type
from conjoin.gateway.service import Service
from conjoin.runtime.answers import Refusal
from conjoin.runtime.broker import Broker
from conjoin.runtime.encoding.json_text import json_bytes
from conjoin.runtime.finding import rows_with
from conjoin.runtime.messages import NewMessage

NDJSON = "application/x-ndjson"
AT_ONCE = 1_000
"""Lines; fewer, if they are long."""
MOST_LINES = 100_000
MOST_BULK_BYTES = 256 * 1024 * 1024
_Numbered = list[tuple[int, bytes]]
_Read = list[tuple[int, NewMessage | str]]


class _WhileReading(StreamingResponse):
    """Goes out while the request still comes in. The usual one would read that itself, to see whether it is cut off."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def publish_bulk(call: Call) -> Response:
    of_type(call.request, NDJSON, "application/jsonl", "application/x-jsonlines")
    told: asyncio.Queue[bytes | None] = asyncio.Queue()
    publishing = asyncio.create_task(_publish(call.request, call.service, call.gateway.metrics, told))
    return _WhileReading(_answers(told, publishing), media_type=NDJSON)


async def _answers(told: "asyncio.Queue[bytes | None]", publishing: "asyncio.Task[None]") -> AsyncIterator[bytes]:
    try:
        while (answer := await told.get()) is not None:
            yield answer
    finally:
        publishing.cancel()


async def _publish(request: Request, service: Service, metrics: Metrics, told: "asyncio.Queue[bytes | None]") -> None:
    telling: asyncio.Future[Any] = asyncio.create_task(asyncio.sleep(0))
    try:
        async for lines in _chunks_of_lines(request):
            read = [(number, read_line(line)) for number, line in lines]
            outcomes = await service.publish_many([it for _, it in read if isinstance(it, NewMessage)])
            metrics.count_published("bulk", outcomes)
            # What became of a chunk is looked up while the next one is published; never of two at a time.
            await telling
            telling = asyncio.create_task(_tell(service, read, outcomes, told))
        await telling
    except (Problem, ConjoinError) as problem:
        # The answer has begun, so this is its last line.
        await asyncio.wait([telling])
        told.put_nowait(_line({"error": str(problem)}))
    finally:
        told.put_nowait(None)


async def _chunks_of_lines(request: Request) -> AsyncIterator[_Numbered]:
    """Lines with their numbers, a bounded number of lines and bytes at a time; blank ones are nothing."""
    number, rest, waiting, size = 0, b"", [], 0
    async for chunk in chunks(request, MOST_BULK_BYTES):
        size += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MOST_BYTES:
            raise Problem(413, "TOO_LARGE", f"Line {number + len(lines) + 1} is longer than {MOST_BYTES:,} bytes")
        waiting += [(at, line) for at, line in enumerate(lines, number + 1) if line.strip()]
        number += len(lines)
        if number > MOST_LINES:
            raise Problem(413, "TOO_LARGE", f"There are more than {MOST_LINES:,} lines: send the others by themselves")
        while len(waiting) >= AT_ONCE or (waiting and size >= MOST_BYTES):
            yield waiting[:AT_ONCE]
            waiting, size = waiting[AT_ONCE:], 0
    if rest.strip():
        waiting.append((number + 1, rest))
    if waiting:
        yield waiting


async def _tell(service: Service, read: _Read, outcomes: list[Any], told: "asyncio.Queue[bytes | None]") -> None:
    keys = [it.key for it in outcomes if not isinstance(it, Refusal)]
    rows = await service.look(_rows, service.broker, keys)
    answers = iter(outcomes)
    said = [_told(number, it if isinstance(it, str) else next(answers), rows) for number, it in read]
    told.put_nowait(b"".join(map(_line, said)))


def _rows(broker: Broker, keys: list[int]) -> dict[int, Any]:
    return rows_with(broker, "message", keys)


def _told(number: int, outcome: Any, rows: dict[int, Any]) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"line": number, "error": outcome}
    if isinstance(outcome, Refusal):
        return {"line": number, "verdict": "refused", "code": outcome.code, "error": outcome.text}
    row = rows.get(outcome.key)
    fate = {} if row is None else {"verdict": row.verdict, "reason": row.reason}
    return {"line": number, "key": str(outcome.key), **fate}


def _line(told: dict[str, Any]) -> bytes:
    return json_bytes(told) + b"\n"


_VERDICTS = {"type": "string", "description": "A line for each line that came, with its number."}
_LINES = {"type": "string", "description": f"A message a line: {', '.join(sorted(MESSAGE_SCHEMA['properties']))}"}

ENDPOINTS = (
    Endpoint(
        *("POST", "/conjoin/v1/messages/bulk", "publishBulk", "Publish lines of messages; answers lines of verdicts"),
        publish_bulk,
        answer=_VERDICTS,
        answers_as=NDJSON,
        takes={NDJSON: _LINES},
        example='{"name": "paid", "key": "o-3", "ttl": "1h"}\n',
    ),
)
