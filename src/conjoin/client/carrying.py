"""Carrying requests with httpx: what both clients have in common. It decides nothing but whether a request went out."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from conjoin.client.exchange import HttpAnswer, HttpRequest, NoHttpAnswer, Patience
from conjoin.errors import ExtraMissing

try:
    import httpx as httpx
except ModuleNotFoundError as missing:
    raise ExtraMissing("conjoin.Client", "httpx", "client") from missing

ADDRESS = "http://127.0.0.1:8080"
USUAL = Patience()
KEPT_S = 2.0
"""An idle connection is not used again after this; servers close theirs after five seconds, in the middle of a call."""


@dataclass(frozen=True, slots=True)
class Bearer:
    token: str

    def __repr__(self) -> str:
        return "Bearer(...)"


@dataclass(frozen=True, slots=True)
class Basic:
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Basic({self.user!r}, ...)"


class ClientTls(NamedTuple):
    """Files: who vouches for the server, if not those whom the machine trusts; and who we are, if it wants to know."""

    ca: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None


Credentials = Bearer | Basic
REFUSED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
"""Nothing went out."""


def settings(address: str, credentials: Credentials | None, tls: ClientTls | None, timeout_s: float) -> dict[str, Any]:
    """For either client of httpx."""
    basic = (credentials.user, credentials.password) if isinstance(credentials, Basic) else None
    bearer = {"Authorization": f"Bearer {credentials.token}"} if isinstance(credentials, Bearer) else {}
    return {
        "base_url": address,
        "auth": basic,
        "headers": bearer,
        "timeout": timeout_s,
        "limits": httpx.Limits(keepalive_expiry=KEPT_S),
        "verify": True if tls is None else _trusting(tls),
    }


def _trusting(tls: ClientTls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.ca)
    if tls.certificate is not None:
        context.load_cert_chain(tls.certificate, tls.key)
    return context


def how(request: HttpRequest, timeout_s: float) -> Mapping[str, Any]:
    """A request as httpx takes it."""
    given: dict[str, Any] = {"method": request.method, "url": request.path, "timeout": timeout_s + request.later_s}
    if request.query:
        given["params"] = dict(request.query)
    if request.files:
        return given | {"files": [("resources", file) for file in request.files], "data": dict(request.fields)}
    if request.body is not None:
        given |= {"content": request.body, "headers": {"Content-Type": request.media_type}}
    return given


def answer_of(response: httpx.Response) -> HttpAnswer:
    return HttpAnswer(response.status_code, response.content, response.headers.get("retry-after", ""))


def lost(error: httpx.TransportError) -> NoHttpAnswer:
    text = str(error) or type(error).__name__
    return NoHttpAnswer(text, not isinstance(error, REFUSED))
