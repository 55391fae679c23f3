"""Connections to PostgreSQL: how one is opened and set up, kept for the next user, and what its errors mean.

Transactions are begun and ended by hand. A connection on which something failed is never used again.
"""

import select
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8Dumper

from conjoin.errors import InputError, StoreDamaged, StoreFailed
from conjoin.shown_urls import shown_url
from conjoin.store import reading
from conjoin.store.postgres.arrays import NumberArray, NumberArrayDumper

_CANCELLED = "57014"
_TOO_MANY = "the server takes no more connections; raise its max_connections or try again"
_STARTING = "the server is just starting or stopping; try again in a moment"
_LET_IN = "the server does not let this user in; look at the user and the password of the address (or PGPASSWORD)"
_MEANINGS = {
    "53100": "the disk of the server is full, and nothing of this was written; make room and try again",
    "53200": "the server has no memory left; give it more or try again",
    "53300": _TOO_MANY,
    "25006": "the server takes no writes; name the primary one",
    "42501": "this user may not do that; give it the right to",
    "57P01": _STARTING,
    "57P02": _STARTING,
    "57P03": _STARTING,
    "58030": "the disk of the server cannot be read or written; look at it and try again",
}
"""By the code of an error."""
_DAMAGED = ("XX001", "XX002", "3F000", "42P01", "42703")
"""A damaged page or index; and a schema, table or column that is not there any more."""
_NOT_CONNECTED = (
    ("password", _LET_IN),
    ("pg_hba.conf", _LET_IN),
    ("authentication", _LET_IN),
    ('role "', "the server does not know this user; name another one in the address, or create it"),
    ('database "', "the server has no such database: create it, then make a store with conjoin store init --store"),
    ("too many", _TOO_MANY),
    ("connection slots", _TOO_MANY),
    ("starting up", _STARTING),
    ("shutting down", _STARTING),
    ("recovery mode", _STARTING),
    ("translate host", "there is no server of that name; look at the address"),
    ("", "the server does not answer; look whether it runs, and at the address"),
)
"""Errors before a connection exists have no code: the first entry whose words are in the text counts."""

_OF_THE_ITEM = ("22", "23", "54")
"""Classes of codes: a value it cannot take, one that breaks a rule of a table, one beyond a limit of the server."""
Connection = psycopg.Connection[tuple[Any, ...]]

_DEFAULTS = {
    "application_name": "conjoin",
    "connect_timeout": "10",
    # A machine that vanished is noticed in a minute, not in hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
_SETTINGS = {"client_encoding": "UTF8", "jit": "off", "tcp_keepalives_idle": "30", "tcp_keepalives_count": "3"}
LOOKING_UP = {
    # Every statement of a snapshot looks keys up, in the order in which it names its tables. A plan is made once,
    # perhaps while the tables are still empty, and must be right when they are large.
    "plan_cache_mode": "force_generic_plan",
    "join_collapse_limit": "1",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "64MB",
    **dict.fromkeys(("enable_seqscan", "enable_bitmapscan", "enable_material"), "off"),
    **dict.fromkeys(("enable_hashjoin", "enable_mergejoin"), "off"),
    # A client that stopped in the middle of a transaction does not hold the others up for ever.
    "idle_in_transaction_session_timeout": "10min",
}


class Connections:
    """Connections with one search path: borrowed, and kept for the next one who asks."""

    def __init__(self, url: str, path: str, **settings: str) -> None:
        self.place = place(url)
        self._url = url
        self._settings = {"search_path": path, **_SETTINGS, **settings}
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        connection = self.take()
        try:
            with translated_errors(self.place):
                yield connection
        except BaseException:  # whatever it was, the state of the connection is unknown
            connection.close()
            raise
        self.give_back(connection)

    def take(self) -> Connection:
        # Appending and popping are atomic, so threads need no lock here.
        while self._idle:
            connection = self._idle.pop()
            if is_usable(connection):
                return connection
            connection.close()
        return self.connect()

    def give_back(self, connection: Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def connect(self) -> Connection:
        given = conninfo_to_dict(self._url)
        with translated_errors(self.place):
            address = make_conninfo(
                self._url, **{name: value for name, value in _DEFAULTS.items() if name not in given}
            )
            try:
                connection = psycopg.connect(address, autocommit=True)
            except psycopg.OperationalError as error:
                raise not_connected(self.place, error) from error
            settings = sql.SQL(", ").join(
                sql.SQL("set_config({}, {}, false)").format(name, value) for name, value in self._settings.items()
            )
            connection.execute(sql.SQL("select ") + settings)
            # One width for all numbers, so that a statement is prepared once.
            connection.adapters.register_dumper(int, Int8Dumper)
            connection.adapters.register_dumper(NumberArray, NumberArrayDumper)
            return connection

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def is_usable(connection: Connection) -> bool:
    """Whether the server has sent nothing to an idle connection: all it sends there is that it ends."""
    if connection.closed:
        return False
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)


def place(url: str) -> str:
    """The address as it may be shown: without the password."""
    # A password with signs that are not escaped would be taken for a host, and shown as one.
    unreadable = InputError([f"{shown_url(url)}: PostgreSQL cannot read this URL; escape the signs in its password"])
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise unreadable from None
    if any("@" in str(given.get(name, "")) for name in ("host", "port", "dbname")):
        raise unreadable
    user = f"{given['user']}@" if "user" in given else ""
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{given.get('host', 'localhost')}{port}/{given.get('dbname', '')}"


def stoppable(connection: Connection) -> AbstractContextManager[None]:
    """Its statements end when the reading of this thread is over."""
    its = reading.current()
    return nullcontext() if its is None else its.stopped_by(connection.cancel)


@contextmanager
def translated_errors(place: str) -> Iterator[None]:
    """Errors of PostgreSQL as errors of ours, which name the place and what to do."""
    try:
        yield
    except (psycopg.DataError, psycopg.IntegrityError):
        # A value that it refuses is no failure of the store, but a mistake of ours about one item.
        raise
    except psycopg.Error as error:
        kind, its = error.sqlstate or "", reading.current()
        if kind[:2] in _OF_THE_ITEM:
            raise
        if kind == _CANCELLED and its is not None:
            raise its.stopped() from error
        if kind in _DAMAGED:
            raise StoreDamaged(place, str(error).strip().splitlines()[0]) from error
        raise StoreFailed(f"{place}: {_MEANINGS.get(kind) or str(error).strip()}") from error


def not_connected(place: str, error: psycopg.OperationalError) -> StoreFailed:
    """The words of the server stay beside ours; they never hold the password."""
    text = " ".join(str(error).rpartition("FATAL:")[2].split())
    meaning = next(meaning for words, meaning in _NOT_CONNECTED if words in text)
    return StoreFailed(f"{place}: {meaning} ({text})")
