"""Rows of a store by the name of their table: by key, by conditions, and how many there are, as last committed.

The store filters and counts, so that a large one is not read through here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, Meets, RowOrder, Store
from conjoin.store.rows import MessageRow
from conjoin.store.tables import Table

__all__ = ["BY_KEY", "TABLES", "Meets", "RowOrder", "count", "message_with_key", "rows", "rows_with"]

TABLES: dict[str, Table] = {
    table.name: table for table in (t.MESSAGE, t.SUBSCRIPTION, t.INSTANCE, t.JOB, t.INCIDENT, t.DEFINITION)
}
_AT_ONCE = 1_000


def rows(broker: Broker, table: str, where: Mapping[str, Any], limit: int, order: RowOrder = BY_KEY) -> list[Any]:
    return list(broker.store.rows(TABLES[table], where, None, limit, order))


def count(broker: Broker, table: str, where: Mapping[str, Any], most: int) -> int:
    return broker.store.count(TABLES[table], where, most)


def rows_with(broker: Broker, table: str, keys: Iterable[int]) -> dict[int, Any]:
    """Those of them that are there, by key."""
    wanted = tuple(dict.fromkeys(keys))
    found: dict[int, Any] = {}
    for begin in range(0, len(wanted), _AT_ONCE):
        some = wanted[begin : begin + _AT_ONCE]
        found.update((row.key, row) for row in broker.store.rows(TABLES[table], {"key": some}, None, len(some)))
    return found


def message_with_key(store: Store, key: int) -> MessageRow | None:
    return next(iter(store.rows(t.MESSAGE, {"key": key}, None, 1)), None)
