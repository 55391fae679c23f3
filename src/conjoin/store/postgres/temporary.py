"""A PostgreSQL store for tests: a database of its own on a server, dropped when the store is closed."""

from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from conjoin.store.port import Facts
from conjoin.store.postgres.store import PostgresStore


class TemporaryPostgresStore(PostgresStore):
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
