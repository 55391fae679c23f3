"""What holds for every request and every answer of REST and the console, before any route is looked for.

A request names a host of ours; one that could change something does not come from a page of another origin; and every
answer has the headers that keep a browser from running or framing what it was only to show.
"""

from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conjoin.gateway.http.hosts import Hosts
from conjoin.gateway.http.problems import HttpProblem, problem_response

ANSWER_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Unless an answer has its own."""
FILE_HEADERS = {"Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'"}
"""Of what somebody else has written: no script of it runs, wherever it is opened."""
_HSTS = "max-age=31536000"
_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
_OURS = ("same-origin", "none")
FOREIGN_HOST = "conjoin.foreign_host"
"""In the scope of a request by a name that is not ours."""
_ANY_HOST = ("/health/live", "/health/ready")
"""Probes name whatever they like, and learn nothing but how the server is."""


class Edge:
    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _with_headers(send, scope["scheme"])
        problem = self._problem(scope)
        if problem is not None:
            await problem_response(Request(scope), problem)(scope, receive, answering)
            return
        await self._app(scope, receive, answering)

    def _problem(self, scope: Scope) -> HttpProblem | None:
        headers = Headers(scope=scope)
        host = headers.get("host")
        if not self._hosts.accepts(host):
            if scope["path"] not in _ANY_HOST:
                return _misdirected(host or "")
            scope[FOREIGN_HOST] = True
        if scope["method"] not in _SAFE and self._is_foreign(headers, host, scope["scheme"]):
            return _foreign()
        return None

    def _is_foreign(self, headers: Headers, host: str | None, scheme: str) -> bool:
        """What neither names an origin nor says where it was fetched from was not sent by a page."""
        origin = headers.get("origin")
        if origin is not None and not self._hosts.is_own(origin, host, scheme):
            return True
        return headers.get("sec-fetch-site", "none") not in _OURS


def _misdirected(host: str) -> HttpProblem:
    detail = (
        f"{host!r:.100} is not a name of this server: use one of its names or its address, or add the name to hosts in"
        " [server] of its settings (--allowed-host)"
    )
    return HttpProblem(421, "MISDIRECTED_REQUEST", detail, {"Connection": "close"})


def _foreign() -> HttpProblem:
    detail = "A page of another origin sent this request, and only pages of this server may change anything"
    return HttpProblem(403, "FORBIDDEN", detail, {"Connection": "close"})


def _with_headers(send: Send, scheme: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            _complete(message, scheme)
        await send(message)

    return sending


def _complete(message: MutableMapping[str, Any], scheme: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in ANSWER_HEADERS.items():
        headers.setdefault(name, value)
    if "etag" not in headers:
        headers.setdefault("Cache-Control", "no-store")
    if scheme == "https":
        headers.setdefault("Strict-Transport-Security", _HSTS)
