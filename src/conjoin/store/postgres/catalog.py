"""The catalog on PostgreSQL: the schema `catalog`, with a connection for whoever asks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conjoin.store import schema
from conjoin.store.port import Facts
from conjoin.store.postgres.commit_outcome import whole
from conjoin.store.postgres.connections import DIALECT, Connections
from conjoin.store.postgres.schema import missing
from conjoin.store.postgres.writes import puts
from conjoin.store.sql.catalog import CATALOG_QUERIES, CatalogReads
from conjoin.store.tables import Table

_SQL = {name: text.format(p=DIALECT.p) for name, text in CATALOG_QUERIES.items()}

_NOW = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"


class PostgresCatalog(CatalogReads):
    def __init__(self, connections: Connections, check_held: Callable[[], None]) -> None:
        self.place = connections.place
        self._connections = connections
        self._check_held = check_held

    def facts(self) -> Facts:
        facts = self._facts(schema.VERSION)
        if facts is None:
            raise missing(self._connections)
        return facts

    def append(self, version: int, put: Mapping[Table, Sequence[Any]]) -> bool:
        self._check_held()
        with self._connections.borrow() as connection, whole(connection, self.place):
            if connection.execute(_SQL["move_version"], (version,)).rowcount != 1:
                return False
            for table, rows in put.items():
                for statement, parameters in puts(table, rows):
                    connection.execute(statement, parameters)
        return True

    def lease(self, name: str, holder: str, at: int, until: int) -> bool:
        with self._connections.borrow() as connection:
            return connection.execute(_SQL["lease"], (name, holder, until, at, at)).rowcount == 1

    def begin_filling(self, task: str) -> None:
        with self._connections.borrow() as connection:
            connection.execute(_SQL["begin_filling"], (task,))

    def end_filling(self) -> None:
        with self._connections.borrow() as connection:
            connection.execute(_SQL["end_filling"])

    def now(self) -> int:
        with self._connections.borrow() as connection:
            return int(connection.execute(_NOW).fetchall()[0][0])

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._connections.borrow() as connection:
            return connection.execute(_SQL[statement], parameters, prepare=True).fetchall()
