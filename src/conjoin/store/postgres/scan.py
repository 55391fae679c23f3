"""A scan on PostgreSQL: a cursor on the server, in a read-only transaction of its own.

The connections of a shard are set up to look keys up. A scan walks tables and takes as long as its reader does, so for
its transaction it sets that aside.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.store.port import Condition
from conjoin.store.postgres.connections import DIALECT, Connections, stoppable
from conjoin.store.sql.scans import scan_statement

_BEGIN = "begin isolation level repeatable read read only"
_SETTINGS = {
    "plan_cache_mode": "auto",
    "enable_seqscan": "on",
    "enable_bitmapscan": "on",
    # All of it will be read, not the first tenth.
    "cursor_tuple_fraction": "1",
    "idle_in_transaction_session_timeout": "0",
}
_SET = "select " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _SETTINGS.items())
_PAGE_ROWS = 1000


def scan(
    connections: Connections, table: str, columns: Sequence[str], where: Sequence[Condition]
) -> Iterator[tuple[Any, ...]]:
    statement, parameters = scan_statement(DIALECT, table, columns, where)
    with connections.borrow() as connection:
        connection.execute(_BEGIN)
        connection.execute(_SET)
        with stoppable(connection), connection.cursor("scan") as cursor:
            cursor.itersize = _PAGE_ROWS
            cursor.execute(statement, parameters, binary=True)
            yield from cursor
        connection.execute("rollback")
