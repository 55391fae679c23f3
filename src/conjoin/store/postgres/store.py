"""PostgreSQL: one database a store, for more than one machine. People query the views in its schema `conjoin`.

A store object may be used from several threads, one thread a shard, and many processes may open the same database.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from conjoin.store import reading
from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, CatalogStore, Facts, RowOrder
from conjoin.store.postgres.catalog import PostgresCatalog
from conjoin.store.postgres.connections import DIALECT, Connections, stoppable
from conjoin.store.postgres.in_use import Holdings
from conjoin.store.postgres.schema import CATALOG, VIEWS, make_store, migrate_store
from conjoin.store.postgres.shard import PostgresShard, shard_connections
from conjoin.store.postgres.whole_tables import FrozenSchemas, frozen_schemas
from conjoin.store.tables import Table


class PostgresStore:
    def __init__(self, url: str) -> None:
        self.address = url
        self.lists_go_on = False
        self._holdings = Holdings()
        self._connections = _connections(url)
        self._stoppable = _connections(url)
        migrate_store(self._connections)
        catalog = PostgresCatalog(self._connections, self.check_held)
        self.catalog: CatalogStore = catalog
        self.facts = catalog.facts()
        self._shards = [
            PostgresShard(index, shard_connections(url, index), self.check_held) for index in range(self.facts.shards)
        ]

    @classmethod
    def create(cls, url: str, facts: Facts) -> "PostgresStore":
        connections = _connections(url)
        try:
            make_store(connections, facts)
        finally:
            connections.close()
        return cls(url)

    @classmethod
    def open(cls, url: str) -> "PostgresStore":
        return cls(url)

    def shard(self, index: int) -> PostgresShard:
        return self._shards[index]

    def rows(
        self,
        table: Table,
        where: Mapping[str, Any],
        after: tuple[Any, ...] | None,
        limit: int,
        order: RowOrder = BY_KEY,
    ) -> Iterable[Any]:
        """Catalog tables too. Rows that are no state have keys of their own in each shard and come in one page."""
        assert after is None or table in t.PAGED, f"{table.name} has no keys to page by"
        return list(map(table.row._make, self._asked(*DIALECT.list_rows(table, where, after, limit, order))))

    def count(self, table: Table, where: Mapping[str, Any], most: int) -> int:
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
        """All shards and the catalog at one instant. Nobody waits for it."""
        return frozen_schemas(self._connections)

    def held(self, task: str, *, alone: bool = False) -> AbstractContextManager[None]:
        return self._holdings.held(self._connections, task, alone=alone)

    def check_held(self) -> None:
        self._holdings.check()

    def checkpoint(self, index: int) -> None:
        """The server does that by itself."""

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
            shard.connections.close()
        self._stoppable.close()
        self._connections.close()


def _connections(url: str, **settings: str) -> Connections:
    return Connections(url, f"{CATALOG}, {VIEWS}", **settings)


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
