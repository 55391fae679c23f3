"""What a snapshot has read of the large tables, and where it lies on their pages.

A row that was read and is put again is written at its place, without looking for it; one that would have been read and
was not is new. That halves the work of a commit. Invariant: a place is good for as long as its snapshot is: the
server moves no row that a transaction can see, and lets nobody rewrite a table that it has read.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from conjoin.store import tables as t
from conjoin.store.tables import Table

_WITHOUT_PLACE = itemgetter(slice(None, -1))
_PLACE = itemgetter(-1)
_KEY_OF: dict[Table, Callable[[Any], Any]] = {t.SUBSCRIPTION: itemgetter(0, 1, 2), t.INSTANCE: itemgetter(0)}
"""The key columns come first in every row, and a row to drop is its key columns."""


class RowsByWrite(NamedTuple):
    """Rows to put, by how they are written."""

    places: Sequence[str]
    there: Sequence[Any]
    """Those at these places."""
    new: Sequence[Any]
    unknown: Sequence[Any]


class SeenRows:
    def __init__(self) -> None:
        self._places: dict[Table, dict[Any, str]] = {t.SUBSCRIPTION: {}, t.INSTANCE: {}}
        self._whole: set[tuple[str, str]] = set()

    def note(self, table: Table, found: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Rows that came with their places, without them."""
        self._places[table].update(zip(map(_KEY_OF[table], found), map(_PLACE, found), strict=True))
        return list(map(table.row._make, map(_WITHOUT_PLACE, found)))

    def note_whole(self, tenant_id: str, keys: Iterable[str]) -> None:
        """All subscriptions under these correlation keys were read: whatever else is put there is new."""
        self._whole.update((tenant_id, key) for key in keys)

    def forget(self, table: Table, keys: Iterable[tuple[Any, ...]]) -> None:
        """What is dropped and put again in one commit is at its place no more."""
        places = self._places.get(table)
        if places:
            for key in map(_KEY_OF[table], keys):
                places.pop(key, None)

    def sort(self, table: Table, rows: Sequence[Any]) -> RowsByWrite:
        places = self._places.get(table)
        if not places and not (table is t.SUBSCRIPTION and self._whole):
            return RowsByWrite((), (), (), rows)
        assert places is not None
        # Taken out, so that a row that is put twice is not written twice at one place.
        taken = [places.pop(key, None) for key in map(_KEY_OF[table], rows)]
        there = [row for row, place in zip(rows, taken, strict=True) if place is not None]
        others = [row for row, place in zip(rows, taken, strict=True) if place is None]
        new = [row for row in others if row[:2] in self._whole] if table is t.SUBSCRIPTION else []
        unknown = [row for row in others if row[:2] not in self._whole] if new else others
        return RowsByWrite([place for place in taken if place is not None], there, new, unknown)
