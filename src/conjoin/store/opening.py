"""A store by its address: a PostgreSQL URL, or the data directory of a SQLite store."""

from importlib import import_module
from pathlib import Path
from typing import Any, cast

from conjoin.errors import ExtraMissing
from conjoin.store.port import Facts, Store
from conjoin.store.sqlite.store import SqliteStore


def open_store(address: str | Path) -> Store:
    """Raises StoreMissing where there is none, StoreTooNew where a newer Conjoin wrote it."""
    if _is_url(address):
        return cast(Store, _postgres()(str(address)))
    return SqliteStore(Path(address))


def create_store(address: str | Path, facts: Facts) -> Store:
    """A new, empty store. Raises StoreExists where there is one."""
    if _is_url(address):
        return cast(Store, _postgres().create(str(address), facts))
    return SqliteStore.create(Path(address), facts)


def _is_url(address: str | Path) -> bool:
    return isinstance(address, str) and address.startswith(("postgres://", "postgresql://"))


def _postgres() -> Any:
    """Not imported at the top: psycopg is an extra of the installation."""
    try:
        import_module("psycopg")
    except ImportError as error:
        raise ExtraMissing("PostgreSQL", "psycopg", "postgres") from error
    return import_module("conjoin.store.postgres.store").PostgresStore
