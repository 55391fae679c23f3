"""A proxy before the socket of a PostgreSQL server that cuts a connection at a chosen word of the client's.

What becomes of the words from there on is the test's choice: lost, delivered with the answer lost, or held back and
delivered when everybody believes them lost.
"""

import socket
import threading
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from queue import Queue
from urllib.parse import quote

_READY = b"Z\0\0\0\5"
"""How an answer ends, but for a letter."""
_SOCKET = ".s.PGSQL.5432"


class Fate(Enum):
    LOST = auto()
    ANSWER_LOST = auto()
    LATE = auto()


class CuttingProxy:
    """Cuts once; later connections pass."""

    def __init__(self, folder: Path, server: Path, word: bytes, fate: Fate) -> None:
        self.cut = threading.Event()
        self._server = str(server / _SOCKET)
        self._word = word
        self._fate = fate
        self._held: list[tuple[socket.socket, bytes]] = []
        self._ended: set[socket.socket] = set()
        self._unheard: Queue[bytes] = Queue()
        self._folder = folder
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str) -> str:
        return f"postgresql://conjoin@{quote(str(self._folder), safe='')}/{database}"

    def deliver_held(self) -> bytes:
        """What the server says to the words that come late."""
        (server, words), *_ = self._held
        server.sendall(words)
        answer = b""
        while not answer[:-1].endswith(_READY):
            answer += self._unheard.get(timeout=10)
        return answer

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()
            threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        while words := _received(client):
            if self._word in words and not self.cut.is_set():
                self._cut(client, server, words)
                return
            server.sendall(words)
        _end(server)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        while words := _received(server):
            if client in self._ended:
                self._unheard.put(words)
            else:
                client.sendall(words)

    def _cut(self, client: socket.socket, server: socket.socket, words: bytes) -> None:
        """The client's side ends at once; the rest of what it has sent is taken along."""
        self._ended.add(client)
        self.cut.set()
        client.settimeout(0.2)
        while more := _received(client):
            words += more
        if self._fate is Fate.LATE:
            self._held.append((server, words))
        elif self._fate is Fate.ANSWER_LOST:
            server.sendall(words)
        _end(client)
        if self._fate is Fate.LOST:
            _end(server)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except OSError:
        return b""


def _end(connection: socket.socket) -> None:
    """Both who read from it and the other side hear of it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
