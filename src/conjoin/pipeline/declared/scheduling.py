"""What a pipeline does: run the schedule of an inbox, of a store or of tables, until it is stopped, or once.

A schedule runs in the thread of whoever waits for it, and is waited for and stopped as a query of Spark is.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from threading import Event
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, Protocol

from pyarrow import fs

from conjoin.errors import ConjoinError, InputError
from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.due import RUN, next_job_at
from conjoin.pipeline.correlate.writing.run_folder import filesystem_of
from conjoin.pipeline.declared.file import DeclaredSource, PipelineTable
from conjoin.pipeline.declared.schedule_table import ScheduleTable
from conjoin.pipeline.declared.sources import mapped, read_source
from conjoin.pipeline.inbox import SparkInbox
from conjoin.pipeline.inbox.tables.folder import DeltaInbox, InboxTable, ParquetInbox
from conjoin.pipeline.inbox.tables.inbox_run import correlate_inbox
from conjoin.pipeline.session.session import path_of, spark_errors
from conjoin.runtime.inbox.configuration import read_configuration, read_inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.schedule import InboxSchedule
from conjoin.runtime.opening import open_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_FAILURES = 10
"""So many in a row end a schedule."""
OnCounts = Callable[[dict[str, int]], None]


class Turns(Protocol):
    """What a schedule does, and when. Instants are microseconds."""

    def now(self) -> int: ...
    def next_at(self) -> int: ...
    def step(self) -> Counts:
        """What is due."""

    def everything(self) -> Counts:
        """A run, whenever the next one would be."""


class RunningSchedule:
    """`on_counts` is told of each run that did something; `failed` of one that may succeed next time."""

    def __init__(self, turns: Turns, once: bool, on_counts: OnCounts, failed: Callable[[str], None]) -> None:
        self._turns, self._once, self._on_counts, self._failed = turns, once, on_counts, failed
        self._stopped = Event()
        self._failures = 0
        """In a row."""

    def stop(self) -> None:
        self._stopped.set()

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - as Spark calls it
        """True when it has ended; False when the time is over, in seconds."""
        if self._once:
            self._told(self._turns.everything())
            self.stop()
        until = None if timeout is None else monotonic() + timeout
        while not self._stopped.is_set():
            wait_s = max(self._turns.next_at() - self._turns.now(), 0) / 1_000_000
            if until is not None and monotonic() + wait_s >= until:
                self._stopped.wait(max(until - monotonic(), 0))
                break
            if not self._stopped.wait(wait_s):
                self._step()
        return self._stopped.is_set()

    def _step(self) -> None:
        """What may pass is told, and retried at the next poll. A Spark that has gone does not come back by itself."""
        try:
            self._told(self._turns.step())
            self._failures = 0
        except ConjoinError as error:
            self._failures += 1
            if not error.retryable or self._failures == _MOST_FAILURES:
                raise
            self._failed(str(error))

    def _told(self, counts: Counts) -> None:
        found = {word: count for word, count in asdict(counts).items() if count}
        if found:
            self._on_counts(found)


@contextmanager
def scheduled(spark: "SparkSession", declared: PipelineTable, inbox: Mapping[str, Any]) -> "Iterator[Turns]":
    """`inbox` is the section of the settings, where the file has none of its own."""
    it = declared.schedule
    assert it is not None, "it was checked"
    section = inbox if it.inbox is None else it.inbox
    if it.tables:
        yield TableTurns(spark, declared, it, section)
        return
    address = it.store if "://" in it.store else Path(it.store)
    configuration = read_configuration(section, os.environ)
    with (
        closing(open_broker(address)) as broker,
        broker.store.held("conjoin pipeline run"),
        closing(SparkInbox(spark, broker, *configuration)) as of_store,
    ):
        yield StoreTurns(of_store)


class StoreTurns:
    """Under the lease that all who run the schedule of a store ask for; a single run takes none."""

    def __init__(self, inbox: SparkInbox) -> None:
        _check_enabled(inbox.settings)
        self._inbox = inbox
        self._schedule = InboxSchedule(inbox)

    def now(self) -> int:
        return self._inbox.shards.now

    def next_at(self) -> int:
        return self._schedule.next_at()

    def step(self) -> Counts:
        before, self._schedule.counts = self._schedule.counts, Counts()
        try:
            self._schedule.step()
            return self._schedule.counts
        finally:
            self._schedule.counts += before

    def everything(self) -> Counts:
        return self._inbox.run() + self._inbox.clean_up()


class TableTurns:
    """Each run goes on from the last one. Nothing is read where nothing has arrived and nothing is due."""

    def __init__(
        self, spark: "SparkSession", declared: PipelineTable, it: ScheduleTable, section: Mapping[str, Any]
    ) -> None:
        self._spark, self._sources, self._it = spark, declared.sources, it
        self._settings, channels = read_inbox(section)
        self._channel = _channel(it.channel, channels)
        _check_enabled(self._settings)
        self.table: InboxTable = (DeltaInbox if it.format == "delta" else ParquetInbox)(spark, it.tables)
        self._started_at = self.now()
        self._ended_at: int | None = None

    def now(self) -> int:
        return time_ns() // 1_000

    def next_at(self) -> int:
        return next_job_at(RUN, self._started_at, self._ended_at, self._settings)

    def step(self) -> Counts:
        try:
            with spark_errors():
                return self.everything()
        finally:
            self._ended_at = self.now()

    def everything(self) -> Counts:
        at, messages = self.now(), self._sources.get("messages")
        seen = "nothing" if messages is None else listing_of(self._spark, messages)
        if self.table.is_idle(at, seen):
            return Counts()
        arrivals, subscriptions = (
            None if (source := self._sources.get(name)) is None else mapped(read_source(self._spark, source), source)
            for name in ("messages", "subscriptions")
        )
        assert subscriptions is not None, "it was checked"
        it, channel, settings = self._it, self._channel, self._settings
        rules: dict[str, Any] = {"profile": it.profile, "policies": it.policies, "position": it.position or None}
        rules |= {"settings": settings, "channel": channel, "at": at}
        return self.table.write(correlate_inbox(arrivals, subscriptions, self.table.read(), **rules), at, seen)


def _channel(name: str, channels: Mapping[str, Channel]) -> Channel:
    if name and name not in channels:
        known = ", ".join(channels) or "none"
        raise InputError([f"schedule.channel: there is no channel {name!r}; there is {known}"])
    return channels[name] if name else Channel("messages")


def _check_enabled(settings: InboxSettings) -> None:
    if not settings.enabled:
        raise InputError(["the inbox is not enabled: its setting enabled is false"])


def listing_of(spark: "SparkSession", source: DeclaredSource) -> str:
    """What tells one state of its files from another; empty where it has none that can be listed."""
    found = filesystem_of(path_of(spark, source.path)) if source.path else None
    if found is None:
        return ""
    files = [found[0].get_file_info(found[1])]
    if files[0].type == fs.FileType.Directory:
        files = found[0].get_file_info(fs.FileSelector(found[1], recursive=True))
    told = sorted(f"{it.path} {it.size} {it.mtime_ns}" for it in files if it.type == fs.FileType.File)
    if not told:
        return ""  # of a pattern nothing is known
    return sha256("\n".join(told).encode()).hexdigest()
