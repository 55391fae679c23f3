"""PostgreSQL: one database a store, for more than one machine. People query the views in its schema `conjoin`.

A store object may be used from several threads, one thread a shard, and many processes may open the same database.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from conjoin.store import reading
from conjoin.store import tables as t
from conjoin.store.catalog import CATALOG_QUERIES, CatalogStore
from conjoin.store.port import BY_KEY, Facts, RowOrder, Where
from conjoin.store.postgres.commit_outcome import whole
from conjoin.store.postgres.connections import LOOKING_UP, Connections, stoppable
from conjoin.store.postgres.dialect import DIALECT
from conjoin.store.postgres.in_use import Holding
from conjoin.store.postgres.schema import CATALOG, VIEWS, make_store, migrate_store, missing, schema_name
from conjoin.store.postgres.shard import PostgresShard
from conjoin.store.postgres.whole_tables import FrozenSchemas, frozen_schemas
from conjoin.store.postgres.writes import puts
from conjoin.store.tables import Table

_SQL = {name: text.format(p=DIALECT.p) for name, text in CATALOG_QUERIES.items()}
_NOW = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"


class PostgresCatalog(CatalogStore):
    """The schema `catalog`, with a connection for each call."""

    def __init__(self, connections: Connections, check_held: Callable[[], None]) -> None:
        self.place = connections.place
        self._connections = connections
        self._check_held = check_held

    def facts(self) -> Facts:
        facts = self._facts()
        if facts is None:
            raise missing(self._connections)
        return Facts(*facts)

    def append(self, version: int, put: Mapping[Table, Sequence[Any]]) -> bool:
        self._check_held()
        with self._connections.borrow() as connection, whole(connection, self.place):
            if connection.execute(_SQL["move_version"], (version,)).rowcount != 1:
                return False
            for table, rows in put.items():
                for statement, parameters in puts(table, rows):
                    connection.execute(statement, parameters)
        return True

    def now(self) -> int:
        with self._connections.borrow() as connection:
            return int(connection.execute(_NOW).fetchall()[0][0])

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._connections.borrow() as connection:
            return connection.execute(_SQL[statement], parameters, prepare=True).fetchall()

    def _write(self, statement: str, *parameters: Any) -> int:
        with self._connections.borrow() as connection:
            return connection.execute(_SQL[statement], parameters).rowcount


class PostgresStore:
    def __init__(self, url: str) -> None:
        self.address = url
        self.lists_go_on = False
        self._holdings: list[Holding] = []
        self._connections = _connections(url)
        self._stoppable = _connections(url)
        migrate_store(self._connections)
        self.catalog = PostgresCatalog(self._connections, self.check_held)
        self.facts = self.catalog.facts()
        self._shards = [
            PostgresShard(index, Connections(url, schema_name(index), **LOOKING_UP), self.check_held)
            for index in range(self.facts.shards)
        ]

    @classmethod
    def create(cls, url: str, facts: Facts) -> "PostgresStore":
        connections = _connections(url)
        try:
            make_store(connections, facts)
        finally:
            connections.close()
        return cls(url)

    def shard(self, index: int) -> PostgresShard:
        return self._shards[index]

    def rows(
        self, table: Table, where: Where, after: tuple[Any, ...] | None, limit: int, order: RowOrder = BY_KEY
    ) -> Iterable[Any]:
        assert after is None or table in t.PAGED, f"{table.name} has no keys to page by"
        return list(map(table.row._make, self._asked(*DIALECT.list_rows(table, where, after, limit, order))))

    def count(self, table: Table, where: Where, most: int) -> int:
        [(found,)] = self._asked(*DIALECT.count_rows(table, where, most))
        return int(found)

    def _asked(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        its = reading.current()
        if its is None:
            with self._connections.borrow() as connection:
                return connection.execute(statement, parameters).fetchall()
        with self._stoppable.borrow() as connection, stoppable(connection):
            # A cancel may come just too early to be noticed, and a part of a reading has a deadline of its own.
            connection.execute(f"set statement_timeout = {int(its.left_s * 1_000) + 1}")
            return connection.execute(statement, parameters).fetchall()

    def frozen(self) -> AbstractContextManager[FrozenSchemas]:
        """Commits do not wait for it."""
        return frozen_schemas(self._connections)

    @contextmanager
    def held(self, task: str, *, alone: bool = False) -> Iterator[None]:
        holding = Holding(self._connections, task, alone)
        self._holdings.append(holding)
        try:
            yield
        finally:
            self._holdings.remove(holding)
            holding.close()

    def check_held(self) -> None:
        for holding in tuple(self._holdings):
            holding.check()

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
            shard.connections.close()
        self._stoppable.close()
        self._connections.close()


def _connections(url: str) -> Connections:
    return Connections(url, f"{CATALOG}, {VIEWS}")


class TemporaryPostgresStore(PostgresStore):
    """For tests: a database of its own on a server, dropped when the store is closed."""

    _server = ""

    def close(self) -> None:
        super().close()
        _execute(self._server, f"drop database if exists {urlsplit(self.address).path[1:]} with (force)")


def temporary_store(server: str, facts: Facts) -> PostgresStore:
    name = f"conjoin_{uuid4().hex}"
    _execute(server, f"create database {name}")
    url = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    store = TemporaryPostgresStore.create(url, facts)
    assert isinstance(store, TemporaryPostgresStore)
    store._server = server
    return store


def _execute(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)
