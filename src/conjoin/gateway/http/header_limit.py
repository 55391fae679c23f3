"""Headers no larger than allowed: before anything else of a request is looked at."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from conjoin.gateway.http.problems import HttpProblem, problem_response

MOST_HEADER_BYTES = 32 * 1024


class HeaderLimit:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _size(scope) > MOST_HEADER_BYTES:
            detail = f"The headers are larger than {MOST_HEADER_BYTES:,} bytes"
            problem = HttpProblem(431, "TOO_LARGE", detail, {"Connection": "close"})
            await problem_response(Request(scope), problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _size(scope: Scope) -> int:
    return len(scope.get("query_string", b"")) + sum(len(name) + len(value) for name, value in scope["headers"])
