"""Connections of one address: kept alive between calls, and never waited for longer than their time-outs.

A connection is used again only while the other side has not touched it, so that a call does not break on one that was
given up meanwhile. The time-out of a socket counts for the answer as a whole: a target that sends a byte now and then
does not hold a call for ever.
"""

import io
import selectors
import socket
import ssl
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_IDLE_MAX_S = 10.0
"""Targets give an idle connection up after 20 seconds or more."""


class Address(NamedTuple):
    is_secure: bool
    host: str
    port: int | None
    path: str
    """What stands before the path of every request; it does not end with a slash."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.is_secure else 'http'}://{host}{port}{self.path}"


def read_address(url: str) -> Address:
    """The address of a URL. ValueError says why it is none, and does not repeat it: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("is not a URL such as http://host:8080/engine-rest")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("may not have a user, a query or a fragment")
    if " " in url or not url.isprintable() or not parts.path.isascii():
        raise ValueError("has characters that must be escaped")
    return Address(parts.scheme == "https", host, port, parts.path.rstrip("/"))


class HttpConnections:
    """Gives a connection to one caller at a time. Those that come back are given out again."""

    def __init__(self, address: Address, connect_timeout_s: float) -> None:
        self._address = address
        self._connect_timeout_s = connect_timeout_s
        self._context = ssl.create_default_context() if address.is_secure else None
        self._idle: list[tuple[HTTPConnection, float]] = []
        self._lock = Lock()
        self._closed = False

    def take(self) -> HTTPConnection:
        """A connection that is open. OSError: none could be made."""
        while (connection := self._pop()) is not None:
            if _is_untouched(connection):
                return connection
            connection.close()
        return self._open()

    def give_back(self, connection: HTTPConnection) -> None:
        """One whose answer was read to its end; one that the answer has closed is only dropped."""
        with self._lock:
            if connection.sock is not None and not self._closed:
                self._idle.append((connection, monotonic()))
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _pop(self) -> HTTPConnection | None:
        """The one that was used last. When it is too old, so are all others."""
        with self._lock:
            if self._idle and monotonic() - self._idle[-1][1] < _IDLE_MAX_S:
                return self._idle.pop()[0]
            aged, self._idle = self._idle, []
        for connection, _ in aged:
            connection.close()
        return None

    def _open(self) -> HTTPConnection:
        host, port, timeout = self._address.host, self._address.port, self._connect_timeout_s
        connection: HTTPConnection
        if self._context is None:
            connection = HTTPConnection(host, port, timeout=timeout)
        else:
            connection = HTTPSConnection(host, port, timeout=timeout, context=self._context)
        connection.response_class = TimedResponse
        connection.connect()
        return connection


class TimedResponse(HTTPResponse):
    """A response that must be there as a whole before the time-out of its socket has passed once."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_UntilDeadline(sock, self.fp.detach()))


class _UntilDeadline(io.RawIOBase):
    def __init__(self, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._sock, self._raw = sock, raw
        self._deadline = monotonic() + (sock.gettimeout() or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


def _is_untouched(connection: HTTPConnection) -> bool:
    """Nothing came in since its last answer: neither the end nor bytes that nobody asked for."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return not selector.select(0)
