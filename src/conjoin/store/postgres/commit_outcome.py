"""A commit whose answer was lost with the connection: it is found out whether it happened, never guessed.

First the shard's row is written as it is. That waits for a transaction that is still at it, and one that read the row
before can no longer write it: from then on the old commit has happened or never will. Then its version is looked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import psycopg

from conjoin.errors import OutcomeUnknown, StoreFailed
from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.postgres.connections import Connection, Connections
from conjoin.store.rows import LogRow

PATIENCE_S = 30.0
"""How long a server may take to come back before the doubt is handed on."""
_PAUSE_S = 0.1
_FENCE = "update shard set version = version returning version"
_LOGGED = f"select {', '.join(t.LOG.columns)} from log where version = %s"


def was_committed(connections: Connections, changes: Changes) -> bool:
    """Raises OutcomeUnknown when it cannot be found out."""
    version = changes.head.version
    unknown = OutcomeUnknown(f"{connections.place}: the connection was lost in the middle of commit {version}")
    deadline = monotonic() + PATIENCE_S
    while True:
        try:
            with connections.borrow() as connection:
                reached = connection.execute(_FENCE).fetchall()[0][0]
                found = connection.execute(_LOGGED, (version,)).fetchall()
            break
        except StoreFailed as error:
            if monotonic() > deadline:
                raise unknown from error
            sleep(_PAUSE_S)
    outcome = changes.are_committed(reached, LogRow._make(found[0]) if found else None)
    if outcome is None:
        raise unknown
    return outcome


@contextmanager
def whole(connection: Connection, place: str) -> Iterator[None]:
    """A transaction, all of it or nothing; which, is unknown where the connection is lost at its end."""
    try:
        with connection.transaction():
            yield
    except psycopg.OperationalError as error:
        if connection.closed:
            raise OutcomeUnknown(f"{place}: the connection was lost while it was written") from error
        raise
