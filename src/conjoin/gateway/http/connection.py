"""A connection of REST that nobody can hold for nothing: heads that do not come and answers that are not read end it.

Bodies have their own time (`reading.py`). The server's class waits for all of these for ever, and answers bytes that
are no request even while it is answering already.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from conjoin.gateway.http.edge import ANSWER_HEADERS
from conjoin.gateway.open_files import shares

HEAD_S = 10.0
"""For the head of a request, from its first byte on or from the connection; and for a body that nobody wants."""
UNREAD_S = 30.0
"""For a client to take something of its answer."""
_BEGINNING = (h11.IDLE, h11.SEND_RESPONSE)
_NO_REQUEST = (
    b'{"type":"about:blank","title":"BAD_REQUEST","status":400,'
    b'"detail":"These bytes are no request of HTTP","instance":""}'
)


class Connection(H11Protocol):
    head_s, unread_s = HEAD_S, UNREAD_S
    _patience: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > shares().rest:
            transport.abort()
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_awaited = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if is_awaited and self._patience is None and not self.transport.is_closing():
            self._wait_for_head()
        elif not is_awaited:
            self._stop_waiting_for_head()

    def _wait_for_head(self) -> None:
        self._patience = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_waiting_for_head(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting_for_head()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_waiting_for_reader()
        self._reader = self.loop.call_later(self.unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting_for_reader()
        super().resume_writing()

    def _stop_waiting_for_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def send_400_response(self, msg: str) -> None:
        """Whoever is answered already cannot be told once more, and whoever answers shall not."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in _BEGINNING:
            self._tell_no_request()
        self.transport.close()

    def _tell_no_request(self) -> None:
        headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
        headers += [(name.lower().encode(), value.encode()) for name, value in ANSWER_HEADERS.items()]
        headers.append((b"content-length", str(len(_NO_REQUEST)).encode()))
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(_NO_REQUEST), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
