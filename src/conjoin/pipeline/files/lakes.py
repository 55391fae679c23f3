"""Lakes: a folder that is a table of Delta or Iceberg, told by its log, and tables by name.

The files of such a folder are not its rows: it also holds those of older versions, rows that were deleted and rows that
were never committed. So it is read through its connector or refused, never as plain Parquet.
"""

from pathlib import PurePosixPath

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from conjoin.errors import InputError
from conjoin.pipeline.correlate.writing.run_folder import filesystem_of
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of, spark_says

BY_NAME = "table:"
"""Before the name of a table in Spark's catalog, where a path could stand."""

_ADVICE = {
    "delta": (
        "start Spark with Delta's connector (io.delta:delta-spark, its extension and its catalog in"
        " spark-defaults.conf; --jars takes the files)"
    ),
    "iceberg": (
        "start Spark with Iceberg's connector (org.apache.iceberg:iceberg-spark-runtime, --jars takes the file), or"
        " give the table by its name in a catalog: table:CATALOG.DB.NAME"
    ),
}
_NAMES = {"delta": "a Delta table", "iceberg": "an Iceberg table"}


def lake_of(path: str) -> tuple[str, str] | None:
    """Which kind of table a folder is or a path lies in, and the folder of that table; None: it is but files."""
    found = filesystem_of(path)
    if found is None:
        return None
    filesystem, inside = found
    start = PurePosixPath(inside.split("*")[0].rstrip("/") or "/")
    for folder in (start, *start.parents):
        kind = _kind_of(filesystem, str(folder))
        if kind is not None:
            return kind, str(folder)
        if not _is_below_a_table(folder):
            return None
    return None


def _kind_of(filesystem: fs.FileSystem, folder: str) -> str | None:
    try:
        log, metadata = filesystem.get_file_info([f"{folder}/_delta_log", f"{folder}/metadata"])
        if log.type == fs.FileType.Directory:
            return "delta"
        if metadata.type == fs.FileType.Directory:
            names = [info.base_name for info in filesystem.get_file_info(fs.FileSelector(f"{folder}/metadata"))]
            if any(name.endswith(".metadata.json") or name == "version-hint.text" for name in names):
                return "iceberg"
    except OSError:
        # Somebody else's file system: Spark may be able to look there, and will say so.
        return None
    return None


def _is_below_a_table(folder: PurePosixPath) -> bool:
    """A file, a partition (`day=2026-01-31`) or Iceberg's folder of files may be a part of the table above."""
    return "=" in folder.name or "." in folder.name or folder.name == "data"


def read_lake(spark: SparkSession, table: str, path: str) -> DataFrame | None:
    """The table that a path or a name stands for; None where it stands for files."""
    if path.startswith(BY_NAME):
        return _by_name(spark, table, path.removeprefix(BY_NAME))
    found = lake_of(path_of(spark, path))
    if found is None:
        return None
    kind, folder = found
    if PurePosixPath(folder).name != PurePosixPath(path.rstrip("/")).name:
        raise InputError([f"{table}: {path} lies in {_NAMES[kind]}: give its folder {folder}"])
    try:
        rows = spark.read.format(kind).load(path_of(spark, path))
        rows.schema  # noqa: B018 - Spark looks for the connector only now
    except SPARK_ERRORS as error:
        if _is_without_connector(error, kind):
            says = "and this session cannot read it"
            raise InputError([f"{table}: {path} is {_NAMES[kind]}, {says}: {_ADVICE[kind]}"]) from None
        raise InputError([f"{table}: {path} is {_NAMES[kind]}: {spark_says(error)}"]) from None
    return rows


def check_connector(spark: SparkSession, kind: str) -> None:
    """Before anything is computed that could then not be written."""
    try:
        spark.read.format(kind).load("/there-is-no-such-table").schema  # noqa: B018 - Spark looks for it only now
    except SPARK_ERRORS as error:
        if _is_without_connector(error, kind):
            raise InputError([f"{_NAMES[kind]} cannot be written by this session: {_ADVICE[kind]}"]) from None


def _is_without_connector(error: Exception, kind: str) -> bool:
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    return condition == "DATA_SOURCE_NOT_FOUND" or f"data source: {kind}" in str(error)


def _by_name(spark: SparkSession, table: str, name: str) -> DataFrame:
    try:
        rows = spark.table(name)
        rows.schema  # noqa: B018 - a remote session looks for it only now
    except SPARK_ERRORS as error:
        raise InputError([f"{table}: there is no table {name!r} to read: {spark_says(error)}"]) from None
    return rows
