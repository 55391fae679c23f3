"""A proxy before a server that cuts connections: when a request has arrived there, or when it was answered."""

import socket
from contextlib import suppress
from threading import Thread

ARRIVES, ANSWERED = "arrives", "answered"


class CuttingProxy:
    """Passes everything, until it is told to `cut` the next request that has these words, or the next few."""

    def __init__(self, port: int) -> None:
        self.cuts = 0
        self.seen: list[bytes] = []
        """What came from clients."""
        self._port = port
        self._word, self._when, self._left = b"", "", 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        Thread(target=self._accept, daemon=True).start()

    def cut(self, word: bytes, when: str, times: int = 1) -> None:
        self._word, self._when, self._left = word, when, times

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """A request, its answer, and so on; both are small enough to come in one piece or two."""
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            while request := _message(client):
                self.seen.append(request)
                is_cut = self._left > 0 and self._word in request
                if is_cut:
                    self._left -= 1
                    self.cuts += 1
                if is_cut and self._when == ARRIVES:
                    return
                server.sendall(request)
                answer = _message(server)
                if is_cut:
                    return
                client.sendall(answer)


def _message(connection: socket.socket) -> bytes:
    """Headers and a body of the length that they tell, or in chunks."""
    received = b""
    while not _is_whole(received):
        more = connection.recv(1 << 20)
        if not more:
            return b""
        received += more
    return received


def _is_whole(received: bytes) -> bool:
    head, found, body = received.partition(b"\r\n\r\n")
    if not found:
        return False
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    if headers.get(b"transfer-encoding") == b"chunked":
        return body.endswith(b"0\r\n\r\n")
    return len(body) >= int(headers.get(b"content-length", b"0"))
