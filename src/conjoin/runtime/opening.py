"""A broker by the address of its store; for tests, one on a store that is gone when it is closed."""

from pathlib import Path

from conjoin.runtime.broker import Broker
from conjoin.runtime.clock import Clock, SteadyClock
from conjoin.runtime.engine.business_ids import refuse_unless_one
from conjoin.store.opening import create_store, open_store
from conjoin.store.port import Facts
from conjoin.store.schema import VERSION
from conjoin.store.sqlite.store import SqliteStore

now_us = SteadyClock()
"""The clock of this process."""


def open_broker(address: str | Path, clock: Clock = now_us) -> Broker:
    return Broker(open_store(address), clock)


def create_broker(
    address: str | Path, shards: int, clock: Clock = now_us, profile: str = "zeebe", unique_business_ids: bool = False
) -> Broker:
    return Broker(create_store(address, _facts(shards, profile, unique_business_ids)), clock)


def temporary_broker(
    shards: int, clock: Clock = now_us, profile: str = "zeebe", unique_business_ids: bool = False
) -> Broker:
    """On SQLite in a temporary folder."""
    return Broker(SqliteStore.temporary(_facts(shards, profile, unique_business_ids)), clock)


def temporary_postgres_broker(
    server: str, shards: int, clock: Clock = now_us, profile: str = "zeebe", unique_business_ids: bool = False
) -> Broker:
    """In a database of its own beside the one that the URL names; it is dropped when the broker is closed."""
    from conjoin.store.postgres.store import temporary_store

    return Broker(temporary_store(server, _facts(shards, profile, unique_business_ids)), clock)


def _facts(shards: int, profile: str, unique_business_ids: bool) -> Facts:
    if unique_business_ids:
        refuse_unless_one(shards)
    return Facts(shards, profile, VERSION, unique_business_ids)
