"""Counts: what happened in an operation of the inbox, for metrics. They add up."""

from dataclasses import dataclass, fields

from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR, PARKED, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Failed, Outcome


@dataclass(slots=True)
class Counts:
    received: int = 0
    """Brought by a source: all that follow down to dead_lettered, together."""
    ignored: int = 0
    """Of a type that its channel does not want."""
    dropped: int = 0
    """Sent to a channel that is not enabled."""
    accepted: int = 0
    """Readable: persisted, or a duplicate."""
    persisted: int = 0
    duplicate: int = 0
    dead_lettered: int = 0

    correlated: int = 0
    """Taken over by their target."""
    decode_error: int = 0
    mapping_error: int = 0
    target_error: int = 0
    """Attempts that failed, by class; those in the grace time, too."""
    retried: int = 0
    """Attempts that were not the first of their message."""
    parked: int = 0
    expired: int = 0
    removed: int = 0
    """Rows that were over for longer than their retention."""

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, it.name) + getattr(other, it.name) for it in fields(Counts)))

    def note_try(self, message: InboxMessage) -> None:
        """As it is before it is tried."""
        self.retried += message.tried_at is not None

    def note(self, before: InboxMessage, outcome: Outcome, after: InboxMessage) -> None:
        """An outcome that was booked."""
        if isinstance(outcome, Expired):
            self.expired += 1
            return
        self.parked += after.state == PARKED != before.state
        if isinstance(outcome, Delivered):
            self.correlated += 1
        elif isinstance(outcome, Failed) and outcome.kind == DECODE_ERROR:
            self.decode_error += 1
        elif isinstance(outcome, Failed) and outcome.kind == MAPPING_ERROR:
            self.mapping_error += 1
        else:
            self.target_error += 1
