"""Pipeline: from a file, or a dictionary of the same form, to rows that go on until they are stopped.

Pipeline.load("orders.toml").run(spark, once=True)
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import asdict

from conjoin.pipeline.declared.file import CorrelateTable, PipelineTable, pipeline_of, read_pipeline
from conjoin.runtime.opening import open_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from conjoin.pipeline.declared.correlating import DeclaredStream
    from conjoin.pipeline.streaming.batches import BatchReport

_log = logging.getLogger(__name__)

_BOOKED = ("correlated", "decode_error", "mapping_error", "target_error", "expired", "dead_lettered")
"""What a schedule counts once of each row that it did something with."""
Wait = Callable[["StreamingQuery"], None]


@dataclass
class PipelineResult:
    """What has been done since it was started. `out`: rows of each output, or messages and dead letters of a store;
    `verdicts` by verdict and reason. `held`, and what `last` tells, are as the last batch has left them."""

    batches: int = 0
    rows: int = 0
    out: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    last: "BatchReport | None" = None

    def add(self, rows: int, out: Mapping[str, int]) -> None:
        self.batches += 1
        self.rows += rows
        for name, count in out.items():
            self.out[name] = self.out.get(name, 0) + count

    def add_report(self, report: "BatchReport") -> None:
        self.add(report.rows, report.out)
        self.held = asdict(report.held)
        self.verdicts.update(report.reasons)
        self.dead_letters.update(report.dead_letters)
        self.last = report


OnResult = Callable[[PipelineResult], None]


@dataclass(frozen=True)
class Pipeline:
    """Checked; nothing runs before `run`. `inbox` is the section of the settings that has the channels."""

    declared: PipelineTable
    inbox: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path, inbox: Mapping[str, Any] | None = None) -> Self:
        """Raises `InputError` with everything that is wrong with the file."""
        return cls(read_pipeline(Path(path)), inbox or {})

    @classmethod
    def of(cls, written: Mapping[str, Any], inbox: Mapping[str, Any] | None = None) -> Self:
        return cls(pipeline_of(written), inbox or {})

    @property
    def does(self) -> str:
        declared = self.declared
        if declared.correlate is not None:
            streams = any(source.stream for source in declared.sources.values())
            return "correlate streams" if streams else "correlate tables"
        if declared.schedule is not None:
            return "run the schedule of an inbox"
        return "publish" if declared.publish is not None else "receive"

    def run(
        self,
        spark: "SparkSession",
        *,
        once: bool = False,
        wait: Wait = lambda query: query.awaitTermination(),  # type: ignore[assignment]
        on_batch: OnResult = lambda _: None,
        new_checkpoint: bool = False,
    ) -> PipelineResult:
        """Until it is stopped, or `once` until everything that is there has been taken; tables are taken once. `wait`
        waits for a query to end, and may stop it. `new_checkpoint`: the sources repeat nothing of what was taken with
        the old one."""
        result = PipelineResult()
        declared = self.declared
        if self.does == "correlate tables":
            self._correlate_tables(spark, result, on_batch)
            return result
        if declared.correlate is not None:
            stream = self._stream(spark, result, on_batch)
            with stream.telling_failures():
                wait(stream.start(once=once, new_checkpoint=new_checkpoint))
            return result
        if declared.schedule is not None:
            self._schedule(spark, result, once, wait, on_batch)
            return result
        from conjoin.pipeline.declared.storing import ingest_of, start_storing
        from conjoin.pipeline.ingest.batch import Ingested

        to = declared.publish or declared.receive
        assert to is not None, "it was checked"

        def done(one: Ingested) -> None:
            counts = ("messages", "dead_letters", "ignored", "repeated", "duplicates")
            result.add(one.rows, {name: getattr(one, name) for name in counts})
            result.verdicts.update(one.verdicts)
            on_batch(result)

        with closing(open_broker(to.store if "://" in to.store else Path(to.store))) as broker:
            job = ingest_of(broker, to, dict(self.inbox), done)
            query = start_storing(spark, declared, to, job, once)
            if query is not None:
                wait(query)
        return result

    def _correlate_tables(self, spark: "SparkSession", result: PipelineResult, on_batch: OnResult) -> None:
        from conjoin.pipeline.declared.correlating import correlate_tables

        run = correlate_tables(spark, self.declared, self._correlates)
        result.add(sum(run.counts.rows_in.values()), run.rows)
        result.dead_letters.update(run.counts.dead_letters)
        for tally in run.counts.tallies:
            result.verdicts[tally.verdict, tally.reason] += tally.count
        on_batch(result)

    def _stream(self, spark: "SparkSession", result: PipelineResult, on_batch: OnResult) -> "DeclaredStream":
        from conjoin.pipeline.declared.correlating import DeclaredStream

        def done(report: "BatchReport") -> None:
            result.add_report(report)
            on_batch(result)

        return DeclaredStream(spark, self.declared, self._correlates, done)

    @property
    def _correlates(self) -> CorrelateTable:
        it = self.declared.correlate
        assert it is not None, "it was asked for"
        return it

    def _schedule(
        self,
        spark: "SparkSession",
        result: PipelineResult,
        once: bool,
        wait: Wait,
        on_batch: OnResult,
    ) -> None:
        from conjoin.pipeline.declared.scheduling import RunningSchedule, scheduled

        def done(counts: Mapping[str, int]) -> None:
            result.add(sum(counts.get(word, 0) for word in _BOOKED), counts)
            on_batch(result)

        with scheduled(spark, self.declared, self.inbox) as turns:
            wait(RunningSchedule(turns, once, done, _log.warning))  # type: ignore[arg-type]
