"""Text files: JSON lines and CSV, every value a text column. What is no row is a dead letter `unreadable`.

CSV: a header names the columns; quotes are doubled inside quotes, as RFC 4180 says. Files with different headers are
read apart. A value may go over several lines, so a file is read by one task: use Parquet where that is slow.

JSON lines: each line is an object, nested values stay the JSON they were. Nothing is inferred and nothing rewritten:
`1.50` stays `1.50`, an object keeps exactly its own fields. Spark's own reader would take `{} more` as an object and
`[{}, {}]` as two, and does not say why a line cannot be read. Lines are parsed once and kept, because more than one
part of `correlate` reads them.
"""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.errors import InputError
from conjoin.pipeline.session.arrow_rows import spark_schema, to_batch
from conjoin.pipeline.session.worker import make_ready

RAW = "_unreadable_row"
_PARSED = pa.schema(
    [
        ("fields", pa.map_(pa.string(), pa.string())),
        ("unreadable", pa.string()),
        ("why", pa.string()),
        ("file", pa.string()),
    ]
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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


def read_json_lines(
    spark: SparkSession, table: str, known: list[str], files: list[str]
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """The rows, beside them the lines that are no JSON object as dead letters, and what both are views of."""
    lines = spark.read.text(files).select("value", F.col("_metadata.file_name").alias("file"))
    parsed = lines.mapInArrow(_parse, spark_schema(_PARSED)).persist(StorageLevel.MEMORY_AND_DISK)
    columns = _columns(parsed, table, known)
    fields = [F.col("fields").getItem(name).alias(name or "_") for name in columns]
    dead = _dead(parsed.where("unreadable is not null"), table, F.col("unreadable"), F.col("why"))
    return parsed.where("unreadable is null").select(*fields), dead, parsed


def _columns(parsed: DataFrame, table: str, known: list[str]) -> list[str]:
    """Ours in their order, then others by name; all of ours when there is no line at all."""
    found = {row[0] for row in parsed.select(F.explode(F.map_keys("fields"))).distinct().collect()}
    columns = [name for name in known if name in found or not found] + sorted(found.difference(known))
    by_small = {name.lower(): name for name in columns}
    unclear = [f"{by_small[name.lower()]} and {name}" for name in columns if by_small[name.lower()] != name]
    if unclear:
        raise InputError([f"{table}: names of fields differ in case only: {', '.join(unclear)}"])
    return columns


def _parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    make_ready()
    read = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    for batch in batches:
        # As bytes: a line may be no UTF-8 at all, which the decoder finds and Arrow would stumble over.
        lines = batch.column("value").cast(pa.binary()).to_pylist()
        rows: list[tuple[Any, ...]] = []
        for line, file in zip(lines, batch.column("file").to_pylist(), strict=True):
            text = line.removeprefix(_BYTE_ORDER_MARK)
            if not text or text.isspace():
                continue
            try:
                fields = [(name, _text(bytes(value))) for name, value in read(text).items()]
                rows.append((fields, None, None, file))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                rows.append((None, text.decode("utf-8", "replace"), str(error), file))
        yield to_batch(rows, _PARSED)


def _text(value: bytes) -> str | None:
    """A string without its quotes, null as null, anything else as it was written."""
    if value[:1] == b'"':
        return msgspec.json.decode(value, type=str)
    return None if value == b"null" else value.decode()
