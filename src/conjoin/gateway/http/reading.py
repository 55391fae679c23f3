"""Reading requests: bodies within their limits of size and time, JSON that is exactly what the endpoint takes, keys.

Problems name the property, as Zeebe does. A message of our own endpoints and of the console has the fields of a row of
a source, in any of their spellings:
`{"name": "paid", "key": "o-1", "id": "p-17", "ttl": "1h", "variables": {}, "tenant": "", "business_id": ""}`
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from conjoin.gateway.http.problems import HttpProblem, invalid, refused
from conjoin.gateway.memory_budget import MemoryBudget, Reservation, json_cost
from conjoin.gateway.search.engine.fields import read_key
from conjoin.runtime.client_api.messages import NewMessage, unusable_tenant
from conjoin.runtime.codec.json_text import NOT_JSON, client_decoder, decode_client_json
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.ingest.mapping import SPELLINGS, unknown_field
from conjoin.runtime.ingest.rows import Unusable, json_object, message_of

_A = TypeVar("_A")
MOST_BYTES = 4 * 1024 * 1024
"""Of a body, as of a gRPC message."""
LONGEST_PAUSE_S = 10.0
"""Between two pieces of a body."""
LONGEST_BODY_S = 30.0
"""For all of a body that is not streamed."""
RESERVATION = "conjoin.reservation"
"""In the scope of a request: its share of the memory budget."""
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `(.*)`)?", re.DOTALL)
_NO_TEXT = "it is blank, or has characters that are no text (NUL)"
_WRONG = re.compile(r"(.*?) - at `(.*)`", re.DOTALL)
decoder = client_decoder
"""For the bodies of a type. Numbers keep every digit."""


def too_large(most: int) -> HttpProblem:
    detail = f"The body is larger than {most:,} bytes"
    return HttpProblem(413, "TOO_LARGE", detail, {"Connection": "close"})


def too_slow() -> HttpProblem:
    detail = f"The body came too slowly: a piece every {LONGEST_PAUSE_S:g} s, and all of it within {LONGEST_BODY_S:g} s"
    return HttpProblem(408, "REQUEST_TIMEOUT", detail, {"Connection": "close"})


def memory_for(request: Request, budget: MemoryBudget) -> Reservation:
    """For bodies that are kept until the request is answered."""
    reservation: Reservation = request.scope.setdefault(RESERVATION, Reservation(budget))
    return reservation


def hold(request: Request, size: int) -> None:
    """So many bytes of this request are in memory until it is answered."""
    refusal = request.scope[RESERVATION].take(size)
    if refusal is not None:
        raise refused(refusal)


def not_too_large(request: Request, most: int) -> None:
    """By its own Content-Length."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > most):
        raise too_large(most)


async def chunks(request: Request, most: int) -> AsyncIterator[bytes]:
    """A body in chunks; one that grows too large or stalls is not read to its end."""
    not_too_large(request, most)
    size, stream = 0, request.stream()
    while True:
        try:
            async with asyncio.timeout(LONGEST_PAUSE_S):
                chunk = await anext(stream, None)
        except ClientDisconnect:
            raise invalid("The body was cut off") from None
        except TimeoutError:
            raise too_slow() from None
        if chunk is None:
            return
        size += len(chunk)
        if size > most:
            raise too_large(most)
        yield chunk


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """For reading all of a body."""
    try:
        async with asyncio.timeout(LONGEST_BODY_S):
            yield
    except TimeoutError:
        raise too_slow() from None


async def body_of(request: Request, most: int = MOST_BYTES) -> bytes:
    pieces = []
    async with in_time():
        async for chunk in chunks(request, most):
            hold(request, len(chunk))
            pieces.append(chunk)
    return b"".join(pieces)


def of_type(request: Request, *media_types: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in media_types:
        detail = f"Content-Type is {given!r:.60}, and this endpoint takes {' or '.join(media_types)}"
        raise HttpProblem(415, "UNSUPPORTED_MEDIA_TYPE", detail)


def no_form(request: Request) -> None:
    """Of a request whose body is not read: a page of another site can send forms and plain text, but no JSON."""
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    if has_body and request.method not in ("GET", "HEAD"):
        of_type(request, "application/json")


async def read_json_body(request: Request, reader: msgspec.json.Decoder[Any], default: Any = None) -> Any:
    """`default`: what a missing body stands for; without one it must be there."""
    body = await body_of(request)
    if not body:
        if default is None:
            raise invalid("Required request body is missing")
        return default
    of_type(request, "application/json")
    hold(request, json_cost(body))
    return decoded(reader, body)


def decoded(reader: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decode_client_json(reader, body)
    except msgspec.ValidationError as error:
        raise invalid(_in_words(str(error))) from None
    except RecursionError:
        raise invalid("The body is nested too deeply") from None
    except NOT_JSON as error:
        raise invalid(f"The body is not JSON: {error}") from None


def _in_words(text: str) -> str:
    unknown, missing, wrong = _UNKNOWN.fullmatch(text), _MISSING.fullmatch(text), _WRONG.fullmatch(text)
    if unknown:
        return f"Request property [{_path(unknown[2], unknown[1])}] cannot be parsed: there is no such property"
    if missing:
        return f"No {_path(missing[2], missing[1])} provided"
    if wrong:
        why = _NO_TEXT if "matching regex" in wrong[1] else wrong[1]
        return f"Request property [{_path(wrong[2])}] cannot be parsed: {why}"
    return f"The body cannot be parsed: {text}"


def _path(path: str | None, name: str = "") -> str:
    return ".".join(part for part in ((path or "$").removeprefix("$").removeprefix("."), name) if part)


def key_in(request: Request, name: str) -> int:
    """A key in the path."""
    text = request.path_params[name]
    try:
        return read_key(text)
    except ValueError as expected:
        raise invalid(f"{name}: {text!r:.60} is not {expected}") from None


def key_of(name: str, value: str | int) -> int:
    """A key in a body; older clients send it as a number."""
    try:
        return read_key(str(value))
    except ValueError as expected:
        raise invalid(f"Request property [{name}] cannot be parsed: {value!r:.60} is not {expected}") from None


def tenant_of(tenant_id: str | None) -> str:
    """Empty: the default."""
    named = tenant_id or DEFAULT_TENANT
    problem = unusable_tenant([named])
    if problem is not None:
        raise invalid(problem.text)
    return named


def needed(name: str, value: str) -> str:
    if not value or value.isspace():
        raise invalid(f"No {name} provided")
    return value


def new_message(fields: Mapping[str, Any]) -> NewMessage:
    message = _message(fields)
    if isinstance(message, str):
        raise invalid(f"The message {message}" if message.startswith(("is ", "has ")) else message)
    tenant_of(message.tenant_id)
    return message


def read_line(line: bytes) -> NewMessage | str:
    """The message, or what is wrong with the line."""
    try:
        message = _message(json_object(line))
    except Unusable as why:
        return str(why)
    problem = None if isinstance(message, str) else unusable_tenant([message.tenant_id])
    return message if problem is None else problem.text


def _message(fields: Mapping[str, Any]) -> NewMessage | str:
    unknown = next((name for name in fields if name not in SPELLINGS), None)
    if unknown is not None:
        return unknown_field(unknown)
    try:
        return message_of(fields)
    except Unusable as why:
        return str(why)


async def while_there(request: Request, work: Awaitable[_A]) -> _A:
    """The result of `work`, which is cancelled when the client disconnects. The body must have been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            # Nobody reads this any more.
            raise HttpProblem(499, "CANCELLED", "The client has closed the connection")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
