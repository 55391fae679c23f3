"""One batch of arrivals: mapped anywhere, shuffled by shard, committed shard by shard, each row once.

What shards send to each other is taken along by their tasks; the rest is delivered here, when they are done.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from conjoin.errors import InputError
from conjoin.pipeline.ingest.arrivals import Into
from conjoin.pipeline.ingest.packs import IN_PACK, MAPPED
from conjoin.pipeline.ingest.tasks import COMMITTED, Begins, IngestTask, commit_task, mapping_task
from conjoin.pipeline.session.arrow_rows import spark_schema
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.ingest.row_notes import has_notes
from conjoin.runtime.run.carriers.spark_tasks import TaskRequest


@dataclass(slots=True)
class Ingested:
    """What became of the rows of one batch, or of several. `ignored` ones were not wanted by the mapping."""

    rows: int = 0
    ignored: int = 0
    repeated: int = 0
    """They were taken by an earlier batch."""
    dead_letters: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """What messages had become when their commit was over."""
    persisted: int = field(default=0, repr=False)
    """Stored in a channel of the inbox."""
    duplicates: int = field(default=0, repr=False)
    """The channel knew their ids already."""

    @property
    def messages(self) -> int:
        return self.verdicts.total() + self.persisted

    def add(self, other: "Ingested") -> None:
        for field_ in fields(self):
            setattr(self, field_.name, getattr(self, field_.name) + getattr(other, field_.name))


class Arrivals(NamedTuple):
    """Rows as in `tasks.ARRIVED`, and what is needed to count them."""

    rows: DataFrame
    begins: Begins = {}  # noqa: RUF012 - read only
    in_order: bool = True
    """Rows of a part come in the order of their places, and no two tasks have places that overlap."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """Into which store, under which name of a source, and how a row is read (None: it has the fields of a message).

    `into` is a channel of the inbox that takes the rows; None: they are published.
    """

    broker: Broker
    source: str
    mapping: dict[str, object] | None = None
    on_batch: Callable[[Ingested], None] = lambda _: None
    into: Into | None = None

    def __post_init__(self) -> None:
        if self.into is None:
            return
        problems = [] if self.mapping is None else ["mapping: that of a channel is in its settings"]
        if not self.into.channel.enabled:
            problems.append(f"the channel {self.into.channel.name!r} is not enabled")
        if problems:
            raise InputError(problems)

    def take(self, arrivals: Arrivals) -> Ingested:
        broker = self.broker
        job = self._job(arrivals)
        mapped = arrivals.rows.mapInArrow(mapping_task(job), spark_schema(MAPPED))
        # Each shard has a task of its own: hashed, two of them might share one.
        shuffled = mapped.repartitionById(broker.shard_count, "shard")
        ordered = shuffled.sortWithinPartitions("shard", "part", "place")
        committed = ordered.mapInArrow(commit_task(job), spark_schema(COMMITTED))
        done = settled(broker, committed.collect())
        self.on_batch(done)
        return done

    def _job(self, arrivals: Arrivals) -> IngestTask:
        broker = self.broker
        asking = TaskRequest(broker.store.address, self.source, broker.now, 0)
        mapping = None if self.mapping is None else json_text(self.mapping)
        in_pack = IN_PACK if arrivals.in_order else 1
        into = self.into and self.into._replace(policies=broker.catalog.view().policies)
        job = IngestTask(asking, broker.shard_count, mapping, arrivals.begins, into, in_pack)
        return job._replace(after_write=into is None and has_notes(broker.store, self.source))


def settled(broker: Broker, commits: Iterable[Any]) -> Ingested:
    """What became of the rows, from commits as in `tasks.COMMITTED`; what they left for other shards is delivered."""
    done = Ingested()
    receivers: set[int] = set()
    for row in commits:
        for what, count in dict(row["counts"]).items():
            verdict, is_verdict, reason = what.partition("/")
            if is_verdict:
                done.verdicts[verdict, reason] += count
            else:
                setattr(done, what, getattr(done, what) + count)
        receivers.update(row["receivers"])
    if receivers:
        broker.post.deliver(sorted(receivers))
        broker.post.forget_delivered()
    return done
