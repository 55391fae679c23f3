"""Who works on a store in PostgreSQL: an advisory lock of a session of its own, which ends with its connection.

Everybody who writes holds it shared; who needs the store alone holds it exclusively. A session that was cut, by a
restart of the server or by an administrator, holds nothing any more: a writer looks first (`Holding.check`), and
takes the lock again or does not write. That costs no statement: the end of a session shows on its own socket.
"""

from threading import Lock
from time import monotonic

from conjoin.errors import ConjoinError, StoreInUse
from conjoin.store.postgres.connections import Connection, Connections, is_usable, translated_errors
from conjoin.store.sqlite.data_folder import in_use

_NUMBER = 0x636F6E6A6F696E + 1
_HOLDERS = """
select a.application_name, a.pid, coalesce(a.client_hostname, host(a.client_addr), 'the server''s machine'),
       to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS+00:00')
from pg_locks l join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.database = (
    select oid from pg_database where datname = current_database()
) and (l.classid::bigint << 32) + l.objid::bigint = %s and a.pid <> pg_backend_pid()
order by a.backend_start
"""
_PAUSE_S = 0.5
"""After a failure: many threads check, and connecting may take its time."""


class Holding:
    """What one process holds. Any thread may check it. Raises StoreInUse at once when others are in the way."""

    def __init__(self, connections: Connections, task: str, alone: bool) -> None:
        self._connections = connections
        self._task = task
        self._alone = alone
        self._turn = Lock()
        self._failed: tuple[float, ConjoinError] | None = None
        self._connection = self._taken()

    def check(self) -> None:
        """Take it again if its session is over. Raises, with who is in the way, if that cannot be."""
        if is_usable(self._connection):
            return
        with self._turn:
            if is_usable(self._connection):
                return
            if self._failed is not None and monotonic() < self._failed[0] + _PAUSE_S:
                raise self._failed[1].with_traceback(None)
            if self._alone:
                raise StoreInUse(f"{self._connections.place}: the lock of {self._task} was lost: begin it again")
            try:
                connection = self._taken()
            except ConjoinError as error:
                self._failed = monotonic(), error
                raise
            self.close()
            self._connection, self._failed = connection, None

    def _taken(self) -> Connection:
        connection, place = self._connections.connect(), self._connections.place
        try:
            with translated_errors(place):
                connection.execute("select set_config('application_name', %s, false)", (self._task,))
                shared = "" if self._alone else "_shared"
                if not connection.execute(f"select pg_try_advisory_lock{shared}(%s)", (_NUMBER,)).fetchall()[0][0]:
                    found = connection.execute(_HOLDERS, (_NUMBER,)).fetchall()
                    holders = [f"{task} (session {pid} from {host}, since {at})" for task, pid, host, at in found]
                    raise StoreInUse(in_use(place, holders, alone=self._alone))
        except BaseException:  # whatever it was, the session must not live on
            connection.close()
            raise
        return connection

    def close(self) -> None:
        self._connection.close()
