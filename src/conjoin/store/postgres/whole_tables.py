"""Reading whole tables on PostgreSQL, by cursors on the server in a REPEATABLE READ transaction: scans and backups.

The connections of a shard are set up to look keys up. A scan walks tables and takes as long as its reader does, so for
its transaction it sets that aside. A backup sees all schemas of a store at one instant, beside the commits.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from conjoin.store.port import Condition, Head
from conjoin.store.postgres.connections import Connection, Connections, stoppable, translated_errors
from conjoin.store.postgres.dialect import DIALECT
from conjoin.store.postgres.schema import CATALOG, schema_name
from conjoin.store.tables import Table

_BEGIN = "begin isolation level repeatable read read only"
_HEAD = DIALECT.statements()["head"]
_PAGE_ROWS = 5000
_SETTINGS = {
    "plan_cache_mode": "auto",
    "enable_seqscan": "on",
    "enable_bitmapscan": "on",
    # All of it will be read, not the first tenth.
    "cursor_tuple_fraction": "1",
    "idle_in_transaction_session_timeout": "0",
}
_SET = "select " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _SETTINGS.items())
_SCANNED_ROWS = 1000


class FrozenSchemas:
    """Rows are streamed, a page at a time; nothing more is held in memory."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection = connection
        self._place = place
        self._numbers = count()

    def head(self, shard: int) -> Head:
        with translated_errors(self._place):
            self._look_at(schema_name(shard))
            return Head._make(self._connection.execute(_HEAD).fetchall()[0])

    def rows(self, shard: int, table: Table) -> Iterator[Any]:
        return self._stream(schema_name(shard), table)

    def catalog_rows(self, table: Table) -> Iterator[Any]:
        return self._stream(CATALOG, table)

    def _stream(self, schema: str, table: Table) -> Iterator[Any]:
        """A cursor on the server, so that several tables can be read side by side."""
        statement, parameters = DIALECT.list_rows(table)
        with translated_errors(self._place), self._connection.cursor(f"frozen_{next(self._numbers)}") as cursor:
            cursor.itersize = _PAGE_ROWS
            self._look_at(schema)
            cursor.execute(statement, parameters)
            yield from map(table.row._make, cursor)

    def _look_at(self, schema: str) -> None:
        self._connection.execute(f"set local search_path to {schema}")


@contextmanager
def frozen_schemas(connections: Connections) -> Iterator[FrozenSchemas]:
    with connections.borrow() as connection:
        connection.execute(_BEGIN)
        # The transaction sees the instant of its first read.
        connection.execute("select 1").fetchall()
        yield FrozenSchemas(connection, connections.place)
        connection.execute("rollback")


def scan(
    connections: Connections, table: str, columns: Sequence[str], where: Sequence[Condition]
) -> Iterator[tuple[Any, ...]]:
    statement, parameters = DIALECT.scan(table, columns, where)
    with connections.borrow() as connection:
        connection.execute(_BEGIN)
        connection.execute(_SET)
        with stoppable(connection), connection.cursor("scan") as cursor:
            cursor.itersize = _SCANNED_ROWS
            cursor.execute(statement, parameters, binary=True)
            yield from cursor
        connection.execute("rollback")
