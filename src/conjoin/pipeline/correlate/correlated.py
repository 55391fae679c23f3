"""Correlated: the tables that come out. All of them are views of one folded table, which is computed once.

The folded table is cached by the first of them that is asked for (on disk where memory is short) and read again by
the others, so that the data is passed over once, whatever is asked.
"""

from functools import cached_property
from types import TracebackType
from typing import Self

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.pipeline.correlate.columns import Types
from conjoin.pipeline.correlate.fold.packed_batches import unpacked
from conjoin.pipeline.correlate.results import (
    DEAD,
    ENDS_IGNORED,
    LATER,
    LOCKED,
    MESSAGE,
    OFFERED,
    OPENED,
    PAIRED,
    REMEMBERED,
    own,
    schema_of,
)
from conjoin.pipeline.correlate.shape import Layout

_SAID = ("verdict", "reason", "detail", "decided_at", "correlated_to")

NAMES = ("verdicts", "correlations", "buffered", "open", "locks", "ids", "later", "dead_letters")


class Correlated:
    """What became of the messages. Each table is a DataFrame; nothing is computed before one is used."""

    def __init__(self, folded: DataFrame, layout: Layout, messages: Types, barren: frozenset[int]) -> None:
        self._folded = folded
        self._layout = layout
        self._messages = messages
        self._barren = barren
        """The tables that cannot have a row, as is known without looking."""

    @cached_property
    def _kept(self) -> DataFrame:
        return self._folded.persist(StorageLevel.MEMORY_AND_DISK)

    def _of(self, table: int) -> DataFrame:
        schema = schema_of(table, self._messages, self._layout)
        rows = self._kept.where(F.col("table") == table)
        if table not in (MESSAGE, PAIRED):
            # Mostly small: a task each would cost more than what is in it.
            rows = rows.coalesce(max(1, self._partitions() // 4))
        told = rows.mapInArrow(unpacked, schema)
        # Spark sees that nothing can pass, and does not run what is below.
        return told.where(F.lit(False)) if table in self._barren else told

    def _partitions(self) -> int:
        return int(self._folded.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)

    def _said_of(self, table: int) -> DataFrame:
        """One row a message: its own columns by number, its verdict. A verdict of an earlier run that correlated
        stays the first."""
        told = self._of(table)
        if not self._layout.prior:
            return told
        before = (F.col("prior_verdict") == "correlated") & (F.col("verdict") == "correlated")
        changed = {
            name: F.when(before, F.col(f"prior_{name}")).otherwise(F.col(name))
            for name in ("reason", "detail", "decided_at")
        }
        earlier = F.from_json("prior_correlated_to", "array<string>")
        changed["correlated_to"] = F.concat(F.coalesce(earlier, F.array().cast("array<string>")), "correlated_to")
        return told.withColumns(changed)

    def _own(self, number: int, name: str) -> Column:
        column = F.col(own(number))
        if name == "taken_by" and isinstance(self._messages[name], T.ArrayType):
            column = F.from_json(column, "array<string>")
        return column.alias(name)

    @property
    def verdicts(self) -> DataFrame:
        """Every message with its columns and `verdict, reason, detail, decided_at, correlated_to`."""
        columns = [self._own(number, name) for number, name in enumerate(self._layout.columns)]
        return self._said_of(MESSAGE).select(*columns, *_SAID)

    @property
    def correlations(self) -> DataFrame:
        """One row for each pair of a message and the instance that took it."""
        return self._of(PAIRED)

    @property
    def buffered(self) -> DataFrame:
        """The messages still offered, with `taken_by` and their verdict so far: input for the next run."""
        columns = [self._own(number, name) for number, name in enumerate(self._layout.columns) if name != "taken_by"]
        return self._said_of(OFFERED).select(*columns, *_SAID, "taken_by", "kept_at")

    @property
    def open(self) -> DataFrame:
        """The subscriptions that still wait: input for the next run."""
        return self._of(OPENED)

    @property
    def locks(self) -> DataFrame:
        """The locks of message-started instances that have not ended: input for the next run."""
        return self._of(LOCKED)

    @property
    def ids(self) -> DataFrame:
        """The message ids still remembered: input for the next run."""
        return self._of(REMEMBERED)

    @property
    def later(self) -> DataFrame:
        """Rows after `as_of`, untouched, as JSON with the name of their table."""
        return self._of(LATER)

    @property
    def dead_letters(self) -> DataFrame:
        """Rows that could not be used, each with its reason."""
        return self._of(DEAD)

    @property
    def ends_ignored(self) -> DataFrame:
        """How many ends found no lock to free: one row."""
        return self._of(ENDS_IGNORED).agg(F.coalesce(F.sum("count"), F.lit(0)).alias("count"))

    def tables(self) -> dict[str, DataFrame]:
        """All outputs by name."""
        return {name: getattr(self, name) for name in NAMES}

    def unpersist(self) -> None:
        """Let go of the cached rows."""
        if "_kept" in self.__dict__:
            self._kept.unpersist()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unpersist()
