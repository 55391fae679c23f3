"""Files as arrivals: a file is a part, a row's number in it its place. JSON lines, CSV and Parquet.

Rows are numbered from 1 as they stand in the file, however Spark cuts files into tasks. A file that cannot be read
at all is one dead letter, with the number 0.
"""

import re
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, groupby

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.files.csv import RAW, csv_rows, header_of
from conjoin.pipeline.files.tables import format_of
from conjoin.pipeline.ingest.batch import Arrivals
from conjoin.pipeline.ingest.tasks import ARRIVED, Begins
from conjoin.pipeline.session.arrow_rows import spark_schema
from conjoin.pipeline.session.session import SPARK_ERRORS, spark_says

_OF_A_PATTERN = re.compile(r"[\\\[\]{}*?]")


def file_arrivals(spark: SparkSession, files: Sequence[str]) -> Arrivals:
    """The rows of some files; what their names end with says how they are read."""
    found: list[Arrivals] = []
    for format_, some in groupby(sorted(files, key=lambda file: (format_of(file) or "", file)), key=format_of):
        found += _READERS[format_ or ""](spark, list(some))
    begins = {block: before for arrivals in found for block, before in arrivals.begins.items()}
    frames = [arrivals.rows for arrivals in found] or [spark.createDataFrame([], spark_schema(ARRIVED))]
    return Arrivals(reduce(DataFrame.union, frames), begins)


def _names(files: Sequence[str]) -> list[str]:
    """As Spark must be told them: a name may have in it what would be a pattern."""
    return [_OF_A_PATTERN.sub(r"\\\g<0>", file) for file in files]


def _rows(frame: DataFrame, block: Column, place: Column, value: Column, problem: Column) -> DataFrame:
    """As in `tasks.ARRIVED`."""
    return frame.select(
        F.col("_metadata.file_path").alias("part"),
        block.cast("bigint").alias("block"),
        place.cast("bigint").alias("place"),
        value.cast("binary").alias("value"),
        F.lit(None).cast("string").alias("envelope"),
        problem.cast("string").alias("problem"),
    )


def _json_lines(spark: SparkSession, files: list[str]) -> list[Arrivals]:
    nothing = F.lit(None)
    lines = _rows(spark.read.text(_names(files)), F.col("_metadata.file_block_start"), nothing, F.col("value"), nothing)
    return [Arrivals(lines, _begins(lines))]


def _begins(rows: DataFrame) -> Begins:
    """Spark cuts large files into blocks, where depends on how many there are; the numbers of rows must not."""
    counted = rows.groupBy("part", "block").count().orderBy("part", "block").collect()
    begins: Begins = {}
    for part, blocks in groupby(counted, key=lambda row: row["part"]):
        some = list(blocks)
        before = accumulate((row["count"] for row in some), initial=0)
        begins.update({(part, row["block"]): begin for row, begin in zip(some, before, strict=False)})
    return begins


def _csv(spark: SparkSession, files: list[str]) -> list[Arrivals]:
    """A value may go over several lines, so a file is one block."""
    found = []
    by_header: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        try:
            by_header.setdefault(header_of(spark, "csv", *_names([file])), []).append(file)
        except (InputError, *SPARK_ERRORS) as error:
            found.append(unreadable(spark, file, spark_says(error)))
    by_header.pop((), None)
    for header, alike in by_header.items():
        value = F.when(F.col(RAW).isNull(), _as_json(header)).otherwise(F.col(RAW))
        why = F.when(F.col(RAW).isNotNull(), F.lit(f"not {len(header)} values as in the header"))
        rows = csv_rows(spark, header, _names(alike))
        found.append(Arrivals(_rows(rows, F.lit(0), F.lit(None), value, why)))
    return found


def _parquet(spark: SparkSession, files: list[str]) -> list[Arrivals]:
    """Files of one schema together; types may differ from file to file."""
    found = []
    schemas: dict[str, list[str]] = {}
    for file in files:
        try:
            schemas.setdefault(spark.read.parquet(*_names([file])).schema.json(), []).append(file)
        except SPARK_ERRORS as error:
            found.append(unreadable(spark, file, spark_says(error)))
    for alike in schemas.values():
        rows = spark.read.parquet(*_names(alike))
        place = F.col("_metadata.row_index") + 1
        found.append(Arrivals(_rows(rows, F.lit(0), place, _as_json(rows.columns), F.lit(None))))
    return found


def _as_json(columns: Sequence[str]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), {"ignoreNullFields": "false"})


def unreadable(spark: SparkSession, file: str, why: str) -> Arrivals:
    """A file as one dead letter."""
    row = (file, 0, 0, None, None, f"the file cannot be read: {why}")
    return Arrivals(spark.createDataFrame([row], spark_schema(ARRIVED)))


def _strange(spark: SparkSession, files: list[str]) -> list[Arrivals]:
    return [unreadable(spark, file, "its name does not end with .jsonl, .csv or .parquet") for file in files]


_READERS = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet, "": _strange}
