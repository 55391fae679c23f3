"""One task a shard: what a job does that goes to the shards of a store and not to rows."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from conjoin.pipeline.session.arrow_rows import in_batches, spark_schema
from conjoin.pipeline.session.worker import make_ready

Answer = TypeVar("Answer")
_ANSWER = pa.schema([("answer", pa.binary())])


def rows_of_shards(
    spark: SparkSession, shards: Sequence[int], task: Callable[[int], Iterable[Sequence[Any]]], schema: pa.Schema
) -> DataFrame:
    """The rows that the task finds for each shard."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        make_ready()
        for batch in batches:
            for place in batch.column("id").to_pylist():
                yield from in_batches(task(shards[place]), schema)

    return spark.range(0, len(shards), 1, len(shards)).mapInArrow(run, spark_schema(schema))


def on_each_shard(spark: SparkSession, shards: Sequence[int], task: Callable[[int], Answer]) -> list[Answer]:
    """What the task answers for each shard; answers are pickled."""
    rows = rows_of_shards(spark, shards, lambda shard: [(pickle.dumps(task(shard)),)], _ANSWER)
    return [pickle.loads(row["answer"]) for row in rows.collect()]
