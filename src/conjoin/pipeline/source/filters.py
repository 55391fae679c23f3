"""Filters of a query: as conditions for the store, and, for what the store cannot answer, over the columns of a batch.

A filter is either covered by its conditions, or they only leave out what it would leave out anyway. Null is never equal
to, less or more than anything, as in SQL.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as ds
from pyspark.sql.datasource import Filter, In, IsNotNull, IsNull, Not

from conjoin.pipeline.source.columns import TEXT, Column, Condition, Meaning
from conjoin.pipeline.source.tables import SHARD, SourceTable

_ORDER: dict[type[Filter], str] = {
    **{ds.GreaterThan: ">", ds.GreaterThanOrEqual: ">=", ds.LessThan: "<", ds.LessThanOrEqual: "<="}
}
_COMPARE: dict[type[Filter], Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    **{ds.EqualTo: pc.equal, ds.GreaterThan: pc.greater, ds.GreaterThanOrEqual: pc.greater_equal},
    **{ds.LessThan: pc.less, ds.LessThanOrEqual: pc.less_equal},
}


class PushedFilters(NamedTuple):
    """Conditions for the store, the shards to read (None: all), and the filters that are still to be applied."""

    conditions: list[Condition]
    shards: set[int] | None
    left: list[Filter]


_NOTHING = Meaning(is_all=False)


def answered(table: SourceTable, filters: Iterable[Filter]) -> PushedFilters:
    """As much of some filters, all of which have to hold, as the store can answer."""
    found = PushedFilters(list(table.where), None, [])
    for it in filters:
        if isinstance(it, (ds.EqualTo, In)) and column_of(it) == SHARD.name:
            chosen = set(it.value if isinstance(it, In) else [it.value])
            found = found._replace(shards=chosen if found.shards is None else found.shards & chosen)
            continue
        pushed = _pushed(table, it)
        found.conditions.extend(pushed.conditions)
        if not pushed.is_all:
            found.left.append(it)
    return found


def column_of(it: Filter) -> str:
    """The name of the column that a filter is about; empty if it is about a part of one."""
    inner: Any = it.child if isinstance(it, Not) else it
    return inner.attribute[0] if len(inner.attribute) == 1 else ""


def _pushed(table: SourceTable, it: Filter) -> Meaning:
    column = table.columns.get(column_of(it))
    if column is None:
        return _NOTHING
    if column is SHARD:
        return Meaning(is_all=isinstance(it, IsNotNull))
    if column.meanings and not isinstance(it, Not):
        return _meant(column, it)
    if column.derive is not None or column.needs[0] in table.expanded:
        return _NOTHING
    if not isinstance(it, Not):
        return _compared(column, it)
    return _test(column, "<>", it.child.value) if isinstance(it.child, ds.EqualTo) else _NOTHING


def _meant(column: Column, it: Any) -> Meaning:
    """A derived column with a closed set of values: it is never null, and what some of them mean is known."""
    if isinstance(it, IsNotNull):
        return Meaning()
    return column.meanings.get(it.value, _NOTHING) if isinstance(it, ds.EqualTo) else _NOTHING


def _compared(column: Column, it: Any) -> Meaning:
    if isinstance(it, (IsNull, IsNotNull)):
        if column.absence is None:
            return _NOTHING if isinstance(it, IsNull) else Meaning()
        absence = column.absence.is_so if isinstance(it, IsNull) else column.absence.is_not
        return Meaning(((column.needs[0], *absence),))
    if isinstance(it, In):
        return _test(column, "in", [value for value in it.value if value is not None])
    if isinstance(it, (ds.EqualTo, ds.EqualNullSafe)):
        return _test(column, "=", it.value)
    # Texts have an order in Spark, too, but nobody has promised that it is the store's.
    order = None if column.kind is TEXT else _ORDER.get(type(it))
    return _NOTHING if order is None else _test(column, order, it.value)


def _test(column: Column, operator: str, literal: Any) -> Meaning:
    """What stands for nothing in the store is a number like others there: it must not be compared as one."""
    stored = column.kind.stored
    value = [stored(one) for one in literal] if operator == "in" else stored(literal)
    if value is None or (operator == "in" and None in value):
        return _NOTHING
    there = () if column.absence is None else ((column.needs[0], *column.absence.is_not),)
    return Meaning(((column.needs[0], operator, value), *there))


def mask_of(filters: Iterable[Filter], arrays: Mapping[str, pa.Array]) -> pa.Array:
    """Which rows pass all of them; null is no."""
    return reduce(pc.and_, [_mask(it, arrays[column_of(it)]) for it in filters])


def _mask(it: Any, values: pa.Array) -> pa.Array:
    if isinstance(it, IsNull):
        return pc.is_null(values)
    if isinstance(it, IsNotNull):
        return pc.is_valid(values)
    if isinstance(it, In):
        wanted = pa.array(it.value)
        return pc.is_in(values.cast(wanted.type), wanted)
    if isinstance(it, Not):
        return pc.invert(_mask(it.child, values))
    return _COMPARE[type(it)](values, pa.scalar(it.value))
