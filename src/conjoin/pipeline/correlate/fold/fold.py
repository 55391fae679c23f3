"""The fold: the rows of one partition in, in order, and what became of them out.

It decides nothing. Histories that are alike share the answer that the kernel gave to one of them; every other history
is walked row by row. What is held is a batch and the state of one correlation key, never a whole partition.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.alike.filling import Filling, Histories
from conjoin.pipeline.correlate.alike.learnt import learnt_of
from conjoin.pipeline.correlate.alike.patterns import alike_in
from conjoin.pipeline.correlate.alike.traits import Traits
from conjoin.pipeline.correlate.fold.deadlines import filled
from conjoin.pipeline.correlate.fold.instance_names import Cause, InstanceNames
from conjoin.pipeline.correlate.fold.out_of_time import late_rows, later_rows
from conjoin.pipeline.correlate.fold.outputs import Outputs, OutputSink
from conjoin.pipeline.correlate.fold.rows import DEFAULT_TENANT, Rows, runs_of
from conjoin.pipeline.correlate.fold.utf8 import readable
from conjoin.pipeline.correlate.fold.walk import FoldSetting, Walk
from conjoin.pipeline.correlate.shape import ID, KIND, TABLE_OF, Layout

BATCH_ROWS = 100_000
"""Batches are put together up to so many rows: what is done once a pattern and batch is then done seldom."""

BATCH_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """What every partition must know."""

    layout: Layout
    policies: Policies
    as_of: int
    since: int | None = None
    starts: list[dict[str, Any]] = field(default_factory=list)


class PartitionFold:
    """One partition. `shares_answers` False walks every history: slower, and the same. `run` names the run of which the
    worker folds several partitions."""

    def __init__(self, plan: FoldPlan, sink: OutputSink, shares_answers: bool = True, run: str | None = None) -> None:
        starts = [_start_of(row) for row in plan.starts]
        self._plan = plan
        self._outputs = Outputs(plan.layout, sink, plan.as_of)
        self._shares = shares_answers
        self._names = InstanceNames()
        catalog = Catalog(starts, plan.policies, self._name_instance)
        setting = FoldSetting(plan.policies, catalog, plan.as_of, plan.since)
        self._walk = Walk(setting, self._outputs, self._names.end_key)
        self.learnt = learnt_of(run, setting, starts)
        self._largest = (0, "")
        self._last = (0, "")

    def take(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for given in _put_together(batches):
            read = readable(given, self._plan.layout)
            starts = self._count(read)
            left = batch = yield from self._in_time(read)
            if not batch.num_rows:
                continue
            if batch is not read:
                starts, _ = runs_of(batch)
            # Spark can be told to send texts with wide offsets; those are walked. So are the first key and the last,
            # which may have begun before and go on: between them, in a batch of a crowded key, there is nothing.
            if self._shares and len(starts) > 2 and batch.schema.field("key").type == pa.string():
                rows = yield from self._answered(batch, starts)
                self._outputs.counts.shared_rows += batch.num_rows - len(rows)
                left = batch.take(pa.array(rows)) if len(rows) < batch.num_rows else batch
            if left.num_rows:
                yield from self._walked(left)
        yield from self._walk.finish()
        self._outputs.counts.largest_key = max(self._largest, self._last)
        yield from self._outputs.finish()

    def _count(self, batch: pa.RecordBatch) -> np.ndarray:
        """The rows that came in by table, and those of the largest key. Returns the first row of each key."""
        kinds = np.abs(batch.column("kind").to_numpy()) & KIND
        _add_kinds(self._outputs.counts.rows_in, kinds)
        kept = filled(batch, "kept")
        if kept is not None:
            here = kept.is_valid().to_numpy(zero_copy_only=False) & (kinds != ID)
            _add_kinds(self._outputs.counts.kept, kinds[here])
        starts, keys = runs_of(batch)
        lengths = np.diff(starts, append=batch.num_rows)
        first, last = keys[0].as_py(), keys[len(keys) - 1].as_py()
        if first == self._last[1]:
            lengths[0] += self._last[0]
        largest = int(lengths.argmax())
        self._largest = max(self._largest, self._last, (int(lengths[largest]), keys[largest].as_py()))
        self._last = (int(lengths[-1]), last)
        return starts

    def _in_time(self, batch: pa.RecordBatch) -> Generator[pa.RecordBatch, None, pa.RecordBatch]:
        """The rows that are decided on; the others are told of at once."""
        later, late = later_rows(batch, self._plan.as_of), late_rows(batch, self._plan.since)
        if later.any():
            yield from self._outputs.later(batch, np.flatnonzero(later))
        if late.any():
            yield from self._outputs.late(batch, np.flatnonzero(late))
        left = ~(later | late)
        return batch if left.all() else batch.take(pa.array(np.flatnonzero(left)))

    def _walked(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self._outputs.begin_batch(batch)
        yield from self._walk.take(Rows(batch, self._plan.policies))
        yield from self._outputs.finished()
        self._outputs.end_batch(self._walk.arrived)

    def _answered(self, batch: pa.RecordBatch, starts: np.ndarray) -> Generator[pa.RecordBatch, None, np.ndarray]:
        """Answer the histories that are alike; the rows of the others are what is returned."""
        learnt = self.learnt
        traits = Traits(batch, starts, learnt.words, learnt.tenants, self._plan.policies)
        found, left = alike_in(batch, starts, traits, learnt.versions)
        filling = Filling()
        walked = [left]
        for alike in found:
            answer = learnt.answer_to(alike)
            if answer is None:
                walked += [alike.starts + offset for offset in range(alike.pattern.rows)]
            else:
                histories = Histories(batch, traits, alike, learnt.versions)
                histories.name_instances(answer)
                filling.add(answer, histories)
        yield from filling.finished(batch, self._outputs)
        return np.sort(np.concatenate(walked))

    def _name_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> str:
        told = (start.process_id, tenant_id, key, message.name, message.published_at, message.message_id)
        return self._names.name(Cause(*told, *self._outputs.identity(message)))


def _add_kinds(counts: dict[str, int], kinds: np.ndarray) -> None:
    for kind, count in enumerate(np.bincount(kinds).tolist()):
        if count:
            counts[TABLE_OF[kind]] = counts.get(TABLE_OF[kind], 0) + count


def _put_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    some: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            some.append(batch)
        if sum(one.num_rows for one in some) >= BATCH_ROWS or sum(one.nbytes for one in some) >= BATCH_BYTES:
            yield pa.concat_batches(some) if len(some) > 1 else some[0]
            some = []
    if some:
        yield pa.concat_batches(some) if len(some) > 1 else some[0]


def _start_of(row: dict[str, Any]) -> StartSubscription:
    from_at, until_at = row.get("at"), row.get("until")
    return StartSubscription(
        row["process"],
        row["name"],
        row.get("tenant") or DEFAULT_TENANT,
        row.get("element"),
        ALWAYS if from_at is None else from_at,
        NEVER if until_at is None else until_at,
    )
