"""Rows as Arrow has them: a schema is written once, as Arrow's, and Spark's is made from it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

_AT_ONCE = 5_000


def spark_schema(schema: pa.Schema) -> StructType:
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
