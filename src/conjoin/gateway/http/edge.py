"""What holds for every request and answer of REST and the console, before any route is looked for.

A request has bounded headers and names a host of ours, and one that could change something does not come from a page
of another origin. A page of another site can point its own name at this machine (DNS rebinding), and the browser then
takes our answers for that site's: such a request names a host that is not ours. An IP address cannot be pointed
anywhere, so it is always accepted. Every answer has a request id, and headers that keep a browser from running or
framing its content.
"""

import socket
from collections.abc import Iterable, MutableMapping
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conjoin.errors import SettingsError
from conjoin.gateway.http.problems import HttpProblem, problem_response
from conjoin.logs import REQUEST_ID_HEADER, answering, id_of

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
"""For content that users have uploaded: no script in it runs, wherever it is opened."""
MOST_HEADER_BYTES = 32 * 1024
FOREIGN_HOST = "conjoin.foreign_host"
"""In the scope of a request by a name that is not ours."""
_HSTS = "max-age=31536000"
_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
_OURS = ("same-origin", "none")
_ANY_HOST = ("/health/live", "/health/ready")
"""Probes use any host name, and learn nothing but whether the server is up."""
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class Hosts:
    """The names that this server answers to, in lower case, and the origins of its own pages. `*` is a wildcard."""

    def __init__(self, configured: Iterable[str] = (), also: Iterable[str] = ()) -> None:
        """`also`: names that are ours without being configured: where it listens, what the certificate says."""
        self._configured = frozenset(map(_plain, configured))
        machine = socket.gethostname()
        own = ("localhost", machine, machine.partition(".")[0], *also)
        names = {_without_any_port(_plain(name)) for name in (*own, *self._configured)} - {""}
        self._patterns = tuple(name for name in names if "*" in name)
        self._names = frozenset(names)

    def accepts(self, header: str | None) -> bool:
        """The header Host. A request without one was not made by a browser."""
        if header is None:
            return True
        name = _without_any_port(_plain(header))
        return name in self._names or _is_address(name) or any(fnmatchcase(name, it) for it in self._patterns)

    def is_own(self, origin: str, header: str | None, scheme: str) -> bool:
        """A page of the very host and port that the request is for, or of one that is configured (a proxy's)."""
        try:
            url = urlsplit(origin)
        except ValueError:
            return False
        if url.scheme not in _DEFAULT_PORTS or (scheme == "https" and url.scheme != "https"):
            return False
        default = f":{_DEFAULT_PORTS[url.scheme]}"
        names = (*(() if header is None else (header,)), *self._configured)
        return any(_plain(url.netloc).removesuffix(default) == _plain(name).removesuffix(default) for name in names)


def checked(hosts: Iterable[str]) -> tuple[str, ...]:
    """Raises `SettingsError` for texts that are no host names."""
    given = tuple(hosts)
    wrong = [it for it in given if not it.strip() or any(character in it for character in "/@? ")]
    if wrong:
        raise SettingsError([f"hosts: {it!r:.80} is not a name such as conjoin.example" for it in wrong])
    return given


def names_in_certificate(path: Path) -> tuple[str, ...]:
    """Its DNS names: under TLS a browser has checked that it asked for one of them."""
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, OSError, x509.ExtensionNotFound):
        return ()
    return tuple(names.get_values_for_type(x509.DNSName))


def _plain(name: str) -> str:
    return name.strip().lower().removesuffix(".")


def _without_any_port(netloc: str) -> str:
    """An IPv6 address is in brackets, or stands alone."""
    if netloc.startswith("["):
        return netloc[1:].partition("]")[0]
    return netloc if netloc.count(":") > 1 else netloc.partition(":")[0].removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Edge:
    """Around the whole application, also around the answer to an internal error."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, has_begun = Headers(scope=scope), False
        id_ = id_of(headers.get(REQUEST_ID_HEADER))

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                _complete(message, scope["scheme"], id_)
            await send(message)

        with answering(id_):
            problem = self._problem(scope, headers)
            if problem is not None:
                await problem_response(Request(scope), problem)(scope, receive, sending)
                return
            try:
                await self._app(scope, receive, sending)
            except Exception:  # the border of the process: what was answered is in the log, and need not be there twice
                if not has_begun:
                    raise

    def _problem(self, scope: Scope, headers: Headers) -> HttpProblem | None:
        host = headers.get("host")
        if not self._hosts.accepts(host):
            if scope["path"] not in _ANY_HOST:
                detail = (
                    f"{host or ''!r:.100} is not a name of this server: use one of its names or its address, or add the"
                    " name to hosts in [server] of its settings (--allowed-host)"
                )
                return HttpProblem(421, "MISDIRECTED_REQUEST", detail, {"Connection": "close"})
            scope[FOREIGN_HOST] = True
        if scope["method"] not in _SAFE and self._is_foreign(headers, host, scope["scheme"]):
            detail = "A page of another origin sent this request, and only pages of this server may change anything"
            return HttpProblem(403, "FORBIDDEN", detail, {"Connection": "close"})
        size = len(scope.get("query_string", b"")) + sum(len(name) + len(value) for name, value in scope["headers"])
        if size > MOST_HEADER_BYTES:
            detail = f"The headers are larger than {MOST_HEADER_BYTES:,} bytes"
            return HttpProblem(431, "TOO_LARGE", detail, {"Connection": "close"})
        return None

    def _is_foreign(self, headers: Headers, host: str | None, scheme: str) -> bool:
        """A request with neither Origin nor Sec-Fetch-Site was not sent by a page."""
        origin = headers.get("origin")
        if origin is not None and not self._hosts.is_own(origin, host, scheme):
            return True
        return headers.get("sec-fetch-site", "none") not in _OURS


def _complete(message: MutableMapping[str, Any], scheme: str, request_id: str) -> None:
    headers = MutableHeaders(scope=message)
    headers[REQUEST_ID_HEADER] = request_id
    for name, value in ANSWER_HEADERS.items():
        headers.setdefault(name, value)
    if "etag" not in headers:
        headers.setdefault("Cache-Control", "no-store")
    if scheme == "https":
        headers.setdefault("Strict-Transport-Security", _HSTS)
