"""Batches: rows in, one batch after the other; verdicts and all that follows out, each exactly once.

    with Spark's streams     streaming/stream.py calls `take` for every micro-batch
    with any schedule        CorrelateBatches(...).take(number, tables), from a notebook, Airflow or cron

What is decided up to which instant, and what is pending, is in the manifest; a batch is its commit, or nothing.
"""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conjoin.errors import InputError
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import problems_of, types_of
from conjoin.pipeline.correlate.fold.counts import merged
from conjoin.pipeline.correlate.fold.fold import FoldPlan
from conjoin.pipeline.correlate.writing.run_record import fingerprint
from conjoin.pipeline.streaming.batch_rows import BatchRows, batch_rows_of
from conjoin.pipeline.streaming.bucket_fold import OUTPUTS, BatchTask, TaskReport
from conjoin.pipeline.streaming.carriers import START_SLOTS, LookedOver, rows_in
from conjoin.pipeline.streaming.manifest import BatchManifest, Held, StateFolder, StreamShape
from conjoin.pipeline.streaming.output_folder import OutputFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one batch has done. `as_of`: up to there everything is decided; `latest`: the latest row that was ever seen;
    `held`: what the state holds now."""

    sequence: int
    rows: int
    as_of: int | None
    out: dict[str, int]
    verdicts: dict[str, int]
    dead_letters: dict[str, int]
    held: Held
    buckets: int
    """So many buckets were opened."""
    closings_ignored: int
    """Of subscriptions that were gone already."""
    state_bytes: int
    seconds: float
    latest: int | None = None
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)
    """Verdicts by verdict and reason."""


def wall_clock() -> int:
    return time.time_ns() // 1_000


@dataclass(frozen=True)
class BatchSettings:
    """How a stream correlates. `lateness_us`: how much later than others a row may come. `now`: rows that are later
    do not count for how far time has come; None: all do."""

    policies: Policies
    lateness_us: int
    buckets: int
    tasks: int | None = None
    now: Callable[[], int] | None = wall_clock


class CorrelateBatches:
    """One state, and one folder of outputs. Made for one stream: a second one beside it is refused at its commit."""

    def __init__(self, state: StateFolder, out: OutputFolder, settings: BatchSettings) -> None:
        self.state = state
        self.out = out
        self.settings = settings
        self._fingerprint = fingerprint(settings.policies)
        self._last: BatchManifest | None = None
        self._opened = False

    @property
    def last(self) -> BatchManifest | None:
        """The last batch that was committed. What one that died has left is put right when it is first asked for, and
        again after one that failed in its commit, or in what follows it."""
        if not self._opened:
            self.state.make()
            self.out.belong_to(self.state)
            self._last = None
            for made in self.state.kept():
                # Not the last alone: what nobody has published yet is swept together with what nobody has committed.
                self.out.publish(made.run, made.files)
                self._last = made
            if self._last is not None:
                self.out.sweep(self._last.sequence)
            self.state.sweep(everything=True)
            self._opened = True
        return self._last

    def take(self, batch: int, tables: "Mapping[str, DataFrame]") -> BatchReport | None:
        """One batch of tables: `messages`, `subscriptions`, perhaps `ends`; and `starts`, all that hold from now on.
        None: it was taken before."""
        rows = batch_rows_of(tables, self.settings.policies, self.settings.buckets)
        return self.take_rows(batch, rows, [] if "starts" in tables else None)

    def begin_with(self, given: BatchRows) -> BatchReport | None:
        """What there was before the first batch: it waits until the rows of batches say how late it is. None: there was
        a batch already."""
        if self.last is not None:
            return None
        began, looked_over = time.monotonic(), given.carrier.look_over(None)
        made = self._next(given, None, "", (None, None), looked_over.starts)
        return self._run(made, given, looked_over, began)

    def take_rows(
        self, batch: int, given: BatchRows, starts: Sequence[dict[str, Any]] | None = None, checkpoint: str = ""
    ) -> BatchReport | None:
        """A batch is known by its number and the checkpoint that counts. `starts` are all that hold from now on, with
        those in the rows; None: those in the rows are a stream of changes."""
        last = self.last
        if last is not None and last.batch is not None and last.checkpoint == checkpoint and last.batch >= batch:
            return None
        began = time.monotonic()
        looked_over = given.carrier.look_over(self.settings.now() if self.settings.now else None)
        latest = looked_over.latest
        before = None if last is None else last.as_of
        before_seen = None if last is None else last.latest
        seen = max((one for one in (latest, before_seen) if one is not None), default=None)
        as_of = self._as_of(before, seen)
        if starts is not None:
            holding = [*starts, *looked_over.starts]
        else:
            holding = starts_after([] if last is None else last.starts, looked_over.starts)
        manifest = self._next(given, batch, checkpoint, (as_of, seen), holding)
        return self._run(manifest, given, looked_over, began)

    def advance(self, given: BatchRows, as_of: int) -> BatchReport | None:
        """Decide everything up to an instant, although nothing arrives. None: it is decided."""
        last = self.last
        if last is None or (last.as_of is not None and last.as_of >= as_of):
            return None
        instants = as_of, last.latest
        manifest = self._next(given, last.batch, last.checkpoint, instants, last.starts)
        return self._run(manifest, given, None, time.monotonic())

    def _as_of(self, before: int | None, seen: int | None) -> int | None:
        """Rows of one instant may come in different batches, so what is as late as the limit still waits."""
        if seen is None:
            return before
        as_of = seen - self.settings.lateness_us - 1
        return as_of if before is None else max(before, as_of)

    def _next(
        self,
        given: BatchRows,
        batch: int | None,
        checkpoint: str,
        instants: tuple[int | None, int | None],
        starts: list[dict[str, Any]],
    ) -> BatchManifest:
        last = self.last
        shape = shape_of(given, self.settings.buckets)
        sequence = 0
        if last is not None:
            check_shape(last.shape, shape, self.state.path)
            sequence = last.sequence + 1
        made = BatchManifest(sequence, shape, self._fingerprint)
        made.batch, made.checkpoint = batch, checkpoint
        made.as_of, made.latest = instants
        made.starts = starts
        made.run = f"{sequence:012}-{uuid.uuid4().hex[:16]}"
        if last is not None:
            made.buckets, made.total_rows, made.total_out = dict(last.buckets), last.total_rows, dict(last.total_out)
        return made

    def _run(self, made: BatchManifest, given: BatchRows, looked_over: LookedOver | None, began: float) -> BatchReport:
        last = self.last
        tasks = min(self.settings.tasks or given.carrier.tasks(), self.settings.buckets)
        as_of = ALWAYS if made.as_of is None else made.as_of
        plan = FoldPlan(given.layout, self.settings.policies, as_of, last.as_of if last else None, made.starts)
        task = BatchTask(
            filesystem=self.state.filesystem,
            state=self.state.path,
            out_filesystem=self.out.filesystem,
            staged=self.out.staged(made.run),
            schema=given.schema,
            plan=plan,
            files=made.buckets,
            tasks=tasks,
            run=made.run,
            whole=last is not None and last.policies != made.policies,
        )
        self.out.stage(made.run)
        reports = given.carrier.fold(task, looked_over)
        self._commit(made, reports, began)
        held = made.held()
        verdicts: Counter[str] = Counter()
        reasons: Counter[tuple[str, str]] = Counter()
        for tally in made.counts.tallies:
            verdicts[tally.verdict] += tally.count
            reasons[tally.verdict, tally.reason] += tally.count
        return BatchReport(
            made.sequence,
            made.rows,
            made.as_of,
            {name: sum(file.rows for file in files) for name, files in made.files.items()},
            verdicts,
            made.counts.dead_letters,
            held,
            made.touched,
            made.closings_ignored,
            sum(file.bytes for file in made.buckets.values()),
            time.monotonic() - began,
            made.latest,
            reasons,
        )

    def _commit(self, made: BatchManifest, reports: list[TaskReport], began: float) -> None:
        for report in reports:
            made.touched += report.touched
            made.closings_ignored += report.closings_ignored
            made.rows += report.rows
            for number, file in report.buckets.items():
                if file is None:
                    made.buckets.pop(number, None)
                else:
                    made.buckets[number] = file
        written = [file for report in reports for file in report.written.files]
        made.files = {name: [file for file in written if file.table == name] for name in OUTPUTS}
        made.counts = merged([report.written.counts for report in reports])
        made.total_rows += made.rows
        for name, files in made.files.items():
            made.total_out[name] = made.total_out.get(name, 0) + sum(file.rows for file in files)
        made.seconds = round(time.monotonic() - began, 3)
        # Whatever fails from here on, it may be committed: `last` looks, and publishes it.
        self._opened = False
        self.state.commit(made)
        self.out.publish(made.run, made.files)
        self.state.sweep()
        self._last, self._opened = made, True


def shape_of(given: BatchRows, buckets: int) -> StreamShape:
    columns = {name: given.types[name].simpleString() for name in given.layout.columns}
    return StreamShape(buckets, columns, tuple(given.layout.slots.values()))


def check_shape(old: StreamShape, new: StreamShape, path: str) -> None:
    problems = []
    if old.buckets != new.buckets:
        problems.append(f"{path} has {old.buckets} buckets, not {new.buckets}")
    # Their order, too: it says in which slot of a row a column is.
    if list(old.columns.items()) != list(new.columns.items()):
        told = ", ".join(f"{name} {kind}" for name, kind in old.columns.items())
        now = ", ".join(f"{name} {kind}" for name, kind in new.columns.items())
        problems.append(f"{path} holds messages with the columns {told}; now they are {now}")
    elif old.others != new.others:
        problems.append(f"{path}: the policies read other columns of messages than those that its rows were read with")
    if problems:
        raise InputError(problems)


def starts_after(known: Sequence[dict[str, Any]], arrived: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """A start comes again when it is ended, and the last row says what holds; of one batch that with the earliest end,
    as its rows have no order."""
    by_end = sorted(arrived, key=lambda it: NEVER if it["until"] is None else it["until"], reverse=True)
    new = {_start_key(start): start for start in by_end}
    return [start for start in known if _start_key(start) not in new] + list(new.values())


def _start_key(start: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(start[slot] for slot in START_SLOTS if slot != "until")


def starts_in(starts: "DataFrame") -> list[dict[str, Any]]:
    """Start events of a table as the fold takes them; rows that cannot be used are told before anything runs."""
    problems = problems_of("starts", starts.columns, types_of(starts))
    if problems:
        raise InputError(problems)
    bad = rows_in(events.start_rows(starts, types_of(starts)).selectExpr("fault as fault"))
    if bad:
        told = (row["fault"].split("\n") for row in bad)
        raise InputError([f"starts: {reason} in {about}: {row}" for reason, about, row in told])
    return [{slot: row[slot] for slot in START_SLOTS} for row in rows_in(events.usable_starts(starts))]
