"""Rows as Arrow has them: a schema is written once, as Arrow's, and Spark's is made from it.

Also jobs that go to the shards of a store and not to rows: one task a shard.
"""

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from conjoin.pipeline.session.worker import in_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_AT_ONCE = 5_000


def spark_schema(schema: pa.Schema) -> "StructType":
    # Imported here: what only makes batches runs without Spark.
    from pyspark.sql.pandas.types import from_arrow_schema

    found: StructType = from_arrow_schema(schema)
    return found


def to_arrays(rows: Sequence[Sequence[Any]], kinds: Collection[pa.DataType]) -> list[pa.Array]:
    """An array for each column, also of no rows."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in kinds)
    return [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]


def to_batch(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(to_arrays(rows, schema.types), schema=schema)


def in_batches(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A bounded number of rows in each."""
    left = iter(rows)
    while some := list(islice(left, _AT_ONCE)):
        yield to_batch(some, schema)


Answer = TypeVar("Answer")
_ANSWER = pa.schema([("answer", pa.binary())])


def rows_of_shards(
    spark: "SparkSession", shards: Sequence[int], task: Callable[[int], Iterable[Sequence[Any]]], schema: pa.Schema
) -> "DataFrame":
    """The rows that the task finds for each shard."""

    @in_worker
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column("id").to_pylist():
                yield from in_batches(task(shards[place]), schema)

    return spark.range(0, len(shards), 1, len(shards)).mapInArrow(run, spark_schema(schema))


def on_each_shard(spark: "SparkSession", shards: Sequence[int], task: Callable[[int], Answer]) -> list[Answer]:
    """What the task answers for each shard; answers are pickled."""
    rows = rows_of_shards(spark, shards, lambda shard: [(pickle.dumps(task(shard)),)], _ANSWER)
    return [pickle.loads(row["answer"]) for row in rows.collect()]
