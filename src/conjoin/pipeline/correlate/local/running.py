"""A run without Spark: the rows of all tables in order, through the fold, into the folder of the run."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import Types, types_of
from conjoin.pipeline.correlate.correlated import CorrelateInputs
from conjoin.pipeline.correlate.fold.counts import merged
from conjoin.pipeline.correlate.fold.fold import BATCH_ROWS, FoldPlan, PartitionFold
from conjoin.pipeline.correlate.local.first_pass import look_over, positions, read_columns
from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.local.text_output import write_text
from conjoin.pipeline.correlate.local.types import arrow_of
from conjoin.pipeline.correlate.near.writing import near_reports_here
from conjoin.pipeline.correlate.results import ARROW, NAMES, NEAR, fields_of
from conjoin.pipeline.correlate.shape import KIND
from conjoin.pipeline.correlate.writing.parquet_sink import ParquetSink, PartitionReport, WrittenFile
from conjoin.pipeline.correlate.writing.run_folder import RunFolder
from conjoin.pipeline.correlate.writing.run_record import RunRecord, WrittenRun


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run that is ready to be written: nothing in it can turn out to be Spark's any more."""

    inputs: CorrelateInputs
    plan: FoldPlan
    batch: pa.RecordBatch

    def write(self, folder: str, file_format: str, overwrite: bool) -> WrittenRun:
        """All outputs, which appear together."""
        inputs = self.inputs
        tables = [name for name in NAMES if name != NEAR or inputs.near]
        home = RunFolder(fs.LocalFileSystem(), str(Path(folder).absolute()), uuid.uuid4().hex[:16])
        record = RunRecord(self.plan.as_of, inputs.since, inputs.policies, file_format, "local")
        home.begin(overwrite)
        try:
            reports = [self._folded(ParquetSink(home.filesystem, home.staged, frozenset(tables) - {NEAR}, 0))]
            if inputs.near:
                reports += near_reports_here(home, reports, inputs.policies)
            written = [file for report in reports for file in report.files]
            files: dict[str, list[Any]] = {name: [it for it in written if it.table == name] for name in tables}
            rows = {name: sum(file.rows for file in some) for name, some in files.items()}
            for name in tables:
                files[name] = files[name] or [self._empty_file(home, name)]
            if file_format != "parquet":
                files = {name: write_text(f"{home.staged}/{name}", some, file_format) for name, some in files.items()}
            counts = merged([report.counts for report in reports])
            home.commit(record.described(rows, counts, files))
        except BaseException:  # whatever it was, nothing staged is left behind
            home.abandon()
            raise
        return WrittenRun(folder, self.plan.as_of, rows, counts)

    def _folded(self, sink: ParquetSink) -> PartitionReport:
        batches = (self.batch.slice(at, BATCH_ROWS) for at in range(0, self.batch.num_rows, BATCH_ROWS))
        [report] = PartitionFold(self.plan, sink).take(batches)
        return msgspec.json.decode(report.column("report")[0].as_py(), type=PartitionReport)

    def _empty_file(self, home: RunFolder, table: str) -> WrittenFile:
        """A table without rows has its columns all the same."""
        fields = fields_of(table, self.inputs.types["messages"], self.inputs.layout)
        kinds = {n: ARROW[it] if isinstance(it, str) else arrow_of(it.simpleString()) for n, it in fields.items()}
        name = "part-00000-empty.parquet"
        empty = pa.schema(list(kinds.items())).empty_table()
        pq.write_table(empty, f"{home.staged}/{table}/{name}", filesystem=home.filesystem, store_schema=False)
        return WrittenFile(table, name, 0, 0)


def prepared(inputs: CorrelateInputs) -> LocalRun:
    """The rows as the fold takes them."""
    tables: dict[str, Any] = dict(inputs.tables)
    first = look_over(tables, inputs.types, inputs.as_of, inputs.unique_positions)
    if first.repeated:
        tables["messages"] = _marked(tables["messages"], inputs.types["messages"])
    marked = _with_tables(inputs, tables)
    frame: Any = events.of_one_shape(marked.row_frames(0), inputs.types["messages"], inputs.layout)
    return LocalRun(inputs, inputs.plan(first), _in_order(frame).batch())


def _with_tables(inputs: CorrelateInputs, tables: Mapping[str, Any]) -> CorrelateInputs:
    return replace(inputs, tables=dict(tables))


def _marked(messages: LocalFrame, types: Types) -> LocalFrame:
    """Rows that share a position: true for those that are kept, false for the others, as events.py has it."""
    present, values = positions(messages, types)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    hashes = messages.value(events.told_apart(read_columns("messages", types))).to_numpy()[present]
    lowest = np.full(len(counts), np.iinfo(np.int64).max)
    np.minimum.at(lowest, inverse, hashes)
    marks: list[bool | None] = [None] * messages.height
    are_kept = (lowest[inverse] == hashes).tolist()
    for row, is_shared, is_kept in zip(present.tolist(), (counts[inverse] > 1).tolist(), are_kept, strict=True):
        if is_shared:
            marks[row] = is_kept
    return LocalFrame(messages.arrays | {events.REPEATS: pa.array(marks, pa.bool_())}, messages.height)


def _in_order(frame: LocalFrame) -> LocalFrame:
    """By key, and within a key as events.py says. A row is only hashed where nothing else tells it from others."""
    order = {"key": frame.value(events.KEY), "at": frame.arrays.get("at", pa.nulls(frame.height, pa.int64()))}
    order["kind"] = pa.array(np.abs(frame.arrays["kind"].to_numpy()).astype(np.int64) & KIND)
    order |= {name: frame.arrays[name] for name in ("position", "id")}
    first = _sorted(order)
    alike = np.ones(max(frame.height - 1, 0), dtype=bool)
    for array in order.values():
        codes = array.take(pa.array(first)).dictionary_encode(null_encoding="encode").indices.to_numpy()
        alike &= codes[1:] == codes[:-1]
    tied = np.zeros(frame.height, dtype=bool)
    tied[1:] |= alike
    tied[:-1] |= alike
    tied &= frame.arrays["position"].is_null().to_numpy(zero_copy_only=False)[first]
    if not tied.any():
        return frame.taken(first)
    rows = first[tied]
    hashes = frame.taken(rows).value(events.row_hash(types_of(frame)))  # type: ignore[arg-type]
    whole = np.zeros(frame.height, dtype=np.int64)
    whole[rows] = hashes.to_numpy()
    return frame.taken(_sorted(order | {"whole": pa.array(whole)}))


def _sorted(columns: Mapping[str, pa.Array]) -> np.ndarray:
    """Stable, nulls first, texts by their bytes: as Spark sorts."""
    keys: dict[str, pa.Array] = {}
    for name, array in columns.items():
        if array.null_count:
            keys[f"{name} is there"] = array.is_valid()
        keys[name] = array
    found: np.ndarray = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    return found
