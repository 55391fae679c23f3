"""The fold: the rows of one partition in, in order, and what became of them out.

It decides nothing. Histories that are alike share the answer that the kernel gave to one of them; every other history
is walked row by row. What is held is a batch and the state of one correlation key, never a whole partition.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.alike.answers import Inquiry, NotShareable, PatternAnswer
from conjoin.pipeline.correlate.alike.filling import Filling, Histories
from conjoin.pipeline.correlate.alike.patterns import Alike, Pattern, alike_in, all_compare_only
from conjoin.pipeline.correlate.alike.traits import Traits, new_words
from conjoin.pipeline.correlate.fold.instance_names import Cause, InstanceNames
from conjoin.pipeline.correlate.fold.outputs import Outputs
from conjoin.pipeline.correlate.fold.rows import DEFAULT_TENANT, Rows
from conjoin.pipeline.correlate.fold.utf8 import readable
from conjoin.pipeline.correlate.fold.walk import FoldSetting, Walk

BATCH_ROWS = 50_000
"""Batches are put together up to so many rows: what is done once a pattern and batch is then done seldom."""

BATCH_BYTES = 64 * 1024 * 1024

OFTEN = 8
"""A pattern seen less often in a partition is walked: asking costs as much as walking a few histories."""

MOST_ANSWERS = 5_000


class Control(msgspec.Struct):
    """What every partition must know, sent along with its first row."""

    as_of: int
    starts: list[dict[str, Any]] = []


class PartitionFold:
    """One partition. `shares_answers` False walks every history: slower, and the same."""

    def __init__(self, policies: Policies, since: int | None, outputs: Outputs, shares_answers: bool = True) -> None:
        self._policies = policies
        self._since = since
        self._outputs = outputs
        self._shares = shares_answers and all_compare_only(policies)
        self._names = InstanceNames()
        self._walk: Walk | None = None

    def take(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, given in enumerate(_put_together(batches)):
            if number == 0:
                self._begin(given)
            left = batch = readable(given, self._outputs.layout)
            if self._shares:
                rows = yield from self._answered(batch)
                left = batch.take(pa.array(rows)) if len(rows) < batch.num_rows else batch
            if left.num_rows:
                yield from self._walked(left)
        if self._walk is not None:
            yield from self._walk.finish()
            yield from self._outputs.finished()

    def _walked(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        assert self._walk is not None, "the first batch begins it"
        self._outputs.begin_batch(batch)
        yield from self._walk.take(Rows(batch))
        yield from self._outputs.finished()
        self._outputs.end_batch(self._walk.arrived)

    def _begin(self, batch: pa.RecordBatch) -> None:
        control = msgspec.json.decode(batch.column("control")[0].as_py(), type=Control)
        starts = [_start_of(row) for row in control.starts]
        catalog = Catalog(starts, self._policies, self._name_instance)
        setting = FoldSetting(self._policies, catalog, control.as_of, self._since)
        self._outputs.as_of = control.as_of
        # Spark can be told to send texts with wide offsets; those are walked.
        self._shares &= batch.schema.field("key").type == pa.string()
        self._walk = Walk(setting, self._outputs, self._names.end_key)
        self._words, self._tenants = new_words()
        times = {at for start in starts for at in (start.from_at, start.until_at)} - {ALWAYS, NEVER, control.as_of}
        self._fixed = list(dict.fromkeys([control.as_of, NEVER, *sorted(times)]))
        self._inquiry = Inquiry(self._policies, starts, self._fixed, self._words)
        self.answers: dict[Pattern, PatternAnswer | None] = {}
        self._seen: dict[Pattern, int] = {}

    def _answered(self, batch: pa.RecordBatch) -> Generator[pa.RecordBatch, None, np.ndarray]:
        """Answer the histories that are alike; the rows of the others are what is returned."""
        traits = Traits(batch, self._words, self._tenants, self._policies)
        traits.ordinary &= traits.at <= self._fixed[0]
        if self._since is not None:
            traits.ordinary &= traits.at >= self._since
        found, left = alike_in(batch, traits, self._fixed)
        filling = Filling()
        walked = [left]
        for alike in found:
            answer = self._answer_to(alike)
            if answer is None:
                walked += [alike.starts + offset for offset in range(len(alike.pattern.traits))]
            else:
                histories = Histories(batch, traits, alike.starts, self._fixed)
                histories.name_instances(answer)
                filling.add(answer, histories)
        yield from filling.finished(batch, self._outputs)
        return np.sort(np.concatenate(walked))

    def _answer_to(self, alike: Alike) -> PatternAnswer | None:
        pattern = alike.pattern
        if pattern in self.answers:
            return self.answers[pattern]
        self._seen[pattern] = seen = self._seen.get(pattern, 0) + len(alike.starts)
        if seen < OFTEN or len(self.answers) >= MOST_ANSWERS:
            return None
        try:
            answer = self._inquiry.answer(pattern, self._tenants)
        except NotShareable:
            answer = None
        self.answers[pattern] = answer
        return answer

    def _name_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> str:
        told = (start.process_id, tenant_id, key, message.name, message.published_at, message.message_id)
        return self._names.name(Cause(*told, *self._outputs.identity(message)))


def _put_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    some: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            some.append(batch)
        if sum(one.num_rows for one in some) >= BATCH_ROWS or sum(one.nbytes for one in some) >= BATCH_BYTES:
            yield pa.concat_batches(some)
            some = []
    if some:
        yield pa.concat_batches(some)


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
