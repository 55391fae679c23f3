"""One PostgreSQL store for many stories: emptied before each, which is much faster than making a new one."""

from collections.abc import Callable

import psycopg

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from conjoin.store.opening import create_store, open_store
from conjoin.store.port import Facts
from conjoin.store.schema import VERSION


class ReusedPostgres:
    def __init__(self, url: str, shards: int) -> None:
        self._url = url
        self._shards = shards
        create_store(url, Facts(shards, "zeebe", VERSION, False)).close()

    def broker(self, clock: Callable[[], int]) -> Broker:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("; ".join(self._emptying()))  # type: ignore[call-overload]
        return Broker(open_store(self._url), clock)

    def _emptying(self) -> list[str]:
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
