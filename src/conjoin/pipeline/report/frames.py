"""What a report reads: messages and subscriptions without their payload, each once, with instants as microseconds.

Counting by them needs no time zone, and what several figures need is kept by Spark until the report is made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline.source import register, store_table

_MESSAGE = "key,tenant_id,name,correlation_key,business_id,published_at,deadline_at,verdict,reason,decided_at"
_SUBSCRIPTION = "tenant_id,name,correlation_key,business_id,process_id,instance_key,element_id,state,opened_at"
PLACE = ("tenant_id", "name", "correlation_key")


class Frames(NamedTuple):
    """`names` are those that get figures of their own; all others are counted together, as null."""

    messages: DataFrame
    subscriptions: DataFrame
    instances: DataFrame
    incidents: DataFrame
    as_of_us: int
    names: Sequence[str] = ()

    def of_names(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn("name", F.when(F.col("name").isin(list(self.names)), F.col("name")))


@contextmanager
def opened_frames(spark: SparkSession, address: str, as_of_us: int) -> Iterator[Frames]:
    register(spark)

    def read(table: str, columns: str, **options: str) -> DataFrame:
        return _in_microseconds(store_table(spark, address, table, columns=columns, **options))

    messages, subscriptions = read("messages", _MESSAGE).persist(), read("subscriptions", _SUBSCRIPTION).persist()
    active = read("instances", "key", where="state = 'active'")
    try:
        yield Frames(messages, subscriptions, active, read("incidents", "key"), as_of_us)
    finally:
        messages.unpersist()
        subscriptions.unpersist()


def is_lost() -> Column:
    """Nobody took it, and nobody can any more."""
    gone = F.col("verdict").isin("expired", "discarded")
    return gone | ((F.col("verdict") == "refused") & (F.col("reason") == "not_found"))


def is_open() -> Column:
    return F.col("state") != "closed"


def counted(condition: Column) -> Column:
    """How many rows meet it; none of nothing is 0."""
    return F.count(F.when(condition, F.lit(1)))


def age_counts(age_us: Column, edges_ms: Sequence[int]) -> list[Column]:
    """A count below each edge and not below the one before, then the rest: columns `age_0`, `age_1`, ..."""
    edges = [edge * 1_000 for edge in edges_ms]
    found = []
    for place, (low, high) in enumerate(zip([None, *edges], [*edges, None], strict=True)):
        inside = F.lit(True) if low is None else age_us >= F.lit(low)
        inside = inside if high is None else inside & (age_us < F.lit(high))
        found.append(counted(inside).alias(f"age_{place}"))
    return found


def _in_microseconds(rows: DataFrame) -> DataFrame:
    """`published_at` becomes `published_us`."""
    return rows.select(
        *(
            F.unix_micros(name).alias(f"{name.removesuffix('_at')}_us") if name.endswith("_at") else F.col(name)
            for name in rows.columns
        )
    )
