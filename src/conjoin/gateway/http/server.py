"""The HTTP server of REST, in the event loop of everything else, and connections that no client can hold for nothing.

Heads that do not arrive and answers that are not read end a connection; bodies have their own timeout (`reading.py`).
uvicorn's own class waits forever for all of these, takes heads of any size and as many requests at once as a client
sends, and answers bytes that are no request even while it is answering already. Only what asyncio and httptools call is
replaced here, and `send_400_response`.
"""

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conjoin.errors import InputError
from conjoin.gateway.http.edge import ANSWER_HEADERS
from conjoin.gateway.open_files import shares

HEAD_S = 10.0
"""For the head of a request, from its first byte on or from the connection; and for a body that is not read."""
UNREAD_S = 30.0
"""For a client to take something of its answer."""
_MOST_HEAD_BYTES = 64 * 1024
"""Before it is parsed; it also bounds what lies between two chunks of a body or behind the last one."""
_PIECE = 4 * 1024
_MOST_WAITING_BYTES = 1024 * 1024
"""Of requests that were sent before the one in front of them was answered."""
_BODY = (
    b'{"type":"about:blank","title":"BAD_REQUEST","status":400,'
    b'"detail":"These bytes are no request of HTTP","instance":""}'
)
_HEADERS = {"content-type": "application/problem+json", "content-length": str(len(_BODY)), "connection": "close"}
_LINES = [f"{name.lower()}: {value}" for name, value in {**_HEADERS, **ANSWER_HEADERS}.items()]
_NO_REQUEST = "\r\n".join(["HTTP/1.1 400 Bad Request", *_LINES, "", ""]).encode() + _BODY


class Connection(HttpToolsProtocol):
    head_s, unread_s = HEAD_S, UNREAD_S
    _head_timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None
    _waiting = b""
    _has_head = False
    _is_offer = False
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > shares().rest:
            transport.abort()
        else:
            self._head_timer = self.loop.call_later(self.head_s, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """In pieces: only the requests of one piece can be queued behind the one that is being answered."""
        data, self._waiting = self._waiting + data, b""
        for begin in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            if self.pipeline:
                self._waiting = data[begin:]
                self.flow.pause_reading()
                if len(self._waiting) > _MOST_WAITING_BYTES:
                    self.transport.abort()
                break
            self._take(data[begin : begin + _PIECE])
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting_for_head()
        elif self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.head_s, self.transport.abort)

    def _take(self, piece: bytes) -> None:
        self._head_bytes += len(piece)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as offer:
            self._take(self._without_offer() + piece[offer.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")
        else:
            if self._head_bytes > _MOST_HEAD_BYTES:
                self.send_400_response("")

    def _without_offer(self) -> bytes:
        """The head without the upgrade to HTTP/2 that Java offers: the parser would take the body for that protocol."""
        others = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([self.parser.get_method() + b" " + self.url + b" HTTP/1.1", *others, b"", b""])

    def on_message_begin(self) -> None:
        self._has_head = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Trailers, which follow a body, are no part of the head."""
        if not self._has_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._has_head, self._head_bytes = True, 0
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            raise ValueError("a request names one host")
        self._is_offer = self.parser.should_upgrade()
        if self._is_offer and self.parser.get_method() == b"CONNECT":
            raise ValueError("this is no proxy")
        if not self._is_offer:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        if not self._is_offer:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._waiting:
            self.data_received(b"")

    def _stop_waiting_for_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting_for_head()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_waiting_for_reader()
        self._reader_timer = self.loop.call_later(self.unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting_for_reader()
        super().resume_writing()

    def _stop_waiting_for_reader(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def send_400_response(self, msg: str) -> None:
        """Unless an answer has begun: that cannot be followed by another, and is not continued."""
        cycle = self.cycle
        if not self.pipeline and (cycle is None or cycle.response_complete or not cycle.response_started):
            self.transport.write(_NO_REQUEST)
        if cycle is not None:
            cycle.disconnected = True
        self.transport.close()


class RestServer:
    def __init__(self, app: Any, tls: Mapping[str, Any] | None = None) -> None:
        """`tls`: options of uvicorn."""
        quiet: dict[str, Any] = {"lifespan": "off", "log_config": None, "access_log": False, "server_header": False}
        config = uvicorn.Config(app, http=Connection, ws="none", **quiet, **(tls or {}))
        # Their warnings are about what clients send: an offer of HTTP/2, as Java makes one, or bytes that are nothing.
        for name in ("uvicorn.error", "python_multipart"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Returns the port: a free one for 0."""
        listening = _listening(host, port)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)
        return int(listening.getsockname()[1])

    async def stop(self, grace_s: float) -> None:
        """No new requests; open ones may take so long."""
        if self._task is None:
            return
        self._server.config.timeout_graceful_shutdown = int(grace_s)
        self._server.should_exit = True
        await self._task


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that asyncio sends at once what it accepts from it; otherwise each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InputError([f"{host}:{port} cannot be listened on: {error.strerror}"]) from None
    return listening
