"""Request ids: every request has one, the client's own if it is sane. The answer names it, and so does the log."""

import re
from collections.abc import Iterable
from itertools import count
from secrets import token_hex
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conjoin.logs import answering

HEADER = "X-Request-Id"
METADATA = "x-request-id"
"""The same in gRPC."""
SCOPE = "conjoin.request_id"
_SANE = re.compile(r"[A-Za-z0-9._:+/=@-]{1,64}", re.ASCII)
_PROCESS = token_hex(4)
_NUMBERS = count(1)


def id_of(given: str | None) -> str:
    """The one that the client gave, or a new one: unique in this process, and among others by chance."""
    if given and _SANE.fullmatch(given):
        return given
    return f"{_PROCESS}-{next(_NUMBERS):x}"


def id_in(metadata: Iterable[tuple[str, Any]] | None) -> str:
    """Of a gRPC call."""
    return id_of(next((value for key, value in metadata or () if key == METADATA and isinstance(value, str)), None))


class RequestIds:
    """Around everything that answers REST requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id_ = scope[SCOPE] = id_of(Headers(scope=scope).get(HEADER))
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                MutableHeaders(scope=message)[HEADER] = id_
            await send(message)

        with answering(id_):
            try:
                await self._app(scope, receive, sending)
            except Exception:
                # The answer to a mistake is written, and the mistake is in the log: the server need not tell it again.
                if not has_begun:
                    raise
