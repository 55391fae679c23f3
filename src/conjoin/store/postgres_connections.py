"""Connections to PostgreSQL: how one is opened and set up, kept for the next user, and what its errors mean.

Transactions are begun and ended by hand. A connection on which something failed is never used again.
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8Dumper

from conjoin.errors import StoreDamaged, StoreFailed
from conjoin.store.postgres_arrays import NumberArray, NumberArrayDumper
from conjoin.store.sql import Dialect, pieces

# A row that is written again stays on its page, and no index need hear of it.
_ROOM = "with (fillfactor = 85)"


def _like(pattern: str) -> str:
    meant = {"*": "%", "?": "_"}
    return "".join(meant[it] if stands else f"\\{it}" if it in "%_\\" else it for it, stands in pieces(pattern))


DIALECT = Dialect(
    texts="unnest(%s::text[]) as many(value)",
    numbers="unnest(%s::bigint[]) as many(value)",
    p="%s",
    find="strpos",
    # Bytes in their order, as SQLite and Python compare them; and faster than the order of a language.
    schema={"int": "bigint", "text": 'text collate "C"', "blob": "bytea", "clustered": _ROOM, "room": _ROOM},
    like="like",
    pattern=_like,
)
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
    # Whoever stopped in the middle of a transaction does not hold the others up for ever.
    "idle_in_transaction_session_timeout": "10min",
}
_MEANINGS = {
    "53100": "the disk of the server is full, and nothing of this was written; make room and try again",
    "53300": "the server takes no more connections; raise its max_connections or try again",
    "25006": "the server takes no writes; name the primary one",
    "42501": "this user may not do that; give it the right to",
}
_DAMAGED = ("XX001", "XX002")


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
            with told(self.place):
                yield connection
        except BaseException:  # whatever it was, nobody knows in which state it left the connection
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
        with told(self.place):
            address = make_conninfo(
                self._url, **{name: value for name, value in _DEFAULTS.items() if name not in given}
            )
            connection = psycopg.connect(address, autocommit=True)
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
    """Whether the server has said nothing to an idle connection: its only words there are that it ends."""
    if connection.closed:
        return False
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)


def place(url: str) -> str:
    """The address as it may be shown: without the password."""
    parts = {name: value for name, value in conninfo_to_dict(url).items() if name in ("host", "port", "user", "dbname")}
    host, port = parts.get("host", "localhost"), parts.get("port")
    user = f"{parts['user']}@" if "user" in parts else ""
    return f"postgresql://{user}{host}{f':{port}' if port else ''}/{parts.get('dbname', '')}"


@contextmanager
def told(place: str) -> Iterator[None]:
    """What PostgreSQL says, as an error of ours that names the place and what to do."""
    try:
        yield
    except psycopg.Error as error:
        kind = error.sqlstate or ""
        if kind in _DAMAGED:
            raise StoreDamaged(place, str(error).strip()) from error
        raise StoreFailed(f"{place}: {_MEANINGS.get(kind) or str(error).strip()}") from error
