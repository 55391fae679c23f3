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

from conjoin.pipeline.columns import quoted
from conjoin.pipeline.outputs import DEAD, ENDS_IGNORED, LATER, LOCKED, MESSAGE, OPENED, REMEMBERED
from conjoin.pipeline.shape import Layout

NAMES = ("verdicts", "correlations", "buffered", "open", "locks", "ids", "later", "dead_letters")

_PAIR = (
    "kind string, process_id string, subscription_id string, instance_id string, element_id string, "
    "correlated_at timestamp"
)
_SAID = "verdict string, reason string, detail string, decided_at timestamp, offered boolean, kept_at timestamp"
_KEPT = {
    "open": (
        "process_id string, name string, correlation_key string, opened_at timestamp, closed_at timestamp, "
        "subscription_id string, instance_id string, element_id string, interrupting boolean, "
        "tenant_id string, business_id string, kept_at timestamp"
    ),
    "lock": ("process_id string, correlation_key string, tenant_id string, instance_id string, locked_at timestamp"),
    "id": (
        "name string, correlation_key string, tenant_id string, message_id string, published_at timestamp, "
        "until_at timestamp"
    ),
    "dead": "table string, row string, reason string, detail string",
    "later": "table string, row string",
    "ends_ignored": "count bigint",
}
_PRIOR = "verdict string, reason string, detail string, decided_at timestamp, correlated_to string"


def result_schema(messages: T.StructType, layout: Layout) -> T.StructType:
    """The one table that the fold writes: a tag, and the columns of the output it is for."""
    own = T.StructType([T.StructField(name, _carried(name, messages)) for name in layout.columns])
    schema = T.StructType().add("table", T.ByteType()).add("row", own)
    for field in _parsed(_SAID).fields:
        schema = schema.add(field)
    schema = schema.add("taken_by", T.ArrayType(T.StringType())).add("pairs", T.ArrayType(_parsed(_PAIR)))
    if layout.prior:
        schema = schema.add("prior", _parsed(_PRIOR))
    for name, kinds in _KEPT.items():
        schema = schema.add(name, _parsed(kinds))
    return schema


def _carried(name: str, messages: T.StructType) -> T.DataType:
    """`taken_by` goes through the fold as text; everything else as it is."""
    return T.StringType() if name == "taken_by" else messages[name].dataType


def _parsed(text: str) -> T.StructType:
    schema = T.StructType.fromDDL(text)
    assert isinstance(schema, T.StructType), "a list of columns is a struct"
    return schema


class Correlated:
    """What became of the messages. Each table is a DataFrame; nothing is computed before one is used."""

    def __init__(self, folded: DataFrame, layout: Layout, messages: T.StructType) -> None:
        self._folded = folded
        self._layout = layout
        self._columns = layout.columns
        self._messages = messages

    @cached_property
    def _kept(self) -> DataFrame:
        return self._folded.persist(StorageLevel.MEMORY_AND_DISK)

    def _of(self, tag: int, column: str) -> DataFrame:
        return self._kept.where(F.col("table") == tag).select(f"{column}.*")

    @cached_property
    def _said(self) -> DataFrame:
        """One row a message: its own columns as `row`, its verdict, its pairs. A verdict of an earlier run that
        correlated stays the first."""
        told = self._kept.where(F.col("table") == MESSAGE)
        instances = F.transform("pairs", lambda pair: pair["instance_id"])
        if not self._layout.prior:
            return told.withColumn("correlated_to", instances)
        before = (F.col("prior.verdict") == "correlated") & (F.col("verdict") == "correlated")
        for name in ("reason", "detail", "decided_at"):
            told = told.withColumn(name, F.when(before, F.col(f"prior.{name}")).otherwise(F.col(name)))
        earlier = F.coalesce(F.from_json("prior.correlated_to", "array<string>"), F.array().cast("array<string>"))
        return told.withColumn("correlated_to", F.concat(earlier, instances))

    def _own(self, name: str) -> Column:
        column = F.col(f"row.{quoted(name)}")
        if name == "taken_by" and isinstance(self._messages[name].dataType, T.ArrayType):
            return F.from_json(column, "array<string>").alias(name)
        return column

    def _verdict_columns(self) -> list[Column]:
        own = [F.col(f"row.{quoted(name)}") for name in self._columns if name != "taken_by"]
        return [*own, *(F.col(name) for name in ("verdict", "reason", "detail", "decided_at", "correlated_to"))]

    @property
    def verdicts(self) -> DataFrame:
        """Every message with its columns and `verdict, reason, detail, decided_at, correlated_to`."""
        own = [self._own(name) for name in self._columns]
        said = [F.col(name) for name in ("verdict", "reason", "detail", "decided_at", "correlated_to")]
        return self._said.select(*own, *said)

    @property
    def correlations(self) -> DataFrame:
        """One row for each pair of a message and the instance that took it."""
        identity = [
            (F.col(f"row.{quoted(name)}") if name in self._columns else F.lit(None).cast(kind)).alias(name)
            for name, kind in (
                ("position", "bigint"),
                ("message_id", "string"),
                ("tenant_id", "string"),
                ("name", "string"),
                ("correlation_key", "string"),
            )
        ]
        pairs = self._kept.where(F.col("table") == MESSAGE).select(*identity, F.explode("pairs").alias("pair"))
        return pairs.select(*(column for column in pairs.columns if column != "pair"), "pair.*")

    @property
    def buffered(self) -> DataFrame:
        """The messages still offered, with `taken_by` and their verdict so far: input for the next run."""
        kept = self._said.where("offered")
        return kept.select(*self._verdict_columns(), "taken_by", "kept_at")

    @property
    def open(self) -> DataFrame:
        """The subscriptions that still wait: input for the next run."""
        return self._of(OPENED, "open")

    @property
    def locks(self) -> DataFrame:
        """The locks of message-started instances that have not ended: input for the next run."""
        return self._of(LOCKED, "lock")

    @property
    def ids(self) -> DataFrame:
        """The message ids still remembered: input for the next run."""
        return self._of(REMEMBERED, "id")

    @property
    def later(self) -> DataFrame:
        """Rows after `as_of`, untouched, as JSON with the name of their table."""
        return self._of(LATER, "later")

    @property
    def dead_letters(self) -> DataFrame:
        """Rows that could not be used, each with its reason."""
        return self._of(DEAD, "dead")

    @property
    def ends_ignored(self) -> DataFrame:
        """How many ends found no lock to free: one row."""
        return self._of(ENDS_IGNORED, "ends_ignored").agg(F.coalesce(F.sum("count"), F.lit(0)).alias("count"))

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
