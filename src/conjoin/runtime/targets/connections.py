"""Connections to other systems: those of httpcore, which httpx is made of, kept alive between calls.

A connection that the other side has given up is not used again, redirects are not followed, cookies are not kept, and
of an answer no more is read than the limit. Two things httpx does not have: a timeout counts for all of a request, and
again for the whole answer, so that a byte now and then holds no call for ever; and whether the last byte of a request
went out is known, as httpx does not report a write that failed.
"""

import ssl
from collections.abc import Mapping
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from conjoin.errors import ExtraMissing
from conjoin.runtime.targets.calls import CallBroken, HttpLimits, TargetAnswer

try:
    import httpcore
except ModuleNotFoundError as missing:
    raise ExtraMissing("a call to another system", "httpx", "client") from missing

_IDLE_MAX_S = 10.0
"""Targets give an idle connection up after 20 seconds or more."""
_PIECE = 65_536
_BROKEN = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class HttpConnections:
    """Any number of threads may call at once; those above the limit wait for their turn."""

    def __init__(self, limits: HttpLimits, tls: ssl.SSLContext | None = None, proxy: str = "") -> None:
        self._limits = limits
        self._closed = False
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls,
            proxy=_read_proxy(proxy) if proxy else None,
            max_connections=limits.calls_in_flight,
            keepalive_expiry=_IDLE_MAX_S,
            network_backend=_Network(),
        )

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> TargetAnswer:
        """Raises `CallBroken`."""
        progress = _Progress()
        try:
            where, host = _read_url(url)
            sent = {"Host": host, "User-Agent": "conjoin", "Accept-Encoding": "identity", **headers}
            sent |= {"Connection": "close"} if self._closed else {}
            connect_s, answer_s = self._limits.connect_timeout_ms / 1_000, self._limits.answer_timeout_ms / 1_000
            timeout = {"connect": connect_s, "read": answer_s, "write": answer_s}
            extensions = {"timeout": timeout, "trace": progress}
            pairs = [*sent.items()]
            with self._pool.stream(method, where, headers=pairs, content=body, extensions=extensions) as response:
                return self._read(response)
        except (*_BROKEN, ValueError) as error:
            raise CallBroken(_root_of(error), progress.is_connected, progress.is_sent) from error

    def close(self) -> None:
        """No connection is kept from now on."""
        self._closed = True
        self._pool.close()

    def _read(self, response: httpcore.Response) -> TargetAnswer:
        most, body = self._limits.answer_max, bytearray()
        for piece in response.iter_stream():
            body += piece
            if len(body) > most:
                break  # the rest is not worth reading; its connection is closed
        headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
        retry_after, location = headers.get(b"retry-after", ""), headers.get(b"location", "")
        return TargetAnswer(response.status, bytes(body[:most]), retry_after, location)


class _Progress:
    """How far a call got, as httpcore reports it. A tunnel through a proxy is opened by a request of its own."""

    def __init__(self) -> None:
        self.is_connected = self.is_sent = False
        self._is_tunnel = False

    def __call__(self, event: str, about: Mapping[str, Any]) -> None:
        if event == "http11.send_request_headers.started":
            self._is_tunnel = about["request"].method == b"CONNECT"
            self.is_connected = not self._is_tunnel
        elif event == "http11.send_request_body.complete":
            self.is_sent = not self._is_tunnel


class _Network(httpcore.SyncBackend):
    def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore.NetworkStream:
        return _TimedStream(super().connect_tcp(*arguments, **options))


class _TimedStream(httpcore.NetworkStream):
    """A timeout counts for all that is read between two writes, and for all that is written between two reads."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._is_reading = False
        self._until = 0.0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left(True, timeout or 0))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._left(False, timeout or 0))

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *arguments: Any, **options: Any) -> httpcore.NetworkStream:
        return _TimedStream(self._stream.start_tls(*arguments, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _left(self, is_reading: bool, timeout_s: float) -> float:
        if is_reading != self._is_reading or not self._until:
            self._is_reading, self._until = is_reading, monotonic() + timeout_s
        left = self._until - monotonic()
        if left <= 0:
            raise (httpcore.ReadTimeout if is_reading else httpcore.WriteTimeout)
        return left


def environment_proxy(url: str) -> str:
    """The proxy that the environment names for this URL; empty for none."""
    parts = urlsplit(url)
    return "" if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme, "")


def _read_proxy(url: str) -> httpcore.Proxy:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the proxy that the environment names is none of http or https")
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return httpcore.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth)


def _read_url(url: str) -> tuple[httpcore.URL, str]:
    """And the value of the header Host."""
    parts = urlsplit(url)
    host = (parts.hostname or "").encode("idna")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    shown = f"[{host.decode()}]" if b":" in host else host.decode()
    where = httpcore.URL(scheme=parts.scheme.encode(), host=host, port=parts.port, target=target.encode("ascii"))
    return where, shown if parts.port is None else f"{shown}:{parts.port}"


def _root_of(error: BaseException) -> BaseException:
    """The error of the operating system, where httpcore only wraps it."""
    if isinstance(error, httpcore.TimeoutException):
        return TimeoutError("timed out")
    return error.__context__ if isinstance(error.__context__, OSError) else error
