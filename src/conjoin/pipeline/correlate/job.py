"""One job from files to files: read the tables, correlate, write every output, and sum up what came of it."""

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from conjoin.pipeline.correlate.correlate import inputs_of, policies_of
from conjoin.pipeline.correlate.correlated import Correlated, CorrelateInputs, FirstPass
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.fold.detail import iso
from conjoin.pipeline.correlate.results import NAMES
from conjoin.pipeline.correlate.writing.run_record import WrittenRun
from conjoin.pipeline.files.column_names import ColumnNames
from conjoin.pipeline.session.progress import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conjoin.pipeline.files.tables import FileTable


_SHORT_BYTES = 64 * 1024 * 1024
"""Three million events in Parquet, half a million as text."""


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
    near: bool = True
    names: ColumnNames = field(default_factory=ColumnNames)
    partition_by: tuple[str, ...] = ()

    @property
    def is_short(self) -> bool:
        """Are all its files here, and few?"""
        files = [path for paths in self.inputs.values() for given in paths for path in _inside(Path(given))]
        return sum(path.stat().st_size if path.is_file() else _SHORT_BYTES for path in files) < _SHORT_BYTES


def _inside(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


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
    near: dict[str, int] = field(default_factory=dict)
    """Messages that nobody took though somebody waits with nearly their key, by what the keys differ in."""
    engine: str = "spark"
    kept: dict[str, int] = field(default_factory=dict)
    """Of `rows_in`: those that a run before has kept."""
    still_offered: int = 0
    """Messages in `buffered` that somebody has taken already."""
    shared: float = 0.0
    """The share of rows whose histories shared an answer."""


def run_job(spark: "SparkSession", job: TableJob, step: Step, first: FirstPass | None = None) -> TableSummary:
    """Writes all outputs; `step` is told what is being done. `first`: if somebody has looked the tables over."""
    from conjoin.pipeline.files.tables import read_table
    from conjoin.pipeline.session.session import spark_errors

    step("reading the tables")
    with spark_errors():
        tables = {name: read_table(spark, name, paths, job.names) for name, paths in job.inputs.items() if paths}
        job.names.check_all_seen()
    try:
        return _correlate(job, tables, step, first)
    finally:
        for table in tables.values():
            table.release()


def _correlate(job: TableJob, tables: "dict[str, FileTable]", step: Step, first: FirstPass | None) -> TableSummary:
    from conjoin.pipeline.session.session import spark_errors

    rows: dict[str, Any] = {name: table.rows for name, table in tables.items()}
    unreadable: dict[str, Any] = {name: it.unreadable for name, it in tables.items() if it.unreadable is not None}
    began = time.monotonic()
    with _noted() as notes, spark_errors():
        correlated = Correlated(_inputs(job, rows, unreadable, partitions=job.partitions, first=first))
    with correlated, spark_errors():
        step("looking over the tables")
        starts = len(correlated.first_pass.starts)
        step("correlating and writing")
        run = correlated.write(job.out, job.file_format, job.overwrite, partition_by=job.partition_by)
        return _summary(run, starts, time.monotonic() - began, notes)


_CROWDED_ROWS, _CROWDED_SHARE = 100_000, 0.05


def _crowded(counts: PartitionCounts) -> Iterator[str]:
    """The rows of a key are carried out in order, so they cannot be split: whoever has many should know."""
    rows, key = counts.largest_key
    total = sum(counts.rows_in.values())
    if rows >= _CROWDED_ROWS and rows >= _CROWDED_SHARE * total:
        whose = f"have the key {key!r}" if key else "have no correlation key"
        yield f"{rows:,} of {total:,} rows {whose}: they are carried out in order, by one task"


def run_locally(job: TableJob, step: Step, any_size: bool = False) -> TableSummary:
    """The same without Spark; `NotLocal` before anything is written, where that would not be the same."""
    from conjoin.pipeline.correlate.local.not_local import NotLocal
    from conjoin.pipeline.correlate.local.reading import MOST_BYTES, MOST_ROWS, Allowance, read_locally
    from conjoin.pipeline.correlate.local.running import prepared

    if job.partition_by or job.file_format == "delta" or job.out.startswith("table:"):
        raise NotLocal("tables by name, in partitions or of Delta are written by Spark")
    began = time.monotonic()
    step("reading the tables")
    allowance = Allowance(None, None) if any_size else Allowance(MOST_ROWS, MOST_BYTES)
    tables = {name: read_locally(name, paths, allowance, job.names) for name, paths in job.inputs.items() if paths}
    job.names.check_all_seen()
    rows: dict[str, Any] = {name: table.rows for name, table in tables.items()}
    unreadable: dict[str, Any] = {name: it.unreadable for name, it in tables.items() if it.unreadable.height}
    with _noted() as notes:
        inputs = _inputs(job, rows, unreadable)
    run = prepared(inputs)
    step("correlating and writing")
    written = run.write(job.out, job.file_format, job.overwrite)
    return _summary(written, len(run.plan.starts), time.monotonic() - began, notes, "local")


def _inputs(job: TableJob, rows: dict[str, Any], unreadable: dict[str, Any], **more: Any) -> CorrelateInputs:
    policies = policies_of(job.policies, job.profile)
    return inputs_of(rows, policies, True, job.as_of, job.since, unreadable=unreadable, near=job.near, **more)


@contextmanager
def _noted() -> Iterator[list[str]]:
    """Warnings about the tables, as texts, once it is over."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]


def _summary(run: WrittenRun, starts: int, seconds: float, notes: list[str], engine: str = "spark") -> TableSummary:
    counts = run.counts
    tallies = [
        VerdictTally(t.verdict, t.reason, t.count, t.example.name, t.example.key, msgspec.json.decode(t.example.detail))
        for t in counts.tallies
    ]
    dead = {(name.partition(" ")[0], name.partition(" ")[2]): n for name, n in sorted(counts.dead_letters.items())}
    rows_in = counts.rows_in | {"starts": counts.rows_in.get("starts", 0) + starts}
    notes = [*notes, *_crowded(counts)]
    rows_out = {name: run.rows.get(name, 0) for name in NAMES if name in run.rows}
    shared = counts.shared_rows / max(1, sum(counts.rows_in.values()))
    figures = (rows_in, rows_out, seconds, iso(run.as_of), notes, counts.near, engine)
    return TableSummary(tallies, dead, counts.later, *figures, counts.kept, counts.still_offered, shared)
