"""Rows of a store for searches: a table by its name, filtered and in an order; and how many there are.

What an order or a filter asks is the store's to answer, so that a large store is not walked through here. Rows are as
they were last committed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.stretches import FIRST_AT_ONCE, Stretch, next_at_once
from conjoin.runtime.reading.stretches import can_be_walked as walkable
from conjoin.runtime.reading.stretches import stretches as in_stretches
from conjoin.store import tables as t
from conjoin.store.port import BY_KEY, Meets, RowOrder
from conjoin.store.reading import has_deadline
from conjoin.store.sql.dialect import places_of
from conjoin.store.tables import Table

__all__ = [
    "BY_KEY",
    "FIRST_AT_ONCE",
    "Meets",
    "RowOrder",
    "can_be_walked",
    "count",
    "next_at_once",
    "place_of",
    "rows",
    "rows_with",
    "stretches",
    "types_of",
]

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
    order: RowOrder = BY_KEY,
) -> list[Any]:
    return list(broker.store.rows(_TABLES[table], where, after, limit, order))


def stretches(
    broker: Broker, table: str, where: Mapping[str, Any], after: int | None, at_once: int, backward: bool
) -> Iterator[Stretch]:
    """The same rows, so many at a time at most, with how far it was looked; for what `can_be_walked`."""
    return in_stretches(broker.store, _TABLES[table], where, after, at_once, backward)


def can_be_walked(table: str, where: Mapping[str, Any], order: RowOrder) -> bool:
    """There is somebody who waits, and one statement may look at all there is before it answers."""
    return has_deadline() and walkable(_TABLES[table], where, order)


def count(broker: Broker, table: str, where: Mapping[str, Any], most: int) -> int:
    return broker.store.count(_TABLES[table], where, most)


def place_of(table: str, row: Any, order: RowOrder) -> tuple[Any, ...]:
    """Where a row stands in an order: what `rows` goes on after."""
    return tuple(getattr(row, column) for column in places_of(_TABLES[table], order))


def types_of(table: str, order: RowOrder) -> list[type]:
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
