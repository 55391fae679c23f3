"""CSV: a header names the columns, every value is text. Quotes are doubled inside quotes, as RFC 4180 says.

Files with different headers are read apart. A row with more or fewer values than its header is a dead letter
`unreadable`. A value may go over several lines, so a file is read by one task: use Parquet where that is slow.
"""

import csv

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.errors import InputError

RAW = "_unreadable_row"


def read_csv(spark: SparkSession, table: str, files: list[str]) -> list[tuple[DataFrame, DataFrame, DataFrame]]:
    """For each header the rows, the dead letters, and what both are views of; a file without any line has no header."""
    by_header: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        header = header_of(spark, table, file)
        if header:
            by_header.setdefault(header, []).append(file)
    return [_read_alike(spark, table, header, alike) for header, alike in by_header.items()]


def header_of(spark: SparkSession, table: str, file: str) -> tuple[str, ...]:
    first = spark.read.text(file).head(1)
    if not first:
        return ()
    names = next(csv.reader([first[0]["value"].removeprefix("\ufeff")]), [])
    header = tuple(name.strip() or f"_c{place}" for place, name in enumerate(names))
    small = [name.lower() for name in header]
    twice = sorted({name for name in small if small.count(name) > 1})
    if twice:
        raise InputError([f"{table}: {file}: the header names {', '.join(twice)} twice"])
    return header


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
    read = csv_rows(spark, header, files).select("*", F.col("_metadata.file_name").alias("_file"))
    kept = read.persist(StorageLevel.MEMORY_AND_DISK)
    rows = kept.where(F.col(RAW).isNull()).select(*(F.col(f"`{name}`") for name in header))
    return rows, _dead(kept, table, len(header)), kept


def _dead(kept: DataFrame, table: str, length: int) -> DataFrame:
    why = F.lit(f"not {length} values as in the header")
    return kept.where(F.col(RAW).isNotNull()).select(
        F.lit(table).alias("table"),
        F.col(RAW).alias("row"),
        F.lit("unreadable").alias("reason"),
        F.to_json(F.struct(why.alias("why"), F.col("_file").alias("file"))).alias("detail"),
    )
