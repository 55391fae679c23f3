"""Text files: JSON lines and CSV, read by Spark. What is no row is a dead letter `unreadable`.

CSV: a header names the columns; quotes are doubled inside quotes, as RFC 4180 says. Files with different headers are
read apart. A value may go over several lines, so a file is read by one task: use Parquet where that is slow.

JSON lines: each line is an object, read by `json_lines.py`. Spark's own reader would take `{} more` as an object and
`[{}, {}]` as two, and does not say why a line cannot be read. Lines are parsed once and kept, because more than one
part of `correlate` reads them.
"""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.pipeline.files.json_lines import FieldKinds, parsed_lines
from conjoin.pipeline.files.listing import header_names
from conjoin.pipeline.session.arrow_rows import spark_schema, to_batch
from conjoin.pipeline.session.worker import in_worker

RAW = "_unreadable_row"
_PARSED = pa.schema(
    [
        ("fields", pa.map_(pa.string(), pa.string())),
        ("unreadable", pa.string()),
        ("why", pa.string()),
        ("file", pa.string()),
        ("kinds", pa.map_(pa.string(), pa.string())),
    ]
)


def read_csv(spark: SparkSession, table: str, files: list[str]) -> list[tuple[DataFrame, DataFrame, DataFrame]]:
    """For each header the rows, the dead letters, and what both are views of; a file without any line has no header."""
    by_header: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        header = header_of(spark, table, file)
        if header:
            by_header.setdefault(header, []).append(file)
    return [_read_alike(spark, table, header, alike) for header, alike in by_header.items()]


def header_of(spark: SparkSession, table: str, file: str) -> tuple[str, ...]:
    # Empty lines count for nothing, before the header either.
    first = spark.read.text(file).where("value not in ('', '\ufeff')").head(1)
    if not first:
        return ()
    names = next(csv.reader([first[0]["value"].removeprefix("\ufeff")]), [])
    return header_names(table, file, names)


def csv_rows(spark: SparkSession, header: tuple[str, ...], files: list[str]) -> DataFrame:
    """Files with one header; a row that does not fit it is in the column `RAW`, and its others are of no use."""
    schema = T.StructType([T.StructField(name, T.StringType()) for name in (*header, RAW)])
    return (
        spark.read.schema(schema)
        .options(header=True, multiLine=True, escape='"', mode="PERMISSIVE", columnNameOfCorruptRecord=RAW)
        .csv(files)
    )


def _read_alike(
    spark: SparkSession, table: str, header: tuple[str, ...], files: list[str]
) -> tuple[DataFrame, DataFrame, DataFrame]:
    # Kept, because Spark answers no question about the raw row alone, and because it is read more than once.
    read = csv_rows(spark, header, files).select("*", F.col("_metadata.file_name").alias("file"))
    kept = read.persist(StorageLevel.MEMORY_AND_DISK)
    rows = kept.where(F.col(RAW).isNull()).select(*(F.col(f"`{name}`") for name in header))
    why = F.lit(f"not {len(header)} values as in the header")
    return rows, _dead(kept.where(F.col(RAW).isNotNull()), table, F.col(RAW), why), kept


def _dead(unreadable: DataFrame, table: str, row: Column, why: Column) -> DataFrame:
    return unreadable.select(
        F.lit(table).alias("table"),
        row.alias("row"),
        F.lit("unreadable").alias("reason"),
        F.to_json(F.struct(why.alias("why"), F.col("file").alias("file"))).alias("detail"),
    )


def read_json_lines(spark: SparkSession, table: str, files: list[str]) -> tuple[DataFrame, DataFrame, DataFrame]:
    """The rows, beside them the lines that are no JSON object as dead letters, and what both are views of."""
    lines = spark.read.text(files).select("value", F.col("_metadata.file_name").alias("file"))
    parsed = lines.mapInArrow(_parse, spark_schema(_PARSED)).persist(StorageLevel.MEMORY_AND_DISK)
    kinds = FieldKinds()
    for row in parsed.where("kinds is not null").select(F.explode("kinds")).distinct().collect():
        kinds.merge(row[0], row[1].split())
    fields = [F.col("fields").getItem(name).cast(kind).alias(name or "_") for name, kind in kinds.types(table).items()]
    dead = _dead(parsed.where("unreadable is not null"), table, F.col("unreadable"), F.col("why"))
    return parsed.where("fields is not null").select(*fields), dead, parsed


@in_worker
def _parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The last row of each batch has no fields: it says what kinds of values each field had."""
    for batch in batches:
        # As bytes: a line may be no UTF-8 at all, which the decoder finds and Arrow would stumble over.
        lines = batch.column("value").cast(pa.binary()).to_pylist()
        kinds = FieldKinds()
        rows: list[tuple[Any, ...]] = []
        for line, file in zip(parsed_lines(lines, kinds), batch.column("file").to_pylist(), strict=True):
            if line is not None:
                fields = None if line.fields is None else list(line.fields.items())
                rows.append((fields, line.unreadable, line.why, file, None))
        rows.append((None, None, None, None, [(name, " ".join(sorted(found))) for name, found in kinds.seen.items()]))
        yield to_batch(rows, _PARSED)
