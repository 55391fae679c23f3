"""Files as arrivals: a file is a part, a row's number in it its place. JSON lines, CSV and Parquet.

Rows are numbered from 1 as they stand in the file, however Spark cuts files into tasks. A file that cannot be read
at all is one dead letter, with the number 0.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, groupby

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.csv_files import RAW, csv_rows, header_of
from conjoin.pipeline.files import format_of
from conjoin.pipeline.ingest.tasks import ARRIVED
from conjoin.pipeline.session import SPARK_ERRORS, spark_says

_ARRIVED = pa.schema(
    [
        ("part", pa.string()),
        ("place", pa.int64()),
        ("value", pa.binary()),
        ("envelope", pa.string()),
        ("problem", pa.string()),
    ]
)
Begins = dict[tuple[str, int], int]
"""How many rows stand before each block of a file."""


def file_arrivals(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The rows of some files; what their names end with says how they are read."""
    frames: list[DataFrame] = []
    for format_, some in groupby(sorted(files, key=lambda file: (format_of(file) or "", file)), key=format_of):
        frames += _READERS[format_ or ""](spark, list(some))
    return reduce(DataFrame.union, frames) if frames else spark.createDataFrame([], ARRIVED)


def _json_lines(spark: SparkSession, files: list[str]) -> list[DataFrame]:
    lines = spark.read.text(files).select(
        F.col("_metadata.file_path").alias("part"),
        F.col("_metadata.file_block_start").alias("block"),
        F.col("value").cast("binary").alias("value"),
        F.lit(None).cast("string").alias("problem"),
    )
    return [_numbered(lines, _begins(lines))]


def _begins(rows: DataFrame) -> Begins:
    """Spark cuts large files into blocks, where depends on how many there are; the numbers of rows must not."""
    counted = rows.groupBy("part", "block").count().orderBy("part", "block").collect()
    begins: Begins = {}
    for part, blocks in groupby(counted, key=lambda row: row["part"]):
        some = list(blocks)
        before = accumulate((row["count"] for row in some), initial=0)
        begins.update({(part, row["block"]): begin for row, begin in zip(some, before, strict=False)})
    return begins


def _numbered(rows: DataFrame, begins: Begins) -> DataFrame:
    def number(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = dict(begins)
        for batch in batches:
            places = []
            for place in zip(batch.column("part").to_pylist(), batch.column("block").to_pylist(), strict=True):
                seen[place] = seen.get(place, 0) + 1
                places.append(seen[place])
            nothing = pa.nulls(batch.num_rows, pa.string())
            columns = [batch.column("part"), pa.array(places), batch.column("value"), nothing, batch.column("problem")]
            yield pa.RecordBatch.from_arrays(columns, schema=_ARRIVED)

    return rows.select("part", "block", "value", "problem").mapInArrow(number, ARRIVED)


def _csv(spark: SparkSession, files: list[str]) -> list[DataFrame]:
    """A value may go over several lines, so a file is one block."""
    frames = []
    by_header: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        try:
            by_header.setdefault(header_of(spark, "csv", file), []).append(file)
        except (InputError, *SPARK_ERRORS) as error:
            frames.append(unreadable(spark, file, spark_says(error)))
    by_header.pop((), None)
    for header, alike in by_header.items():
        value = F.when(F.col(RAW).isNull(), _as_json(header)).otherwise(F.col(RAW))
        why = F.when(F.col(RAW).isNotNull(), F.lit(f"not {len(header)} values as in the header"))
        rows = csv_rows(spark, header, alike).select(
            F.col("_metadata.file_path").alias("part"),
            F.lit(0).cast("bigint").alias("block"),
            value.cast("binary").alias("value"),
            why.alias("problem"),
        )
        frames.append(_numbered(rows, {}))
    return frames


def _parquet(spark: SparkSession, files: list[str]) -> list[DataFrame]:
    """Files of one schema together; types may differ from file to file."""
    frames = []
    schemas: dict[str, list[str]] = {}
    for file in files:
        try:
            schemas.setdefault(spark.read.parquet(file).schema.json(), []).append(file)
        except SPARK_ERRORS as error:
            frames.append(unreadable(spark, file, spark_says(error)))
    for alike in schemas.values():
        rows = spark.read.parquet(*alike)
        frames.append(
            rows.select(
                F.col("_metadata.file_path").alias("part"),
                (F.col("_metadata.row_index") + 1).alias("place"),
                _as_json(rows.columns).cast("binary").alias("value"),
                F.lit(None).cast("string").alias("envelope"),
                F.lit(None).cast("string").alias("problem"),
            )
        )
    return frames


def _as_json(columns: Sequence[str]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), {"ignoreNullFields": "false"})


def unreadable(spark: SparkSession, file: str, why: str) -> DataFrame:
    """A file as one dead letter."""
    return spark.createDataFrame([(file, 0, None, None, f"the file cannot be read: {why}")], ARRIVED)


def _strange(spark: SparkSession, files: list[str]) -> list[DataFrame]:
    raise InputError([f"{files[0]}: its name does not say whether it is .jsonl, .csv or .parquet: give --format"])


_READERS = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet, "": _strange}
