"""The carrier: takes a request to an address and brings the answer back, or says how far it got.

It does not know what is asked. Before the last byte of a request is out, the target cannot have the message: the call
has failed. After that, until the answer is read, nobody knows: it is unanswered. It follows no redirects, reads no
more of an answer than it must, and makes no more calls at once than it may.
"""

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, IncompleteRead
from threading import BoundedSemaphore

from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest
from conjoin.runtime.targets.connections import HttpConnections, read_address
from conjoin.runtime.targets.credentials import Credentials


@dataclass(frozen=True, slots=True)
class HttpLimits:
    connect_timeout_ms: int = 5_000
    answer_timeout_ms: int = 30_000
    """For sending the request, and again for the whole answer."""
    calls_in_flight: int = 8
    """More callers wait for their turn."""
    answer_max: int = 1_048_576
    """Bytes; of a longer answer the beginning is kept."""


class HttpCarrier:
    """Any number of threads may call at once. ValueError: the URL cannot be used."""

    def __init__(self, url: str, credentials: Credentials | None = None, limits: HttpLimits | None = None) -> None:
        self.address = read_address(url)
        self.credentials = credentials or Credentials()
        self._limits = limits or HttpLimits()
        self._connections = HttpConnections(self.address, self._limits.connect_timeout_ms / 1_000)
        self._slots = BoundedSemaphore(self._limits.calls_in_flight)

    def call(self, request: TargetRequest) -> TargetAnswer | Failed | Unanswered:
        with self._slots:
            try:
                connection = self._connections.take()
            except OSError as error:
                return Failed(TARGET_ERROR, f"{self.address} cannot be reached; nothing was sent{_cause(error)}")
            outcome = self._exchange(connection, request)
            if not isinstance(outcome, TargetAnswer):
                connection.close()
            return outcome

    def close(self) -> None:
        self._connections.close()

    def _exchange(self, connection: HTTPConnection, request: TargetRequest) -> TargetAnswer | Failed | Unanswered:
        try:
            self._send(connection, request)
        except OSError as error:
            return Failed(TARGET_ERROR, f"{self.address} broke off before the request was sent{_cause(error)}")
        try:
            return self._answer(connection)
        except (OSError, HTTPException) as error:
            return Unanswered(f"{self.address} was asked and did not answer; it may have the message{_cause(error)}")

    def _send(self, connection: HTTPConnection, request: TargetRequest) -> None:
        connection.sock.settimeout(self._limits.answer_timeout_ms / 1_000)
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "conjoin"}
        authorization = self.credentials.header()
        if authorization:
            headers["Authorization"] = authorization
        connection.request(request.method, self.address.path + request.path, request.body, headers)

    def _answer(self, connection: HTTPConnection) -> TargetAnswer:
        most = self._limits.answer_max
        response = connection.getresponse()
        body = response.read(most + 1)
        if response.length and len(body) <= most:
            raise IncompleteRead(body, response.length)
        if not response.isclosed():
            # The rest is not worth reading, and would stand before the next answer.
            response.close()
            connection.close()
        self._connections.give_back(connection)
        waiting, location = response.getheader("Retry-After", ""), response.getheader("Location", "")
        return TargetAnswer(response.status, body[:most], waiting, location)


def _cause(error: Exception) -> str:
    """In one line, even where the error repeats what the other side has sent."""
    return f"\nCaused by: {type(error).__name__}: {' '.join(str(error).split())}"
