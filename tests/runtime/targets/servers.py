"""A target that is really called: an HTTP server in threads whose way of answering a test sets.

A way gets the handler after the request was read, so it can answer well, badly, slowly or not at all.
"""

import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, NamedTuple

Way = Callable[["Handler"], None]

PATIENCE_S = 10.0
"""How long a test waits for what must happen."""


class Seen(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class FakeTarget(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.way: Way = answering(204)
        self.seen: list[Seen] = []
        self.connections = 0
        self.hung_up = Event()
        self.over = Event()
        """Set at the end of a test; who keeps a caller waiting waits for it."""

    @property
    def url(self) -> str:
        scheme = "https" if isinstance(self.socket, ssl.SSLSocket) else "http"
        return f"{scheme}://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[socket.socket, Any]:
        self.connections += 1
        return super().get_request()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.hung_up.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up is no error here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: FakeTarget

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(Seen(self.command, self.path, dict(self.headers.items()), body))
        self.server.way(self)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""


def answering(status: int, body: bytes | str = b"", **headers: str) -> Way:
    """`Retry_After="3"` is sent as the header Retry-After."""
    raw = body.encode() if isinstance(body, str) else body

    def way(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if status != 204:
            handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    return way


def raw_bytes(sent: bytes) -> Way:
    """These bytes, whatever they mean, and the end of the connection."""

    def way(handler: Handler) -> None:
        handler.wfile.write(sent)
        handler.close_connection = True

    return way


def answering_then_hanging_up(handler: Handler) -> None:
    """A good answer that does not say that the connection is at its end."""
    answering(204)(handler)
    handler.close_connection = True


def hanging_up(handler: Handler) -> None:
    handler.close_connection = True


def resetting(handler: Handler) -> None:
    reset(handler.connection)
    handler.close_connection = True


def saying_nothing(handler: Handler) -> None:
    handler.server.over.wait(PATIENCE_S)
    handler.close_connection = True


def stopping_short(handler: Handler) -> None:
    """A long answer of which only the beginning comes."""
    handler.wfile.write(b"HTTP/1.1 500 Broken\r\nContent-Length: 100000\r\n\r\n" + b"x" * 5_000)
    saying_nothing(handler)


def dripping(handler: Handler) -> None:
    """A byte now and then: no single wait is long, and the answer takes as long as the patience of a test."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(int(PATIENCE_S / 0.02)):
        handler.server.over.wait(0.02)
        handler.wfile.write(b"x")
    handler.wfile.write(b"\r\nContent-Length: 0\r\n\r\n")


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@contextmanager
def running_target(tls: ssl.SSLContext | None = None) -> Iterator[FakeTarget]:
    target = FakeTarget()
    if tls is not None:
        target.socket = tls.wrap_socket(target.socket, server_side=True, do_handshake_on_connect=False)
    thread = Thread(target=target.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield target
    finally:
        target.over.set()
        target.shutdown()
        target.server_close()
        thread.join(PATIENCE_S)


def nobody_there() -> str:
    """The URL of a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"
