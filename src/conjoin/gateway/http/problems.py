"""Problems: what a client is told when it does not get what it asked for, as RFC 9457 says and the clients expect.

Refusals and errors become statuses by the one table of the gateway. What is our own mistake says no more than that.
"""

import logging
from collections.abc import Mapping
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from conjoin.errors import ConjoinError
from conjoin.gateway.http.methods import allowed
from conjoin.gateway.monitoring.request_ids import SCOPE
from conjoin.gateway.statuses import STATUSES, TooManyRequests, rejection, status_of
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_bytes

_A = TypeVar("_A")
_LOG = logging.getLogger(__name__)
_AGAIN = {"Retry-After": "1"}
_WHO = {"WWW-Authenticate": 'Basic realm="Conjoin", charset="UTF-8", Bearer realm="Conjoin"'}
_HEADERS = {401: _WHO, 503: _AGAIN}
_TITLES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 415: "UNSUPPORTED_MEDIA_TYPE"}


class HttpProblem(Exception):  # noqa: N818 - what the RFC calls it
    """Raised by whoever reads a request; told to whoever sent it."""

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
    told = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "instance": request.url.path,
        "requestId": request.scope.get(SCOPE, ""),
    }
    return Response(json_bytes(told), problem.status, problem.headers, "application/problem+json")


async def on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpProblem)
    return problem_response(request, error)


async def on_error(request: Request, error: Exception) -> Response:
    """The world's failure, or what was handed in cannot be used."""
    assert isinstance(error, ConjoinError)
    status = status_of(error)
    title = "INVALID_ARGUMENT" if status.http == 400 else status.grpc
    return problem_response(request, HttpProblem(status.http, title, str(error), _AGAIN if error.retryable else None))


async def on_http(request: Request, error: Exception) -> Response:
    """What the router says by itself."""
    assert isinstance(error, HTTPException)
    details = {
        404: f"No endpoint {request.method} {request.url.path}",
        405: f"{request.url.path} has no {request.method}",
    }
    title = _TITLES.get(error.status_code, "BAD_REQUEST")
    headers = {"Allow": allowed(request.url.path, request.app.routes)} if error.status_code == 405 else error.headers
    problem = HttpProblem(error.status_code, title, details.get(error.status_code, error.detail), headers)
    return problem_response(request, problem)


async def on_mistake(request: Request, error: Exception) -> Response:
    """Ours. What happened is in the log; a client could do nothing with it."""
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = f"Internal error (request id {request.scope.get(SCOPE, '')}): the log of the server says what happened"
    return problem_response(request, HttpProblem(500, "INTERNAL", detail))
