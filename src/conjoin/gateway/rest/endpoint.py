"""An endpoint as a line of a table: address, what it takes, what it answers, and the function that does it.

Routes are made of it, and so is the OpenAPI document: neither can have what the other has not.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conjoin.gateway.guard import Guard
from conjoin.gateway.metrics import Metrics
from conjoin.gateway.rest.problems import refused
from conjoin.gateway.rest.reading import decoder, read_json_body
from conjoin.gateway.service import Service
from conjoin.runtime.answers import Refusal
from conjoin.runtime.encoding.json_text import json_bytes
from conjoin.runtime.inbox.inbox import Inbox

JSON = "application/json"
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


class Gateway(NamedTuple):
    """What endpoints work with."""

    service: Service
    guard: Guard
    metrics: Metrics
    is_ready: Callable[[], bool]

    @property
    def inbox(self) -> Inbox | None:
        return self.service.inbox


class Call(NamedTuple):
    """One request. `body` is what the endpoint takes, read and checked."""

    gateway: Gateway
    request: Request
    body: Any

    @property
    def service(self) -> Service:
        return self.gateway.service


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    name: str
    """What the call is called: unique, and told to whoever generates a client."""
    summary: str
    handler: Handler
    body: Any = None
    """The type of its JSON body; None: it takes none, or reads it by itself."""
    needs_body: bool = True
    answer: Any = None
    """A type or a schema of what it answers; None: nothing (204)."""
    status: int = 200
    query: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the query, each with what it means."""
    takes: Mapping[str, Any] = field(default_factory=dict)
    """For the document: schemas by media type of a body that the endpoint reads by itself."""
    may_be_empty: bool = False
    """Of such a body."""
    answers_as: str = JSON

    @property
    def is_body_required(self) -> bool:
        return self.needs_body if self.body is not None else not self.may_be_empty

    def route(self, gateway: Gateway) -> Route:
        reader = None if self.body is None else decoder(self.body)
        empty = None if reader is None or self.needs_body else msgspec.convert({}, self.body)
        name = f"{self.method} {self.path}"

        async def endpoint(request: Request) -> Response:
            denied = gateway.guard(name, request.headers)
            if denied is not None:
                raise refused(denied)
            body = None if reader is None else await read_json_body(request, reader, empty)
            return await self.handler(Call(gateway, request, body))

        return Route(self.path, endpoint, methods=[self.method], name=self.name)


def answer(value: Any, status: int = 200) -> Response:
    return Response(json_bytes(value), status, media_type=JSON)


def done(outcome: Any, intent: str) -> Response:
    """204, or why not."""
    if isinstance(outcome, Refusal):
        raise refused(outcome, intent)
    return Response(status_code=204)


def accepted(outcome: Any, intent: str = "") -> Any:
    """The answer, if it is no refusal."""
    if isinstance(outcome, Refusal):
        raise refused(outcome, intent)
    return outcome
