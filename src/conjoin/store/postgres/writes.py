"""How rows are put and dropped: one statement a table, whatever the number of rows, with an array for each column.

Of the large tables a snapshot notes where the rows lie that it has read. One that is put again is written at its
place, without looking for it; one that would have been read and was not is new. That halves the work of a commit. All
others are put in the place of those with the same key, if there are any. Invariant: a place is good for as long as its
snapshot is: the server moves no row that a transaction can see, and does not let a table be rewritten that it has read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.postgres.arrays import Arrays, arrays, text_array, unnested
from conjoin.store.postgres.dialect import asked_short, short
from conjoin.store.tables import NarrowUpdate, Table

Statement = tuple[str, Sequence[Any]]
_Forms = dict[bool, str]
"""A statement by whether its texts are to be split."""
_T = TypeVar("_T")
_WITHOUT_PLACE = itemgetter(slice(None, -1))
_PLACE = itemgetter(-1)
_KEY_OF: dict[Table, Callable[[Any], Any]] = {t.APART: itemgetter(0, 1, 2), t.INSTANCE: itemgetter(0)}
"""The key columns come first in every row, and a row to drop is its key columns."""


class SeenRows:
    def __init__(self) -> None:
        self._places: dict[Table, dict[Any, str]] = {t.APART: {}, t.INSTANCE: {}}
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

    def statements(self, table: Table, rows: Sequence[Any]) -> Iterator[Statement]:
        """How rows are put."""
        places = self._places.get(table)
        if places or (table is t.APART and self._whole):
            assert places is not None
            # Taken out, so that a row that is put twice is not written twice at one place.
            taken = [places.pop(key, None) for key in map(_KEY_OF[table], rows)]
            there = [row for row, place in zip(rows, taken, strict=True) if place is not None]
            rows = [row for row, place in zip(rows, taken, strict=True) if place is None]
            if there:
                behind_key = itemgetter(slice(len(table.key), None))
                split, values = arrays(behind_key(table.types), map(behind_key, there))
                found = [place for place in taken if place is not None]
                yield _UPDATE[table][split], [text_array(found), *values, len(there)]
            new = [row for row in rows if row[:2] in self._whole] if table is t.APART else []
            if new:
                yield _bulk(_INSERT[table], arrays(table.types, new))
                rows = [row for row in rows if row[:2] not in self._whole]
        yield from puts(table, rows)

    def updates(self, update: NarrowUpdate, rows: Sequence[Any]) -> Iterator[Statement]:
        """Some columns of rows, each at its place; a row that was not read here is looked for."""
        places = self._places[update.table]
        taken = [places.get(row[-1]) for row in rows]
        there = [row[:-1] for row, place in zip(rows, taken, strict=True) if place is not None]
        if there:
            split, values = arrays(update.types[:-1], there)
            found = [place for place in taken if place is not None]
            yield _UPDATE_SOME[update][split], [text_array(found), *values, len(there)]
        others = [row for row, place in zip(rows, taken, strict=True) if place is None]
        if others:
            yield _bulk(_UPDATE_BY_KEY[update], arrays(update.types, others))


def writes(changes: Changes, seen: SeenRows) -> Iterator[Statement]:
    """What is dropped goes first: a key that is both dropped and put stays."""
    for table, keys in changes.drop.items():
        if keys:
            seen.forget(table, keys)
            yield _bulk(_DROP[table], arrays(_KEY_TYPES[table], keys))
    for table, rows in changes.put.items():
        yield from seen.statements(table, rows)
    for update, rows in changes.update.items():
        if rows:
            yield from seen.updates(update, rows)


def puts(table: Table, rows: Sequence[Any]) -> Iterator[Statement]:
    if bytes in table.types:
        # Few and large: each as it is.
        yield from ((_PUT[table][False], row) for row in rows)
    elif rows:
        yield _bulk(_PUT[table], arrays(table.types, rows))


def _bulk(forms: _Forms, parameters: Arrays) -> Statement:
    return forms[parameters.split], parameters.values


def _insert(table: Table, split: bool) -> str:
    if bytes in table.types:
        values = ", ".join("%b" if type_ is bytes else "%s" for type_ in table.types)
        return f"insert into {table.name} values ({values})"
    return f"insert into {table.name} select * from {unnested(table.types, split=split)}"


def _put(table: Table, split: bool) -> str:
    others = ", ".join(f"{column} = excluded.{column}" for column in table.columns if column not in table.key)
    instead = f"update set {others}" if others else "nothing"
    return f"{_insert(table, split)} on conflict ({', '.join(map(short, table.key))}) do {instead}"


def _update_whole(table: Table, split: bool) -> str:
    return _update(NarrowUpdate(table, table.columns[len(table.key) :]), split)


def _update(update: NarrowUpdate, split: bool) -> str:
    """Fails, and the commit with it, unless every row was where it should be."""
    table, columns = update.table, update.columns
    values = unnested(update.types[: len(columns)], split=split, before=["%s::tid[]"])
    return (
        f"with done as (update {table.name} as t set {', '.join(f'{column} = v.{column}' for column in columns)}"
        f" from {values} as v(place, {', '.join(columns)}) where t.ctid = v.place returning 1)"
        " select 1 / (count(*) = %s)::int from done"
    )


def _update_by_key(update: NarrowUpdate, split: bool) -> str:
    """Each is looked for by itself, as in `_drop`."""
    table, columns = update.table, update.columns
    values = f"{unnested(update.types, split=split)} as v({', '.join((*columns, 'row_key'))})"
    found = f"(select t.ctid from {table.name} as t where t.key = v.row_key offset 0)"
    return (
        f"update {table.name} as t set {', '.join(f'{column} = v.{column}' for column in columns)} from"
        f" (select v.*, found.ctid as place from {values} cross join lateral {found} as found) as v"
        " where t.ctid = v.place"
    )


def _drop(table: Table, split: bool) -> str:
    """Each key is looked up by itself, as in `dialect.py`; the large table cannot come first."""
    found = asked_short(" and ".join(f"t.{column} = gone.{column}" for column in table.key))
    return (
        f"delete from {table.name} where ctid = any(array(select t.ctid from"
        f" {unnested(_KEY_TYPES[table], split=split)} as gone({', '.join(table.key)}) cross join lateral"
        f" (select t.ctid from {table.name} as t where {found} offset 0) as t))"
    )


def _forms(statement: Callable[[_T, bool], str], what: _T) -> _Forms:
    return {split: statement(what, split) for split in (False, True)}


_KEY_TYPES = {table: [table.types[table.columns.index(column)] for column in table.key] for table in t.SHARD}
_PUT = {table: _forms(_put, table) for table in (*t.SHARD, *t.DERIVED, *t.CATALOG)}
_INSERT = {t.APART: _forms(_insert, t.APART)}
_UPDATE = {table: _forms(_update_whole, table) for table in (t.APART, t.INSTANCE)}
_UPDATE_SOME = {update: _forms(_update, update) for update in t.UPDATES}
_UPDATE_BY_KEY = {update: _forms(_update_by_key, update) for update in t.UPDATES}
_DROP = {table: _forms(_drop, table) for table in t.SHARD}
