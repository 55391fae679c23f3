"""Bulk publish: lines of messages in, lines of verdicts out, at the same time. A bad line is answered, and skipped.

A batch is published before the next is read, so a client that sends faster than the store commits has to wait. Answers
are kept until the client reads them, within the memory budget for lines: a client may send everything before it reads.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from conjoin.errors import ConjoinError
from conjoin.gateway.http.problems import HttpProblem
from conjoin.gateway.http.reading import of_type, read_line
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.rest.conjoin_v1.messages import MESSAGE_SCHEMA
from conjoin.gateway.rest.endpoint import Endpoint, RestCall
from conjoin.gateway.rest.json_lines import NDJSON, LineAnswers, line_batches
from conjoin.gateway.service import Service
from conjoin.logs import request_id
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.reading.finding import rows_with

_LOG = logging.getLogger(__name__)
_INTERNAL = "Internal error (request id {}): lines without an answer may or may not be stored"
_Read = list[tuple[int, NewMessage | str]]


class _WhileReading(StreamingResponse):
    """Sent while the request is still read. The usual one would read that itself, to see whether the client is gone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def publish_bulk(call: RestCall) -> Response:
    of_type(call.request, NDJSON, "application/jsonl", "application/x-jsonlines")
    answers = LineAnswers(call.service.line_memory)
    publishing = asyncio.create_task(_publish(call.request, call.service, call.gateway.metrics, answers))
    return _WhileReading(_sent(answers, publishing), media_type=NDJSON)


async def _sent(answers: LineAnswers, publishing: "asyncio.Task[None]") -> AsyncIterator[bytes]:
    try:
        async with aclosing(answers.all()) as lines:
            async for line in lines:
                yield line
    finally:
        publishing.cancel()


async def _publish(request: Request, service: Service, metrics: Metrics, answers: LineAnswers) -> None:
    answering: asyncio.Future[Any] = asyncio.create_task(asyncio.sleep(0))
    last = b""
    try:
        async with aclosing(line_batches(request, service.line_memory)) as batches:
            async for lines in batches:
                read = [(number, read_line(line)) for number, line in lines]
                outcomes = await service.publish_many([it for _, it in read if isinstance(it, NewMessage)])
                metrics.count_published("bulk", outcomes)
                # The verdicts of a batch are looked up while the next one is published; never of two at a time.
                await answering
                answering = asyncio.create_task(_answer(service, read, outcomes, answers))
        await answering
    except (HttpProblem, ConjoinError) as problem:
        # The answer has begun, so this is its last line.
        await asyncio.wait([answering])
        last = _line({"error": str(problem)})
    except Exception:  # noqa: BLE001 - logged, and reported to the client
        # The border of this request: its answer has begun, and an end without an error would look like success.
        _LOG.exception("bulk publish ended early")
        last = _line({"error": _INTERNAL.format(request_id())})
    finally:
        answering.add_done_callback(_ignore)
        answers.end(last)


def _ignore(answering: "asyncio.Future[Any]") -> None:
    """An exception that nobody awaits any more: asyncio need not log it."""
    if not answering.cancelled():
        answering.exception()


async def _answer(service: Service, read: _Read, outcomes: list[Any], answers: LineAnswers) -> None:
    keys = [it.key for it in outcomes if not isinstance(it, Refusal)]
    rows: dict[int, Any] = await service.look_up(rows_with, service.broker, "message", keys)
    its = iter(outcomes)
    lines = [_verdict(number, it if isinstance(it, str) else next(its), rows) for number, it in read]
    await answers.put(b"".join(map(_line, lines)))


def _verdict(number: int, outcome: Any, rows: dict[int, Any]) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"line": number, "error": outcome}
    if isinstance(outcome, Refusal):
        return {"line": number, "verdict": "refused", "code": outcome.code, "error": outcome.text}
    row = rows.get(outcome.key)
    verdict = {} if row is None else {"verdict": row.verdict, "reason": row.reason}
    return {"line": number, "key": str(outcome.key), **verdict}


def _line(content: dict[str, Any]) -> bytes:
    return json_bytes(content) + b"\n"


_VERDICTS = {"type": "string", "description": "A line for each input line, with its number."}
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
