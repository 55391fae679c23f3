"""What people can do with messages of the inbox, by the word that a client uses for it."""

from conjoin.kernel.inbox.operations import (
    Delete,
    Operation,
    OperationRefused,
    Pause,
    Release,
    Resume,
    RetryNow,
    SetAttempts,
    SetNextRetry,
)

__all__ = ["SIMPLE", "Operation", "OperationRefused", "SetAttempts", "SetNextRetry"]

SIMPLE: dict[str, Operation] = {
    "pause": Pause(),
    "resume": Resume(),
    "retry": RetryNow(),
    "release": Release(),
    "delete": Delete(),
}
"""Those that need no more than their name, and can be done to a whole selection."""
