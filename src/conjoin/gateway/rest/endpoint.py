"""An endpoint as an entry of a table: path, what it takes, what it answers, and the function that handles it.

Routes and the OpenAPI document are made from the same entries, so neither can have what the other has not.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conjoin.gateway.guard import Guard
from conjoin.gateway.http.context import USER, Gateway, address_of
from conjoin.gateway.http.problems import HttpProblem, accepted
from conjoin.gateway.http.reading import decoder, key_in, memory_for, no_form, read_json_body, while_there
from conjoin.gateway.http.schemas import TEXT, Schema
from conjoin.gateway.service import Service
from conjoin.gateway.statuses import INTENTS
from conjoin.runtime.client_api.answers import PublishedMessage, Refusal
from conjoin.runtime.client_api.calls import Call, Calls
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_bytes

_P = ParamSpec("_P")
_A = TypeVar("_A")
JSON = "application/json"
_AUDITED = "conjoin.audited"


class RestCall(NamedTuple):
    """One request. `body` is that of the endpoint's type, read and checked."""

    gateway: Gateway
    request: Request
    body: Any

    @property
    def service(self) -> Service:
        return self.gateway.service

    def key(self, name: str) -> int:
        """Of the path."""
        return key_in(self.request, name)

    async def command(
        self, call: Callable[Concatenate[Calls, _P], Call[_A | Refusal]], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _A:
        """What the engine answers to a call; a refusal is raised."""
        return accepted(await self.service.call(call, *args, **kwargs), INTENTS[call])

    async def publish(self, call: Callable[[Calls, NewMessage], Call[_A | Refusal]], message: NewMessage) -> _A:
        """The same for a call with a message, which is counted and timed."""
        with self.gateway.metrics.publishing("rest") as outcome:
            published = outcome.noted(await self.service.call(call, message))
        return accepted(published, INTENTS[call])

    async def publish_instead(self, of: int | None, message: NewMessage) -> PublishedMessage:
        """`of`: a lost message, in place of which this one is sent; None: it is sent like any other."""
        if of is None:
            return await self.publish(Calls.publish, message)
        refused = await self.service.unreplaceable(of, message.tenant_id)
        if refused is not None:
            accepted(refused)
        published = await self.publish(Calls.publish, message)
        await self.service.note_replaced(of, published.key, message)
        return published

    def note(self, **what: Any) -> None:
        """For the audit, in addition to the parameters of the path. Nothing secret."""
        self.request.scope.setdefault(_AUDITED, {}).update(what)


Handler = Callable[[RestCall], Awaitable[Response]]


class QueryParameter(NamedTuple):
    meaning: str
    schema: Schema = TEXT


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    name: str
    """Unique: generated clients name their method by it."""
    summary: str
    handler: Handler
    body: Any = None
    """The type of its JSON body; None: it takes none, or reads it itself."""
    needs_body: bool = True
    answer: Any = None
    """A type or a schema; None: nothing (204)."""
    status: int = 200
    query: Mapping[str, QueryParameter] = field(default_factory=dict)
    takes: Mapping[str, Any] = field(default_factory=dict)
    """For the document: schemas by media type of a body that the endpoint reads itself."""
    may_be_empty: bool = False
    """Of such a body."""
    answers_as: str = JSON
    also: Mapping[int, Any] = field(default_factory=dict)
    """For the document: types of further answers that are no problems, by status."""
    refuses: Sequence[int] = ()
    """For the document: statuses of problems, in addition to those that follow from what it takes."""
    example: Any = None
    """For the document: a valid body."""
    narrower: Schema = field(default_factory=dict)
    """For the document: constraints that the type of `body` cannot express."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For the document: further calls by name, with where their parameters are in this answer."""

    @property
    def only_reads(self) -> bool:
        """So it can be cancelled when its client disconnects; its body, if it has one, was read before."""
        return self.method == "GET" or (self.body is not None and self.path.endswith("/search"))

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
    """Its outcome is audited, if it is an action of operators."""
    outcome = "failed"
    try:
        yield
        outcome = "done"
    except HttpProblem as problem:
        outcome = problem.title
        raise
    finally:
        what = {**request.path_params, **request.scope.get(_AUDITED, {})}
        guard.note(request.scope.get(USER, ""), name, what, outcome)


def answer(value: Any, status: int = 200) -> Response:
    return Response(json_bytes(value), status, media_type=JSON)


def command(
    method: str,
    path: str,
    name: str,
    summary: str,
    call: Callable[..., Call[Any]],
    args: Callable[[Any], Sequence[Any]] = lambda body: (),
    refuses: Sequence[int] = (),
    **described: Any,
) -> Endpoint:
    """An endpoint that carries out one call of the engine: on the key in its path, with further `args` of its body."""
    parameter = path.partition("{")[2].partition("}")[0]

    async def handle(request: RestCall) -> Response:
        given = args(request.body)
        await request.command(call, request.key(parameter), *given)
        return Response(status_code=204)

    return Endpoint(method, path, name, summary, handle, refuses=(409, *refuses, 504), **described)
