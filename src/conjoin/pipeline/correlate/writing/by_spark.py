"""Tables that Spark's writers write: by name, in partitions, as Delta, and where pyarrow cannot write.

Each is written for itself, a Delta table by one commit. Nothing is common to them but what the run tells of itself, and
that comes last: `_run.json` where there is a folder for it, else a table of one row.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from conjoin.errors import InputError
from conjoin.pipeline.correlate.results import schema_of
from conjoin.pipeline.correlate.writing.run_folder import RunFolder
from conjoin.pipeline.correlate.writing.run_record import RunRecord, WrittenRun
from conjoin.pipeline.files.lakes import check_connector
from conjoin.pipeline.files.output_files import OutputPlace, write_tables
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.session.temporarily import temporarily

if TYPE_CHECKING:
    from conjoin.pipeline.correlate.correlated import Correlated

RUN = "run"
"""Beside the outputs by name: the table in which a run tells of itself."""

Do = Callable[[Callable[[], Any]], Any]
"""Does something with files, here or in a task."""


def write_by_spark(
    result: "Correlated", out: OutputPlace, tables: frozenset[str], home: RunFolder | None, do: Do
) -> tuple[WrittenRun, dict[str, Callable[[], DataFrame]]]:
    """The run, and the outputs as they are read back."""
    inputs = result.inputs
    _check(result, out, tables)
    record = RunRecord(result.first_pass.as_of, inputs.since, inputs.policies, out.file_format, "spark")
    if home is not None:
        do(lambda: home.leave_to_spark(tables, out.overwrite))
    wanted = {name: frame for name, frame in result.tables().items() if name in tables}
    counts = result.counts()
    rows = {name: frame.count() for name, frame in wanted.items()}
    described = record.described(rows, counts, {name: [] for name in wanted})
    # For a table by name Delta takes it from the session alone.
    with temporarily(inputs.spark, {_OF_COMMITS: _told(described)} if out.file_format == "delta" else {}):
        if out.by_name:
            # Gone while the tables are replaced: a run that dies leaves none that looks finished.
            inputs.spark.sql(f"drop table if exists {out.of(RUN)}")
        write_tables(wanted, out)
        if out.by_name:
            told = inputs.spark.createDataFrame([(json.dumps(described),)], "run string")
            write_tables({RUN: told}, replace(out, partition_by=()))
    if home is not None:
        do(lambda: home.told(described))
    return WrittenRun(out.address, result.first_pass.as_of, rows, counts), _read_back(result, out, tables)


def read_run_table(spark: SparkSession, address: str) -> dict[str, Any] | None:
    """What a finished run tells of itself whose tables are `table:NAME`; None where none is."""
    name = OutputPlace(address).of(RUN)
    with spark_errors():
        rows = spark.table(name).collect() if spark.catalog.tableExists(name) else []
    return json.loads(rows[0]["run"]) if rows else None


_NO_FOLDERS = ("array", "map", "struct", "variant", "binary", "interval")


def _check(result: "Correlated", out: OutputPlace, tables: frozenset[str]) -> None:
    inputs, problems = result.inputs, []
    schemas = {name: schema_of(name, inputs.types["messages"], inputs.layout) for name in sorted(tables)}
    known = sorted({column for schema in schemas.values() for column in schema.names})
    for column in out.partition_by:
        if column not in known:
            problems.append(f"partition by {column}: no output has such a column; there are {', '.join(known)}")
    for name, schema in schemas.items():
        by = {column: schema[column].dataType.simpleString() for column in out.partition_by if column in schema.names}
        nested = {column: kind for column, kind in by.items() if kind.startswith(_NO_FOLDERS)}
        problems += [f"partition by {column}: in {name} it is {kind}" for column, kind in nested.items()]
        if by and len(by) == len(schema.names):
            problems.append(f"partition by {', '.join(by)}: {name} would have no column left")
    if out.by_name and not out.overwrite:
        there = [name for name in map(out.of, [*sorted(tables), RUN]) if inputs.spark.catalog.tableExists(name)]
        problems += [f"there is a table {name} already; overwrite replaces it" for name in there]
    if problems:
        raise InputError(problems)
    if out.file_format == "delta":
        check_connector(inputs.spark, "delta")


_OF_COMMITS = "spark.databricks.delta.commitInfo.userMetadata"
_OF_THE_RUN = ("conjoin", "engine", "as_of", "since", "policies", "began_at", "rows")


def _told(described: dict[str, Any]) -> str:
    """What the commit of each table says: of which run it is. What was counted is in `_run.json`."""
    return json.dumps({name: described[name] for name in _OF_THE_RUN})


def _read_back(result: "Correlated", out: OutputPlace, tables: frozenset[str]) -> dict[str, Callable[[], DataFrame]]:
    """Of what keeps the types of its columns; each when it is asked for."""
    inputs, spark = result.inputs, result.inputs.spark

    def read(table: str) -> DataFrame:
        schema = schema_of(table, inputs.types["messages"], inputs.layout)
        if out.by_name:
            rows = spark.table(out.of(table))
        elif out.file_format == "delta":
            rows = spark.read.format("delta").load(out.of(table))
        else:
            rows = spark.read.schema(schema).parquet(out.of(table))
        # Columns that are folders come last.
        return rows.select(*(f"`{name}`" for name in schema.names))

    if out.file_format not in ("parquet", "delta"):
        return {}
    return {table: cache(partial(read, table)) for table in tables}
