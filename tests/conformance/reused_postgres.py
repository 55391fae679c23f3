"""One PostgreSQL store for many stories: kept open and emptied before each, which is much faster than a new one."""

from collections.abc import Callable

import psycopg

from conjoin.runtime.broker import Broker
from conjoin.store.opening import create_store
from conjoin.store.port import Facts
from conjoin.store.schema import VERSION
from tests.store.postgres_server import emptying


class _Guest(Broker):
    def close(self) -> None:
        """The store stays open for the next one."""
        self.post.close()


class ReusedPostgres:
    def __init__(self, url: str, shards: int) -> None:
        self._store = create_store(url, Facts(shards, "zeebe", VERSION, False))
        self._connection = psycopg.connect(url, autocommit=True)
        self._emptying = emptying(shards)

    def broker(self, clock: Callable[[], int], profile: str) -> Broker:
        self._connection.execute(self._emptying)
        self._store.facts = self._store.facts._replace(profile=profile)
        return _Guest(self._store, clock)

    def close(self) -> None:
        self._connection.close()
        self._store.close()
