"""One job from files to files: read the tables, correlate, write every output, and sum up what came of it.

The first output that is written computes the fold; the others and the summary come from its cache.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline.correlate import correlate
from conjoin.pipeline.correlate.correlated import NAMES, Correlated
from conjoin.pipeline.files.output_files import OutputFolder, write_tables
from conjoin.pipeline.files.tables import TIME_PATTERN, FileTable, read_table
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import spark_errors


@dataclass(frozen=True, slots=True)
class TableJob:
    """`inputs` are paths by table; `policies` are changes to the profile by message name."""

    inputs: Mapping[str, tuple[str, ...]]
    out: str
    file_format: str = "parquet"
    overwrite: bool = False
    as_of: str | None = None
    since: str | None = None
    profile: str = "zeebe"
    policies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class VerdictTally:
    """How many messages have a verdict for a reason with a nearest miss of one kind, and one of them."""

    verdict: str
    reason: str
    count: int
    name: str
    key: str
    told: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What the closing table tells. `rows_in` and `later` are by table, `dead_letters` by table and reason."""

    tallies: list[VerdictTally]
    dead_letters: dict[tuple[str, str], int]
    later: dict[str, int]
    rows_in: dict[str, int]
    rows_out: dict[str, int]
    seconds: float
    as_of: str | None
    notes: list[str]


def run_job(spark: SparkSession, job: TableJob, step: Step) -> TableSummary:
    """Writes all outputs; `step` is told what is being done."""
    step("reading the tables")
    with spark_errors():
        tables = {name: read_table(spark, name, paths) for name, paths in job.inputs.items() if paths}
    try:
        return _correlate(job, tables, step)
    finally:
        for table in tables.values():
            table.release()


def _correlate(job: TableJob, tables: dict[str, FileTable], step: Step) -> TableSummary:
    rows: dict[str, Any] = {name: table.rows for name, table in tables.items()}
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as caught, spark_errors():
        warnings.simplefilter("always", UserWarning)
        correlated = correlate(
            **rows,
            policies=job.policies,
            as_of=job.as_of,
            since=job.since,
            profile=job.profile,
            partitions=job.partitions,
        )
    with correlated, spark_errors():
        outputs = _outputs(correlated, tables)
        write_tables(outputs, OutputFolder(job.out, job.file_format, job.overwrite), step)
        seconds = time.monotonic() - began
        step("summing up")
        notes = [str(warning.message) for warning in caught if warning.category is UserWarning]
        return _summary(outputs, tables, seconds, job.as_of, notes)


def _outputs(correlated: Correlated, tables: dict[str, FileTable]) -> dict[str, DataFrame]:
    """All outputs; what no table could read as a row at all is a dead letter as well."""
    outputs = correlated.tables()
    unreadable = [table.unreadable for table in tables.values() if table.unreadable is not None]
    outputs["dead_letters"] = reduce(DataFrame.unionByName, unreadable, outputs["dead_letters"])
    return outputs


def _summary(
    outputs: dict[str, DataFrame], tables: dict[str, FileTable], seconds: float, as_of: str | None, notes: list[str]
) -> TableSummary:
    tallies = _tallies(outputs["verdicts"])
    dead, later = _set_aside(outputs)
    known = {"verdicts": sum(t.count for t in tallies), "dead_letters": sum(dead.values())}
    known["later"] = sum(later.values())
    counted, latest = _counted({name: frame for name, frame in outputs.items() if name not in known}, tables)
    rows_out = {name: known.get(name, counted.get(name, 0)) for name in NAMES}
    unreadable = {table: count for (table, reason), count in dead.items() if reason == "unreadable"}
    rows_in = {name: counted.get(f"in {name}", 0) + unreadable.get(name, 0) for name in tables}
    return TableSummary(tallies, dead, later, rows_in, rows_out, seconds, as_of or latest, notes)


def _set_aside(outputs: dict[str, DataFrame]) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Dead letters by table and reason, and later rows by table: one job for both."""
    dead = outputs["dead_letters"].select("table", "reason")
    later = outputs["later"].select("table", F.lit(None).cast("string").alias("reason"))
    rows = dead.union(later).groupBy("table", "reason").agg(F.count(F.lit(1)).alias("n")).collect()
    counts = {(row["table"], row["reason"]): row["n"] for row in rows}
    return (
        {(table, reason): count for (table, reason), count in sorted(counts.items(), key=str) if reason},
        {table: count for (table, reason), count in counts.items() if not reason},
    )


def _tallies(verdicts: DataFrame) -> list[VerdictTally]:
    """Counts by reason and kind of the nearest miss, each with its earliest message."""
    key = F.col("correlation_key").cast("string") if "correlation_key" in verdicts.columns else F.lit("")
    nearest = F.when(
        F.col("verdict") != "correlated",
        F.coalesce(
            F.get_json_object("detail", "$.near_misses[0].kind"),
            F.get_json_object("detail", "$.next_subscription.process"),
        ),
    )
    one = F.struct(
        F.col("published_at").alias("at"), key.alias("key"), F.col("name").cast("string").alias("name"), "detail"
    )
    grouped = verdicts.groupBy("verdict", "reason", nearest.alias("nearest"))
    counted = grouped.agg(F.count(F.lit(1)).alias("n"), F.min(one).alias("one"))
    rows = counted.select("verdict", "reason", "nearest", "n", "one.key", "one.name", "one.detail").collect()
    ordered = sorted(rows, key=lambda row: (row["verdict"], row["reason"], row["nearest"] or ""))
    return [
        VerdictTally(
            r["verdict"], r["reason"], r["n"], r["name"] or "", r["key"] or "", msgspec.json.decode(r["detail"])
        )
        for r in ordered
    ]


def _counted(outputs: dict[str, DataFrame], tables: dict[str, FileTable]) -> tuple[dict[str, int], str | None]:
    """Rows of each table in one job, and the instant of judgement as far as an output tells it."""
    frames = outputs | {f"in {name}": table.rows for name, table in tables.items()}
    marked = reduce(DataFrame.union, [_marked(name, frame) for name, frame in frames.items()])
    latest = F.date_format(F.max("kept"), TIME_PATTERN)
    rows = marked.groupBy("name").agg(F.count(F.lit(1)).alias("n"), latest.alias("latest")).collect()
    instants = [row["latest"].replace(".000000", "") for row in rows if row["latest"]]
    return {row["name"]: row["n"] for row in rows}, max(instants, default=None)


def _marked(name: str, frame: DataFrame) -> DataFrame:
    kept = F.col("kept_at") if name in ("buffered", "open") else F.lit(None).cast("timestamp")
    return frame.select(F.lit(name).alias("name"), kept.alias("kept"))
