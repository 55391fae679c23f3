"""Columns of the tables that Spark reads: their types, and what the store is asked for to fill them.

Most are a column of the store under the name that people use. Where the store writes a number for nothing (0 for no
key, the end of time for never), Spark sees null. Others are derived from the store's columns, a batch at a time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from conjoin.kernel.storable import is_text
from conjoin.pipeline.correlate.fold.deadlines import LAST_DAY
from conjoin.runtime.broker import Broker

Condition = tuple[str, str, Any]
"""A column of the store, a comparison and a value, as the scans of a store take them."""
Derive = Callable[..., Iterable[Any]]
"""From the broker and the columns that are needed, the values row by row."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """A type. `stored` is a literal of Spark's as the store has it; None where the store cannot be asked for it."""

    spark: T.DataType
    arrow: pa.DataType
    stored: Callable[[Any], Any] = lambda literal: None


def _microseconds(literal: Any) -> int | None:
    return (literal - _EPOCH) // _MICROSECOND if isinstance(literal, datetime) and literal.tzinfo else None


KEY = ColumnKind(T.LongType(), pa.int64(), lambda it: it if type(it) is int else None)
NUMBER = ColumnKind(T.IntegerType(), pa.int32(), KEY.stored)
TEXT = ColumnKind(T.StringType(), pa.string(), lambda it: it if isinstance(it, str) and is_text(it) else None)
INSTANT = ColumnKind(T.TimestampType(), pa.timestamp("us", "UTC"), _microseconds)
TRUTH = ColumnKind(T.BooleanType(), pa.bool_())
KEYS = ColumnKind(T.ArrayType(T.LongType()), pa.list_(pa.int64()))


@dataclass(frozen=True, slots=True)
class Absence:
    """How the store says that there is nothing: as a comparison, its opposite, and the value as Spark sees it."""

    is_so: tuple[str, Any]
    is_not: tuple[str, Any]
    shown: Callable[[Any], Any]


NULL = Absence(("=", None), ("<>", None), lambda value: value)
NO_KEY = Absence(("=", 0), ("<>", 0), lambda value: value or None)
# Spark could show later years, but whoever collects them in Python could not.
NEVER = Absence((">", LAST_DAY), ("<=", LAST_DAY), lambda value: None if value > LAST_DAY else value)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a filter, or a value of a derived column, says of the store's. `is_all`: rows that meet it pass for sure."""

    conditions: tuple[Condition, ...] = ()
    is_all: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """It needs columns of the store, or what its table expands a row by. A plain one needs one and shows its values."""

    name: str
    kind: ColumnKind
    needs: tuple[str, ...]
    absence: Absence | None = None
    derive: Derive | None = None
    meanings: Mapping[str, Meaning] = field(default_factory=dict)

    def array(self, broker: Broker, *needed: Sequence[Any]) -> pa.Array:
        """The values of a batch."""
        if self.derive is not None:
            values = self.derive(broker, *needed)
        else:
            values = needed[0] if self.absence is None else map(self.absence.shown, needed[0])
        return pa.array(values, self.kind.arrow)


def _plain(kind: ColumnKind, name: str, stored: str = "", absence: Absence | None = None) -> Column:
    return Column(name, kind, (stored or name,), absence)


key, number, text, instant = (partial(_plain, kind) for kind in (KEY, NUMBER, TEXT, INSTANT))


def texts(*names: str) -> tuple[Column, ...]:
    return tuple(map(text, names))


def of_each(name: str, kind: ColumnKind, needs: str, value: Callable[[Any], Any]) -> Column:
    """Derived value by value from one column."""
    return Column(name, kind, (needs,), derive=lambda broker, needed: map(value, needed))
