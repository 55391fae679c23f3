"""One PostgreSQL store for many stories: kept open and emptied before each, which is much faster than a new one."""

from collections.abc import Callable

import psycopg

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from conjoin.store.opening import create_store
from conjoin.store.port import Facts
from conjoin.store.schema import VERSION


class _Guest(Broker):
    def close(self) -> None:
        """The store stays open for the next one."""
        self.post.close()


class ReusedPostgres:
    def __init__(self, url: str, shards: int) -> None:
        self._shards = shards
        self._store = create_store(url, Facts(shards, "zeebe", VERSION, False))
        self._connection = psycopg.connect(url, autocommit=True)
        self._emptying = "; ".join(self._statements()).encode()

    def broker(self, clock: Callable[[], int]) -> Broker:
        self._connection.execute(self._emptying)
        return _Guest(self._store, clock)

    def close(self) -> None:
        self._connection.close()
        self._store.close()

    def _statements(self) -> list[str]:
        tables = [f"catalog.{table.name}" for table in t.CATALOG]
        tables += [f"shard_{shard:02}.{table.name}" for shard in range(self._shards) for table in t.SHARD]
        heads = [
            f"shard_{shard:02}.shard set version = 0, next_key = 1, time = 0, sent = 0" for shard in range(self._shards)
        ]
        # Not truncated: each would be a new file, and they are all small.
        return [
            *(f"delete from {table}" for table in tables),
            *(f"update {head}" for head in ("catalog.catalog set version = 0", *heads)),
        ]
