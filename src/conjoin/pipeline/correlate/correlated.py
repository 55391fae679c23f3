"""Correlated: the tables that come out, as DataFrames that are computed when they are used, or written to files.

The DataFrames are views of one folded table, which is cached by the first of them that is used (on disk where memory is
short) and read again by the others. `write` folds straight into files instead: nothing goes back into Spark.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec
import pyarrow as pa

from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import Types
from conjoin.pipeline.correlate.fold.counts import PartitionCounts, merged
from conjoin.pipeline.correlate.fold.fold import FoldPlan, PartitionFold
from conjoin.pipeline.correlate.fold.packed_batches import COUNTS, PACKED, PackedSink, unpacked
from conjoin.pipeline.correlate.results import DEAD, LATER, LOCKED, NAMES, NEAR, OPENED, PAIRS, VERDICTS, schema_of
from conjoin.pipeline.correlate.shape import Layout
from conjoin.pipeline.session.temporarily import FEW_TASKS, temporarily
from conjoin.pipeline.session.worker import in_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from conjoin.pipeline.correlate.writing.run_record import WrittenRun


@dataclass(frozen=True, slots=True)
class FirstPass:
    """What every partition must know before rows are folded. `repeated`: how many positions occur more than once.
    `longest`: the bytes of the longest variables; None: it was not looked for."""

    as_of: int
    starts: list[dict[str, Any]] = field(default_factory=list)
    repeated: int = 0
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class CorrelateInputs:
    """Tables that have been checked, and what was said about them. `unreadable` are rows that no reader could take for
    one of a table, as `dead_letters` has them."""

    tables: "dict[str, DataFrame]"
    types: dict[str, Types]
    layout: Layout
    policies: Policies
    as_of: int | None = None
    since: int | None = None
    partitions: int | None = None
    unique_positions: bool = False
    unreadable: "dict[str, DataFrame]" = field(default_factory=dict)
    near: bool = True
    """Are near misses on other keys looked for?"""
    first: FirstPass | None = None
    """If somebody has looked the tables over already."""

    @property
    def spark(self) -> "SparkSession":
        return self.tables["messages"].sparkSession

    def rows(self, repeated: int) -> "DataFrame":
        """All rows of a correlation key in one partition, one key after the other, each in its order."""
        return events.in_order(self.row_frames(repeated), self.types["messages"], self.layout, self.partitions)

    def row_frames(self, repeated: int) -> "list[DataFrame]":
        """The rows of each table, with the slots that it fills."""
        given, types = self.tables, self.types
        rows = [
            events.message_rows(given["messages"], types["messages"], self.layout, self.policies, repeated),
            events.subscription_rows(given["subscriptions"], types["subscriptions"], self.policies),
        ]
        others = {
            "starts": events.start_rows,
            "ends": events.end_rows,
            "locks": events.lock_rows,
            "ids": events.id_rows,
        }
        rows += [make(given[name], types[name]) for name, make in others.items() if name in given]
        rows += [events.unreadable_rows(name, frame) for name, frame in self.unreadable.items()]
        return rows

    def plan(self, first: FirstPass) -> FoldPlan:
        return FoldPlan(self.layout, self.policies, first.as_of, self.since, first.starts)


class Correlated:
    """What became of the messages. Nothing is computed before a table is used, or all of them are written."""

    def __init__(self, inputs: CorrelateInputs) -> None:
        self.inputs = inputs
        self._written: dict[str, Callable[[], DataFrame]] = {}
        self._counts: PartitionCounts | None = None

    @property
    def first_pass(self) -> FirstPass:
        return self._looked_over[0]

    @property
    def rows(self) -> "DataFrame":
        """All rows of a correlation key in one partition, one key after the other, each in its order."""
        return self._looked_over[1]

    @cached_property
    def _looked_over(self) -> "tuple[FirstPass, DataFrame]":
        """The plan for the rows is made meanwhile; positions that occur twice are seldom, and need another."""
        from conjoin.pipeline.correlate.first_pass import beside, look_over

        inputs = self.inputs
        if inputs.first is not None:
            return inputs.first, inputs.rows(inputs.first.repeated)
        with temporarily(inputs.spark, FEW_TASKS), beside(inputs.spark, lambda: inputs.rows(0)) as rows:
            first = look_over(inputs.tables, inputs.types, inputs.as_of, inputs.unique_positions)
        return first, inputs.rows(first.repeated) if first.repeated else rows.result()

    @cached_property
    def _folded(self) -> "DataFrame":
        from pyspark import StorageLevel

        plan = self.inputs.plan(self.first_pass)

        @in_worker
        def fold(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
            return PartitionFold(plan, PackedSink()).take(batches)

        # Planned here and now; it runs when it is used.
        with temporarily(self.inputs.spark, FEW_TASKS):
            return self.rows.mapInArrow(fold, PACKED).persist(StorageLevel.MEMORY_AND_DISK)

    def _of(self, table: str) -> "DataFrame":
        if table in self._written:
            return self._written[table]()
        if table == NEAR:
            return self._near()
        schema = schema_of(table, self.inputs.types["messages"], self.inputs.layout)
        rows = self._folded.where(f"table = '{table}'")
        if table not in (VERDICTS, PAIRS):
            # Mostly small: a task each would cost more than what is in it.
            partitions = self.inputs.partitions or int(self.inputs.spark.conf.get("spark.sql.shuffle.partitions") or 1)
            rows = rows.coalesce(max(1, partitions // 4))
        numbered = ", ".join(f"c{number} {f.dataType.simpleString()}" for number, f in enumerate(schema))
        told = rows.mapInArrow(unpacked, numbered).toDF(*schema.names)
        # Spark sees that nothing can pass, and does not run what is below.
        return told.where("false") if self._is_barren(table) else told

    def _near(self) -> "DataFrame":
        from conjoin.pipeline.correlate.near.on_spark import lazily, meetings

        types, policies = self.inputs.types["messages"], self.inputs.policies
        schema = schema_of(NEAR, types, self.inputs.layout)
        numbered = ", ".join(f"c{number} {f.dataType.simpleString()}" for number, f in enumerate(schema))
        met = meetings(self._of(VERDICTS), self._of(OPENED), types, policies)
        found = met.mapInArrow(lazily, numbered).toDF(*schema.names)
        return found if self.inputs.near else found.where("false")

    def _is_barren(self, table: str) -> bool:
        """Nothing is later than the latest time, and only a start or an earlier run leaves locks."""
        if table == LATER:
            return self.inputs.as_of is None
        return table == LOCKED and not self.inputs.tables.keys() & {"starts", "locks"}

    @property
    def verdicts(self) -> "DataFrame":
        """Every message with its columns and `verdict, reason, detail, decided_at, correlated_to`."""
        return self._of(VERDICTS)

    @property
    def correlations(self) -> "DataFrame":
        """One row for each pair of a message and the instance that took it."""
        return self._of(PAIRS)

    @property
    def buffered(self) -> "DataFrame":
        """The messages still offered, with `taken_by` and their verdict so far: input for the next run."""
        return self._of("buffered")

    @property
    def open(self) -> "DataFrame":
        """The subscriptions that still wait: input for the next run."""
        return self._of("open")

    @property
    def locks(self) -> "DataFrame":
        """The locks of message-started instances that have not ended: input for the next run."""
        return self._of(LOCKED)

    @property
    def ids(self) -> "DataFrame":
        """The message ids still remembered: input for the next run."""
        return self._of("ids")

    @property
    def later(self) -> "DataFrame":
        """Rows after `as_of`, untouched, as JSON with the name of their table."""
        return self._of(LATER)

    @property
    def dead_letters(self) -> "DataFrame":
        """Rows that could not be used, each with its reason."""
        return self._of(DEAD)

    @property
    def near_misses(self) -> "DataFrame":
        """The messages that nobody took though somebody waits with nearly their key: what differs, and who waits."""
        return self._of(NEAR)

    @property
    def ends_ignored(self) -> "DataFrame":
        """How many ends found no lock to free: one row."""
        if self._counts is not None:
            return self.inputs.spark.createDataFrame([(self._counts.ends_ignored,)], "count bigint")
        counts = self._folded.where(f"table = '{COUNTS}'").selectExpr("cast(rows as string) as counts")
        ignored = "cast(get_json_object(counts, '$.ends_ignored') as bigint)"
        return counts.selectExpr(f"coalesce(sum({ignored}), 0) as count")

    def counts(self) -> PartitionCounts:
        """What was counted while the rows were folded."""
        if self._counts is None:
            rows = self._folded.where(f"table = '{COUNTS}'").select("rows").collect()
            self._counts = merged([msgspec.json.decode(row[0], type=PartitionCounts) for row in rows])
        return self._counts

    def tables(self) -> "dict[str, DataFrame]":
        """All outputs by name."""
        return {name: self._of(name) for name in self._names(NAMES)}

    def _names(self, tables: Collection[str]) -> list[str]:
        return [name for name in tables if name != NEAR or self.inputs.near]

    def write(
        self,
        folder: str,
        file_format: str = "parquet",
        overwrite: bool = False,
        tables: Collection[str] = NAMES,
        partition_by: Sequence[str] = (),
        file_bytes: int | None = None,
    ) -> "WrittenRun":
        """Write the outputs, a folder each, in one pass over the data; all of them appear together.

        The folder must not hold anything yet unless `overwrite` allows to replace the tables of an earlier run. From
        then on the DataFrames read the files. A `folder` of `table:NAME` stands for tables of Spark's catalog; those,
        Delta tables, and any with `partition_by`, Spark writes one after the other. A task begins a further file when
        one has `file_bytes` (default: 256 MiB).
        """
        from conjoin.pipeline.correlate.writing.writing import write
        from conjoin.pipeline.files.output_files import FILE_BYTES, OutputPlace

        out = OutputPlace(folder, file_format, overwrite, tuple(partition_by), file_bytes or FILE_BYTES)
        run, self._written = write(self, out, frozenset(self._names(tables)))
        self._counts = run.counts
        self.unpersist()
        return run

    def unpersist(self) -> None:
        """Let go of the cached rows."""
        if "_folded" in self.__dict__:
            self._folded.unpersist()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unpersist()
