"""What people can do with messages of the inbox, by the word that a client uses for it."""

from conjoin.kernel.inbox import operations as o
from conjoin.kernel.inbox.operations import Operation, OperationRefused, SetAttempts, SetNextRetry

__all__ = ["SIMPLE", "Operation", "OperationRefused", "SetAttempts", "SetNextRetry"]

SIMPLE: dict[str, Operation] = {
    **{"pause": o.Pause(), "resume": o.Resume(), "retry": o.RetryNow(), "release": o.Release(), "delete": o.Delete()}
}
"""Those that need no more than their name, and can be done to a whole selection."""
