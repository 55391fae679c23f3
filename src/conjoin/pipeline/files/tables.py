"""Files: a table of `correlate` read from Parquet, JSON lines or CSV, the format seen from the names.

A path is a file or a folder; a table may have several. What is no row at all (a line that is not JSON, a CSV row of
another length) is handed on beside the rows as dead letters `unreadable`: every line that was there is in one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.errors import InputError
from conjoin.pipeline.correlate.columns import TABLES, reader_of
from conjoin.pipeline.files.column_names import ColumnNames
from conjoin.pipeline.files.lakes import read_lake
from conjoin.pipeline.files.listing import files_here, one_format
from conjoin.pipeline.files.text_files import read_csv, read_json_lines
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of, spark_says
from conjoin.pipeline.session.temporarily import temporarily

TIME_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""How an instant is written as text: to the microsecond, with its zone."""


@dataclass(frozen=True, slots=True)
class FileTable:
    """`unreadable` has the columns of `.dead_letters`; None when nothing can be unreadable in this format."""

    rows: DataFrame
    unreadable: DataFrame | None
    kept: tuple[DataFrame, ...] = ()
    """What was cached to be parsed only once."""

    def release(self) -> None:
        for frame in self.kept:
            frame.unpersist()


def read_table(spark: SparkSession, table: str, paths: Sequence[str], names: ColumnNames | None = None) -> FileTable:
    """One table from all its paths, united by column name; a column that one of them lacks is null there."""
    parts = [_read_path(spark, table, path) for path in paths]
    if names is not None:
        parts = [
            _named(part, names.here(table, path, part.rows.columns)) for part, path in zip(parts, paths, strict=True)
        ]
    unreadable = [part.unreadable for part in parts if part.unreadable is not None]
    try:
        rows = reduce(_united, [part.rows for part in parts])
    except AnalysisException as error:
        raise InputError([f"{table}: {', '.join(paths)} do not go together: {spark_says(error)}"]) from None
    kept = tuple(frame for part in parts for frame in part.kept)
    return FileTable(rows, reduce(DataFrame.union, unreadable) if unreadable else None, kept)


def _named(part: FileTable, columns: list[str]) -> FileTable:
    return part if columns == part.rows.columns else replace(part, rows=part.rows.toDF(*columns))


def _read_path(spark: SparkSession, table: str, path: str) -> FileTable:
    lake = read_lake(spark, table, path)
    if lake is not None:
        return FileTable(lake, None)
    here = files_here(table, path)
    files = _files_by_spark(spark, table, path) if here is None else [path_of(spark, file) for file in here]
    file_format = one_format(table, path, files)
    if file_format is None:
        return FileTable(_empty(spark, table), None)
    try:
        return _READERS[file_format](spark, table, path, files)
    except SPARK_ERRORS as error:
        raise InputError([f"{table}: {path} cannot be read as {file_format}: {spark_says(error)}"]) from None


def _files_by_spark(spark: SparkSession, table: str, path: str) -> list[str]:
    """Of a path that is not on this machine, or a pattern. Empty files are not among them."""
    try:
        listed = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path_of(spark, path))
        return sorted(row["path"] for row in listed.select("path").collect())
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise InputError([f"{table}: {path}: there is no such file or folder"]) from None
        raise InputError([f"{table}: {path} cannot be read: {spark_says(error)}"]) from None


def _empty(spark: SparkSession, table: str) -> DataFrame:
    """A run before had no rows of it: text columns with the known names."""
    return spark.createDataFrame([], T.StructType([T.StructField(c.name, T.StringType()) for c in TABLES[table]]))


def _read_parquet(spark: SparkSession, table: str, path: str, files: list[str]) -> FileTable:
    # A folder `name=007` is a text, as the values in files are.
    with temporarily(spark, {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}):
        rows = spark.read.parquet(path_of(spark, path))
    return FileTable(_without_untyped_nulls(rows, table), None)


def _without_untyped_nulls(rows: DataFrame, table: str) -> DataFrame:
    """A column of nothing but nulls has no kind of its own in Parquet (pandas writes such); Spark calls it int."""
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    odd = [
        contract.name
        for contract in TABLES[table]
        if isinstance(kinds.get(contract.name), T.IntegerType) and reader_of(contract.read, T.IntegerType()) is None
    ]
    if not odd:
        return rows
    found = rows.agg(*(F.count(name).alias(name) for name in odd)).head()
    return rows.drop(*(name for name in odd if found is not None and not found[name]))


def _read_json_lines(spark: SparkSession, table: str, path: str, files: list[str]) -> FileTable:
    rows, unreadable, kept = read_json_lines(spark, table, files)
    return FileTable(rows, unreadable, (kept,))


def _read_csv(spark: SparkSession, table: str, path: str, files: list[str]) -> FileTable:
    groups = read_csv(spark, table, files)
    if not groups:
        return FileTable(_empty(spark, table), None)
    rows = reduce(_united, [rows for rows, _, _ in groups])
    unreadable = reduce(DataFrame.union, [dead for _, dead, _ in groups])
    return FileTable(rows, unreadable, tuple(kept for _, _, kept in groups))


_READERS = {"parquet": _read_parquet, "jsonl": _read_json_lines, "csv": _read_csv}


def _united(left: DataFrame, right: DataFrame) -> DataFrame:
    """Both tables by name. Columns of the same name and different kinds meet as text, so that nothing is bent."""
    kinds = {field.name: field.dataType for field in right.schema.fields}
    unlike = [f.name for f in left.schema.fields if _must_be_text(f.dataType, kinds.get(f.name, f.dataType))]
    for name in unlike:
        left = left.withColumn(name, as_text(F.col(f"`{name}`"), left.schema[name].dataType))
        right = right.withColumn(name, as_text(F.col(f"`{name}`"), right.schema[name].dataType))
    return left.unionByName(right, allowMissingColumns=True)


def _must_be_text(one: T.DataType, other: T.DataType) -> bool:
    """Spark widens plain kinds by itself, but would fill up structs with nulls and fail on texts that do not parse."""
    if one == other or isinstance(one, T.NullType) or isinstance(other, T.NullType):
        return False
    nested = isinstance(one, T.StructType) or isinstance(other, T.StructType)
    return nested or isinstance(one, T.StringType) or isinstance(other, T.StringType)


def as_text(column: Column, kind: T.DataType) -> Column:
    """The value as the text that `correlate` reads back as the same value."""
    if isinstance(kind, (T.ArrayType, T.StructType, T.MapType, T.VariantType)):
        return F.to_json(column)
    return F.date_format(column, TIME_PATTERN) if isinstance(kind, T.TimestampType) else column.cast("string")
