"""JSON lines: each line is an object, and every value of it a text column, nested values as the JSON they were.

Nothing is inferred and nothing rewritten: `1.50` stays `1.50`, an object keeps exactly its own fields. The lines are
parsed once and kept, because more than one part of `correlate` reads them. Spark's own reader would take `{} more` as
an object and `[{}, {}]` as two, and does not say why a line cannot be read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.session.arrow_rows import spark_schema, to_batch
from conjoin.pipeline.session.worker import make_ready

_PARSED = pa.schema(
    [
        ("fields", pa.map_(pa.string(), pa.string())),
        ("unreadable", pa.string()),
        ("why", pa.string()),
        ("file", pa.string()),
    ]
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_json_lines(
    spark: SparkSession, table: str, known: list[str], files: list[str]
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """The rows, beside them the lines that are no JSON object as dead letters, and what both are views of."""
    lines = spark.read.text(files).select("value", F.col("_metadata.file_name").alias("file"))
    parsed = lines.mapInArrow(_parse, spark_schema(_PARSED)).persist(StorageLevel.MEMORY_AND_DISK)
    columns = _columns(parsed, table, known)
    fields = [F.col("fields").getItem(name).alias(name or "_") for name in columns]
    return parsed.where("unreadable is null").select(*fields), _dead(parsed, table), parsed


def _columns(parsed: DataFrame, table: str, known: list[str]) -> list[str]:
    """Ours in their order, then others by name; all of ours when there is no line at all."""
    found = {row[0] for row in parsed.select(F.explode(F.map_keys("fields"))).distinct().collect()}
    columns = [name for name in known if name in found or not found] + sorted(found.difference(known))
    by_small = {name.lower(): name for name in columns}
    unclear = [f"{by_small[name.lower()]} and {name}" for name in columns if by_small[name.lower()] != name]
    if unclear:
        raise InputError([f"{table}: names of fields differ in case only: {', '.join(unclear)}"])
    return columns


def _dead(parsed: DataFrame, table: str) -> DataFrame:
    detail = F.to_json(F.struct("why", "file"))
    return parsed.where("unreadable is not null").select(
        F.lit(table).alias("table"),
        F.col("unreadable").alias("row"),
        F.lit("unreadable").alias("reason"),
        detail.alias("detail"),
    )


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
