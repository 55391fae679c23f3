"""correlate_stream: streams of messages and of who waits in, verdicts and all that follows out, without a store.

    stream = correlate_stream(messages, subscriptions, state="s3://b/state", out="s3://b/out", lateness="10m")
    query = stream.start(every_s=60)

The streams become one stream of rows, of which Spark gives one batch after the other to `CorrelateBatches`. Spark's
checkpoint knows what was read; the state knows what was decided, and which batch of which checkpoint was the last.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING

from pyarrow import fs

from conjoin.errors import InputError
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.correlate import Instant, policies_of, read_instant
from conjoin.pipeline.correlate.writing.run_folder import filesystem_of
from conjoin.pipeline.session.master import is_address, local_cores
from conjoin.pipeline.streaming.batch_rows import ShapedRows, shaped_rows
from conjoin.pipeline.streaming.batches import BatchReport, BatchSettings, CorrelateBatches, starts_in, wall_clock
from conjoin.pipeline.streaming.checkpoint import check_checkpoint, known_id
from conjoin.pipeline.streaming.manifest import StateFolder
from conjoin.pipeline.streaming.output_folder import OutputFolder
from conjoin.pipeline.streaming.state_tables import state_tables
from conjoin.shown_urls import shown_url
from conjoin.times.durations import read_duration_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

BUCKETS = 256
CHECKPOINT = "_checkpoint"
OnBatch = Callable[[BatchReport], None]


@dataclass(frozen=True)
class CorrelateStream:
    """Streams, or the tables of a batch, that are ready: `given`, and as rows of one shape. `starts` hold for all."""

    shaped: ShapedRows
    given: "Mapping[str, DataFrame]"
    starts: "DataFrame | None"
    state: str
    out: str
    settings: BatchSettings

    @cached_property
    def failures(self) -> list[Exception]:
        """What batches have raised; a query tells of it in Java's words."""
        return []

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failures.append(error)
            raise

    @cached_property
    def batches(self) -> CorrelateBatches:
        """One batch after the other, for a schedule of one's own."""
        frame = self.shaped.frame
        state, out = _place(frame, self.state, "state"), _place(frame, self.out, "out")
        return CorrelateBatches(StateFolder(*state), OutputFolder(*out), self.settings)

    def start(
        self,
        checkpoint: str | None = None,
        *,
        once: bool = False,
        every_s: float | None = None,
        on_batch: OnBatch | None = None,
        new_checkpoint: bool = False,
    ) -> "StreamingQuery":
        """`once` ends when everything that is there has been taken; else a batch begins every so many seconds, or when
        the last one is over. The checkpoint is in the folder of the state by default; a state goes on from the one
        that it knows, unless `new_checkpoint` says that the sources repeat nothing."""
        from conjoin.pipeline.session.session import short_errors

        frame, batches = self.shaped.frame, self.batches
        place = self.checkpoint(checkpoint)
        self.check(checkpoint, new_checkpoint=new_checkpoint)
        starts = None if self.starts is None else starts_in(self.starts)
        its_id = cache(lambda: known_id(place))

        def take(rows: "DataFrame", number: int) -> None:
            with short_errors(), self._noting_failures():
                report = batches.take_rows(number, self.shaped.of(rows), starts, its_id())
                if report is not None and on_batch is not None:
                    on_batch(report)

        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", place)
        if once:
            writer = writer.trigger(availableNow=True)
        elif every_s is not None:
            writer = writer.trigger(processingTime=f"{every_s} seconds")
        return writer.start()

    def check(self, checkpoint: str | None = None, *, new_checkpoint: bool = False) -> None:
        """Can it be started? Raises `InputError` if not; nothing is written."""
        if not self.shaped.frame.isStreaming:
            raise InputError(["messages: it is no stream; a table is taken by `batches`, or by correlate"])
        if _is_remote():
            raise InputError(["a stream is correlated in the process that started Spark: Spark Connect has none here"])
        if checkpoint is not None:
            # What cannot be read here cannot be checked, nor can batches be told from those of another.
            _place(self.shaped.frame, checkpoint, "checkpoint")
        check_checkpoint(self.batches, self.checkpoint(checkpoint), new_checkpoint)

    def begin_with(self, tables: "Mapping[str, DataFrame]") -> BatchReport | None:
        """Rows that there were before the streams, such as a table of who waits: taken once, into a state that is new,
        and decided with the first rows that are as late. None: the state is not new."""
        frames = {name: _emptied(frame) for name, frame in self.given.items() if name in ("messages", "subscriptions")}
        rows = shaped_rows(frames | dict(tables), self.settings.policies, self.settings.buckets)
        return self.batches.begin_with(rows.of(rows.frame))

    def checkpoint(self, given: str | None = None) -> str:
        return _for_spark(self.shaped.frame, given or f"{self.state.rstrip('/')}/{CHECKPOINT}")

    def advance(self, as_of: Instant) -> BatchReport | None:
        """Decide everything up to an instant although nothing arrives, while no query runs: the end of a history.
        None: it is decided."""
        instant = read_instant(as_of, "as_of")
        if instant is None:
            raise InputError(["as_of: up to which instant?"])
        return self.batches.advance(self.shaped.of(self.shaped.frame), instant)

    def tables(self) -> "dict[str, DataFrame]":
        """What the state holds: `open`, `buffered`, `locks` and `ids` as `correlate` takes them, and `pending`."""
        address = _for_spark(self.shaped.frame, self.state)
        return state_tables(self.shaped, self.batches.state, address)


def correlate_stream(
    messages: "DataFrame",
    subscriptions: "DataFrame",
    ends: "DataFrame | None" = None,
    starts: "DataFrame | None" = None,
    *,
    state: str,
    out: str,
    lateness: str | timedelta = "0s",
    policies: Policies | Mapping[str, Mapping[str, object]] | None = None,
    profile: str = "zeebe",
    buckets: int = BUCKETS,
    tasks: int | None = None,
    ignores_future_times: bool = True,
) -> CorrelateStream:
    """Say for every message of a stream what became of it, by the rules of `correlate`.

    Tables as `correlate` has them, as streams; `starts` may be a table that holds for all batches. A row may come later
    than others by `lateness`; what comes later still is a dead letter. `state` is a folder that belongs to this stream
    alone, in so many `buckets`, of which a batch opens those that it touches; `out` gets `verdicts`, `correlations` and
    `dead_letters`. A subscription that is closed comes again with `closed_at`. A row of the future waits until
    others are as late, so that one wrong clock makes no other late.
    """
    problems = [f"{name}: {value!r} is no whole number above 0" for name, value in _counts(buckets, tasks) if value < 1]
    lateness_us = _lateness_us(lateness, problems)
    given = {"messages": messages, "subscriptions": subscriptions, "ends": ends, "starts": starts}
    frames = {name: frame for name, frame in given.items() if frame is not None}
    streams = {name for name, frame in frames.items() if frame.isStreaming}
    table = frames.pop("starts") if streams and "starts" in frames and "starts" not in streams else None
    problems += [f"{name}: it is a table, and others are streams" for name in frames if streams and name not in streams]
    if problems:
        raise InputError(problems)
    book = policies_of(policies, profile)
    settings = BatchSettings(book, lateness_us, buckets, tasks, wall_clock if ignores_future_times else None)
    return CorrelateStream(shaped_rows(frames, book, buckets), frames, table, state, out, settings)


def _emptied(frame: "DataFrame") -> "DataFrame":
    return frame.sparkSession.createDataFrame([], frame.schema)


def _counts(buckets: int, tasks: int | None) -> list[tuple[str, int]]:
    return [("buckets", buckets), *([] if tasks is None else [("tasks", tasks)])]


def _lateness_us(lateness: str | timedelta, problems: list[str]) -> int:
    if isinstance(lateness, timedelta):
        found: int | None = round(lateness.total_seconds() * 1_000_000)
    else:
        span = read_duration_ms(lateness)
        found = None if span is None else span * 1_000
    if found is None or found < 0:
        problems.append(f"lateness: {lateness!r} is no duration such as 30s, 10m or 1h")
        return 0
    return found


def _for_spark(frame: "DataFrame", path: str) -> str:
    # Imported here: who correlates small tables without Spark loads this module, too.
    from conjoin.pipeline.session.session import path_of

    return path_of(frame.sparkSession, path)


def _place(frame: "DataFrame", path: str, name: str) -> tuple[fs.FileSystem, str]:
    if not is_address(path) and not _runs_here(frame):
        told = f"{name}: {shown_url(path)}: on a cluster each machine has a folder of this name of its own"
        raise InputError([f"{told}; give an address, such as s3://bucket/{name}, or file:///... of a shared disk"])
    found = filesystem_of(_for_spark(frame, path))
    if found is None:
        known = "s3://, gs://, abfss://, hdfs:// and file:///"
        raise InputError([f"{name}: {shown_url(path)} is on no file system that pyarrow knows, such as {known}"])
    return found


def _runs_here(frame: "DataFrame") -> bool:
    """Is a plain path the same for all tasks?"""
    conf = getattr(frame.sparkSession, "conf", None)
    return conf is None or local_cores(conf.get("spark.master", "") or "local") is not None


def _is_remote() -> bool:
    from pyspark.sql.utils import is_remote

    return bool(is_remote())
