"""A connection of REST that nobody can hold for nothing: heads that do not come and answers that are not read end it.

Bodies have their own time (`reading.py`). The server's class waits for all of these for ever, takes heads of any size
and as many requests at once as a client sends, and answers bytes that are no request even while it is answering
already. Only what asyncio and httptools call is replaced here, and `send_400_response`.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conjoin.gateway.http.edge import ANSWER_HEADERS
from conjoin.gateway.open_files import shares

HEAD_S = 10.0
"""For the head of a request, from its first byte on or from the connection; and for a body that nobody wants."""
UNREAD_S = 30.0
"""For a client to take something of its answer."""
_MOST_HEAD_BYTES = 64 * 1024
"""Before it is looked at; what lies between two pieces of a body or behind the last one is no more."""
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
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """In pieces: only the requests of one piece can stand in line behind the one that is answered."""
        data, self._waiting = self._waiting + data, b""
        for begin in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            if self.pipeline:
                self._keep(data[begin:])
                break
            self._take(data[begin : begin + _PIECE])
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting_for_head()
        elif self._head_timer is None and not self.transport.is_closing():
            self._wait_for_head()

    def _keep(self, data: bytes) -> None:
        self._waiting = data
        self.flow.pause_reading()
        if len(data) > _MOST_WAITING_BYTES:
            self.transport.abort()

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
        """The head again: the parser takes what follows an offer of another protocol, as Java makes one, for that."""
        others = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([self.parser.get_method() + b" " + self.url + b" HTTP/1.1", *others, b"", b""])

    def on_message_begin(self) -> None:
        self._has_head = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Those behind a body are of no use, and no part of the head."""
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

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self.transport.abort)

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
        """Whoever is answered already cannot be told once more, and whoever answers shall not."""
        cycle = self.cycle
        if not self.pipeline and (cycle is None or cycle.response_complete or not cycle.response_started):
            self.transport.write(_NO_REQUEST)
        if cycle is not None:
            cycle.disconnected = True
        self.transport.close()
