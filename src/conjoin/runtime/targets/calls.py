"""A call as values: what is asked, what was answered, and who can turn a message into the one and the other into an
outcome. Nothing here knows of sockets.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from conjoin.kernel.inbox.message import InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered


@dataclass(frozen=True, slots=True)
class HttpLimits:
    connect_timeout_ms: int = 5_000
    answer_timeout_ms: int = 30_000
    """For sending the request, and again for the whole answer."""
    calls_in_flight: int = 8
    """More callers wait for their turn."""
    answer_max: int = 1_048_576
    """Bytes; of a longer answer the beginning is kept."""


class CallBroken(Exception):  # noqa: N818 - it is what happened, and nobody's mistake
    """A call without an answer: why, in one line whatever the other side sent, and how far it got."""

    def __init__(self, cause: BaseException, is_connected: bool, is_sent: bool) -> None:
        super().__init__(f"{type(cause).__name__}: {' '.join(str(cause).split())}")
        self.cause, self.is_connected, self.is_sent = cause, is_connected, is_sent


class TargetRequest(NamedTuple):
    """`path` is added to that of the target's address; the body is JSON."""

    method: str
    path: str
    body: bytes


class TargetAnswer(NamedTuple):
    """The two headers are empty where the target sends none. A body that is too long has only its beginning."""

    status: int
    body: bytes = b""
    retry_after: str = ""
    location: str = ""


class TargetDialect(Protocol):
    """What one kind of target asks for, and what its answers mean. Both are pure: the same in, the same out."""

    @property
    def label(self) -> str: ...

    def request_of(self, message: InboxMessage, now: int) -> TargetRequest | Failed: ...

    def outcome_of(self, answer: TargetAnswer) -> Delivered | Failed | Unanswered: ...
