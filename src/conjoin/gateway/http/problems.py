"""Problems: answers that are no success, as RFC 9457 describes them and the clients expect them.

Refusals and errors get their status from the one table of the gateway. An internal error shows no details.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from conjoin.errors import ConjoinError
from conjoin.gateway.statuses import STATUSES, TooManyRequests, rejection, status_of
from conjoin.logs import request_id
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_bytes

_A = TypeVar("_A")
_LOG = logging.getLogger(__name__)
_AGAIN = {"Retry-After": "1"}
_WHO = {"WWW-Authenticate": 'Basic realm="Conjoin", charset="UTF-8", Bearer realm="Conjoin"'}
_HEADERS = {401: _WHO, 503: _AGAIN}
LONGEST_DETAIL = 64 * 1024
"""Characters: what was sent is not sent back in full."""
_TITLES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 415: "UNSUPPORTED_MEDIA_TYPE"}
NOT_HERE = "not here"
"""The name of routes that only answer 501."""


class HttpProblem(Exception):  # noqa: N818 - what the RFC calls it
    """Raised while a request is read or carried out, and answered as it is."""

    def __init__(self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.headers = status, title, detail, headers


def invalid(detail: str) -> HttpProblem:
    return HttpProblem(400, "INVALID_ARGUMENT", detail)


def not_found(detail: str) -> HttpProblem:
    return HttpProblem(404, "NOT_FOUND", detail)


def unimplemented(call: str) -> HttpProblem:
    return HttpProblem(501, "UNIMPLEMENTED", f"{call} is not implemented")


def refused(refusal: Refusal, intent: str = "") -> HttpProblem:
    """`intent`: of the command that was refused, in the words that clients know from Zeebe."""
    status = STATUSES[refusal.code].http
    detail = rejection(intent, refusal) if intent else refusal.text
    later = {"Retry-After": str(refusal.retry_after_s)} if isinstance(refusal, TooManyRequests) else None
    return HttpProblem(status, refusal.code, detail, later or _HEADERS.get(status))


def accepted(outcome: _A | Refusal, intent: str = "") -> _A:
    """The answer, if it is no refusal."""
    if isinstance(outcome, Refusal):
        raise refused(outcome, intent)
    return outcome


def problem_response(request: Request, problem: HttpProblem) -> Response:
    detail = problem.detail
    content = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": detail if len(detail) <= LONGEST_DETAIL else f"{detail[:LONGEST_DETAIL]} ...",
        "instance": request.url.path,
        "requestId": request_id(),
    }
    return Response(json_bytes(content), problem.status, problem.headers, "application/problem+json")


async def on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpProblem)
    return problem_response(request, error)


async def on_error(request: Request, error: Exception) -> Response:
    """The store or another system failed, or the input cannot be used."""
    assert isinstance(error, ConjoinError)
    status = status_of(error)
    title = "INVALID_ARGUMENT" if status.http == 400 else status.grpc
    return problem_response(request, HttpProblem(status.http, title, str(error), _AGAIN if error.retryable else None))


async def on_http(request: Request, error: Exception) -> Response:
    """Raised by the router."""
    assert isinstance(error, HTTPException)
    details = {
        404: f"No endpoint {request.method} {request.url.path}",
        405: f"{request.url.path} has no {request.method}",
    }
    title = _TITLES.get(error.status_code, "BAD_REQUEST")
    headers = {"Allow": _allowed(request.url.path, request.app.routes)} if error.status_code == 405 else error.headers
    problem = HttpProblem(error.status_code, title, details.get(error.status_code, error.detail), headers)
    return problem_response(request, problem)


def _allowed(path: str, routes: Iterable[BaseRoute]) -> str:
    here = [route for route in routes if isinstance(route, Route) and route.name != NOT_HERE]
    found = [route for route in here if route.path_regex.match(path)]
    exact = [route for route in found if route.path == path] or found
    return ", ".join(sorted({method for route in exact for method in route.methods or ()}))


async def on_mistake(request: Request, error: Exception) -> Response:
    """An internal error: the details are in the log, as a client could do nothing with them."""
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = f"Internal error (request id {request_id()}): the log of the server says what happened"
    return problem_response(request, HttpProblem(500, "INTERNAL", detail))
