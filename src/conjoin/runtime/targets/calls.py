"""A call as values: what is asked, what was answered, and who can turn a message into the one and the other into an
outcome. Nothing here knows of sockets.
"""

from typing import NamedTuple, Protocol

from conjoin.kernel.inbox.message import InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered


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
