"""What a pipeline does: correlate streams, or tables. Tables beside streams are what there was before: taken once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from conjoin.errors import InputError
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import types_of
from conjoin.pipeline.correlate.correlate import correlate
from conjoin.pipeline.declared.delivery import SinkDelivery
from conjoin.pipeline.declared.file import CorrelateTable, PipelineTable
from conjoin.pipeline.declared.sources import mapped, read_source
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of
from conjoin.pipeline.streaming.batches import BatchReport
from conjoin.pipeline.streaming.stream import CorrelateStream, correlate_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from conjoin.pipeline.correlate.writing.run_record import WrittenRun

OnBatch = Callable[[BatchReport], None]


def frames_of(spark: "SparkSession", declared: PipelineTable) -> dict[str, Any]:
    """Every source as `correlate` takes it. All that Spark finds wrong with them is told at once."""
    frames: dict[str, Any] = {}
    problems: list[str] = []
    for name, source in declared.sources.items():
        try:
            frames[name] = mapped(read_source(spark, source), source)
        except InputError as error:
            problems += [f"sources.{name}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(problems)
    return frames


def correlate_tables(spark: "SparkSession", declared: PipelineTable, it: CorrelateTable) -> "WrittenRun":
    """One run over tables; it replaces what the last one wrote."""
    frames = frames_of(spark, declared)
    others = events.other_columns(types_of(frames["messages"]))
    with correlate(**frames, policies=it.rules, carry=others) as result:
        return result.write(it.out, it.format, overwrite=True)


def stream_of(
    spark: "SparkSession", declared: PipelineTable, it: CorrelateTable
) -> tuple[CorrelateStream, "dict[str, DataFrame]"]:
    """The streams, and the tables of what there was before them."""
    frames = frames_of(spark, declared)
    before = {name: frames.pop(name) for name, source in declared.sources.items() if not source.stream}
    starts = before.pop("starts", None)
    if starts is not None:
        frames["starts"] = starts
    if "subscriptions" not in frames:
        frames["subscriptions"] = _nothing(before["subscriptions"], frames["messages"])
    stream = correlate_stream(
        **frames,
        state=it.state,
        out=it.out,
        lateness=f"{it.lateness}ms",
        policies=it.rules,
        buckets=it.buckets,
        tasks=it.tasks,
    )
    return stream, before


def _nothing(table: "DataFrame", stream: "DataFrame") -> "DataFrame":
    """A stream of no rows with the columns of a table."""
    nulls = (f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in table.schema.fields)
    return stream.where("false").selectExpr(*nulls)


class DeclaredStream:
    """The streams of a file, ready to be started: what was committed is delivered, and what there was before taken."""

    def __init__(self, spark: "SparkSession", declared: PipelineTable, it: CorrelateTable, on_batch: OnBatch) -> None:
        self.stream, self._before = stream_of(spark, declared, it)
        self._declared = declared
        self._on_batch = on_batch
        self._delivery = SinkDelivery(spark, self.stream.batches, declared.sinks, path_of(spark, it.out))

    def start(self, *, once: bool, new_checkpoint: bool = False) -> "StreamingQuery":
        checkpoint = self._declared.checkpoint or None
        # Before anything is written: a state may belong to another checkpoint.
        self.stream.check(checkpoint, new_checkpoint=new_checkpoint)
        self._delivery.catch_up()
        if self._before and (report := self.stream.begin_with(self._before)) is not None:
            self._done(report)
        every_s = None if once else self._declared.every / 1_000
        how: dict[str, Any] = {"once": once, "every_s": every_s, "new_checkpoint": new_checkpoint}
        return self.stream.start(checkpoint, on_batch=self._done, **how)

    @contextmanager
    def telling_failures(self) -> Iterator[None]:
        """What a batch has raised, and not what Java says of it."""
        try:
            yield
        except SPARK_ERRORS:
            for failure in self.stream.failures[-1:]:
                raise failure from None
            raise

    def _done(self, report: BatchReport) -> None:
        self._delivery.catch_up()
        self._on_batch(report)
