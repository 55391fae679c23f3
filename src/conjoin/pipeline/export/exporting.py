"""An export: each table is written out of sight and made visible when it is whole. What writes it is a `Writer`.

Events are added, each once, commit by commit of the log. Every other table changes, so it is replaced by how it is now.
A run that dies leaves what it has finished; the next one goes on from there.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet
from pyspark.sql import SparkSession

from conjoin.errors import ExtraMissing, InputError
from conjoin.pipeline.export.ranges import CommitRange, check_still_there, next_ranges
from conjoin.pipeline.export.target import DELTA, EVENTS, PARQUET, ExportTarget, opened_folder
from conjoin.pipeline.export.writing import SparkWriter
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.source.options import check_store
from conjoin.pipeline.source.tables import TABLES
from conjoin.runtime.opening import now_us
from conjoin.times.iso8601 import instant_text


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to export: tables of the store at an address, to a folder that driver and workers share."""

    address: str
    folder: Path
    tables: Sequence[str] = tuple(TABLES)
    format: str = PARQUET


@dataclass(slots=True)
class Exported:
    """`rows` are those written now, by table; the manifest tells all that is in the folder."""

    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    manifest: dict[str, Any] = field(default_factory=dict)


class Writer(Protocol):
    """Writes Parquet files to a folder that is not there yet; the answer is how many rows."""

    def events(self, ranges: Sequence[CommitRange], folder: Path) -> int:
        """In folders `shard=...`, none for a shard without events."""

    def table(self, name: str, folder: Path) -> int:
        """All rows as they are now; a table without rows still has its columns."""


@contextmanager
def opened_target(folder: Path, format_: str = PARQUET) -> Iterator[ExportTarget]:
    with opened_folder(folder, format_) as parts:
        if format_ == PARQUET:
            yield ExportTarget(folder, parts)
            return
        # Not at the top: deltalake is an extra of the installation.
        from conjoin.pipeline.export.delta import DeltaTarget

        yield DeltaTarget(folder, parts)


def export_tables(spark: SparkSession, order: ExportRequest, step: Step = lambda text: None) -> Exported:
    """Raises `InputError` for a folder or tables that will not do, and what opening the store raises."""
    check_order(order)
    with spark_errors():
        return carry_out(order, SparkWriter(spark, order.address), step)


def check_order(order: ExportRequest) -> None:
    """What can be seen to be wrong before Spark is started."""
    unknown = [name for name in order.tables if name not in TABLES]
    if unknown:
        raise InputError([f"--tables: there is no table {unknown[0]!r}, but {', '.join(TABLES)}"])
    if ":/" in str(order.folder):
        raise InputError([f"--out: {order.folder} is no folder of this machine: tables appear by renaming folders"])
    if order.format not in (PARQUET, DELTA):
        raise InputError([f"--format: {order.format!r} is neither {PARQUET} nor {DELTA}"])
    if order.format == DELTA and find_spec("deltalake") is None:
        raise ExtraMissing("conjoin spark export --format delta", "deltalake", "delta")
    check_store(order.address)


def carry_out(order: ExportRequest, writer: Writer, step: Step) -> Exported:
    exported = Exported()
    with opened_target(order.folder.absolute(), order.format) as target:
        for table in order.tables:
            step(f"writing {table}")
            if table == EVENTS:
                exported.rows[table] = _add_events(order.address, target, writer, exported.notes)
                continue
            at, part = instant_text(now_us()), target.part(table)
            exported.rows[table] = written = writer.table(table, part)
            _check_here(table, part, written)
            target.replace(table, {"rows": written, "at": at})
        exported.manifest = target.write_manifest(instant_text(now_us()))
    return exported


def _add_events(address: str, target: ExportTarget, writer: Writer, notes: list[str]) -> int:
    """A folder for each shard and range of commits; a range without events leaves none, and is looked at again."""
    ranges, found = next_ranges(address, target.events())
    notes.extend(found)
    if not ranges:
        return 0
    part = target.part(EVENTS)
    written = writer.events(ranges, part)
    _check_here(EVENTS, part, written)
    check_still_there(address, ranges)
    for it in ranges:
        if (mine := part / f"shard={it.shard}").exists():
            commit = {"rows": rows_in(mine), "fingerprint": it.fingerprint}
            target.add_events(it.shard, (it.first, it.last), commit)
    return written


def _check_here(table: str, part: Path, written: int) -> None:
    """Workers on other machines would write to a folder of theirs."""
    if rows_in(part) != written:
        raise InputError([f"--out: {written} rows of {table} were written elsewhere: the workers must share it"])


def rows_in(folder: Path) -> int:
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))
