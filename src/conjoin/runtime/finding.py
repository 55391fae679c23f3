"""Rows of a store for searches: a table by its name, filtered and in an order; and how many there are.

What an order or a filter asks is the store's to answer, so that a large store is not walked through here. Rows are as
they were last committed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, Meets, Order
from conjoin.store.sql import places_of
from conjoin.store.tables import Table

__all__ = ["BY_KEY", "Meets", "Order", "count", "place_of", "rows", "rows_with", "types_of"]

_TABLES: dict[str, Table] = {
    table.name: table for table in (t.MESSAGE, t.SUBSCRIPTION, t.INSTANCE, t.JOB, t.INCIDENT, t.DEFINITION)
}
_AT_ONCE = 1_000


def rows(
    broker: Broker,
    table: str,
    where: Mapping[str, Any],
    after: tuple[Any, ...] | None,
    limit: int,
    order: Order = BY_KEY,
) -> list[Any]:
    return list(broker.store.rows(_TABLES[table], where, after, limit, order))


def count(broker: Broker, table: str, where: Mapping[str, Any], most: int) -> int:
    return broker.store.count(_TABLES[table], where, most)


def place_of(table: str, row: Any, order: Order) -> tuple[Any, ...]:
    """Where a row stands in an order: what `rows` goes on after."""
    return tuple(getattr(row, column) for column in places_of(_TABLES[table], order))


def types_of(table: str, order: Order) -> list[type]:
    """What the parts of such a place are."""
    known = dict(zip(_TABLES[table].columns, _TABLES[table].types, strict=True))
    return [known[column] for column in places_of(_TABLES[table], order)]


def rows_with(broker: Broker, table: str, keys: Iterable[int]) -> dict[int, Any]:
    """Those of them that are there, by key."""
    wanted: Sequence[int] = list(dict.fromkeys(keys))
    found: dict[int, Any] = {}
    for begin in range(0, len(wanted), _AT_ONCE):
        some = tuple(wanted[begin : begin + _AT_ONCE])
        found.update((row.key, row) for row in broker.store.rows(_TABLES[table], {"key": some}, None, len(some)))
    return found
