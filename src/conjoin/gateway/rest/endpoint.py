"""An endpoint as a line of a table: address, what it takes, what it answers, and the function that does it.

Routes are made of it, and so is the OpenAPI document: neither can have what the other has not.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conjoin.gateway.guard import Guard
from conjoin.gateway.http.context import USER, Gateway, address_of
from conjoin.gateway.http.disconnects import while_there
from conjoin.gateway.http.problems import HttpProblem, accepted, refused
from conjoin.gateway.http.reading import decoder, memory_for, no_form, read_json_body
from conjoin.gateway.rest.openapi.schemas import TEXT, Schema
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_bytes

JSON = "application/json"
_DONE = "conjoin.done"


class RestCall(NamedTuple):
    """One request. `body` is what the endpoint takes, read and checked."""

    gateway: Gateway
    request: Request
    body: Any

    @property
    def service(self) -> Service:
        return self.gateway.service

    def tell(self, **what: Any) -> None:
        """For the audit, beside what stands in the address. Nothing secret."""
        self.request.scope.setdefault(_DONE, {}).update(what)


Handler = Callable[[RestCall], Awaitable[Response]]


class QueryParameter(NamedTuple):
    """Of the query."""

    meaning: str
    schema: Schema = TEXT


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
    query: Mapping[str, QueryParameter] = field(default_factory=dict)
    takes: Mapping[str, Any] = field(default_factory=dict)
    """For the document: schemas by media type of a body that the endpoint reads by itself."""
    may_be_empty: bool = False
    """Of such a body."""
    answers_as: str = JSON
    also: Mapping[int, Any] = field(default_factory=dict)
    """For the document: types of other answers that are no problems, by status."""
    refuses: Sequence[int] = ()
    """For the document: statuses of problems, beside those that follow from what it takes."""
    example: Any = None
    """For the document: a body that is taken."""
    narrower: Schema = field(default_factory=dict)
    """For the document: what `body` cannot say of itself."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For the document: calls by name, with where in the answer their parameters are."""

    @property
    def only_reads(self) -> bool:
        """Nobody misses what was not read for a client that has gone; and its body, if it has one, was read before."""
        return self.method == "GET" or (self.body is not None and self.path.endswith("/search"))

    @property
    def is_body_required(self) -> bool:
        return self.needs_body if self.body is not None else not self.may_be_empty

    def route(self, gateway: Gateway) -> Route:
        reader = None if self.body is None else decoder(self.body)
        empty = None if reader is None or self.needs_body else msgspec.convert({}, self.body)
        name = f"{self.method} {self.path}"

        async def endpoint(request: Request) -> Response:
            admitted = accepted(await gateway.guard.admit(name, request.headers, gateway.service, address_of(request)))
            if admitted.who:
                request.scope[USER] = admitted.who
            with _noted(gateway.guard, name, request), memory_for(request, gateway.service.memory):
                if reader is None and not self.takes:
                    no_form(request)
                body = None if reader is None else await read_json_body(request, reader, empty)
                work = self.handler(RestCall(gateway._replace(service=admitted.service), request, body))
                return await (while_there(request, work) if self.only_reads else work)

        return Route(self.path, endpoint, methods=[self.method], name=self.name)


@contextmanager
def _noted(guard: Guard, name: str, request: Request) -> Iterator[None]:
    """What came of it is written down, if it is something that an operator does."""
    outcome = "failed"
    try:
        yield
        outcome = "done"
    except HttpProblem as problem:
        outcome = problem.title
        raise
    finally:
        what = {**request.path_params, **request.scope.get(_DONE, {})}
        guard.note(request.scope.get(USER, ""), name, what, outcome)


def answer(value: Any, status: int = 200) -> Response:
    return Response(json_bytes(value), status, media_type=JSON)


def done(outcome: Any, intent: str) -> Response:
    """204, or why not."""
    if isinstance(outcome, Refusal):
        raise refused(outcome, intent)
    return Response(status_code=204)
