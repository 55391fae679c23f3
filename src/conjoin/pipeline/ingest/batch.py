"""One batch of arrivals: mapped anywhere, shuffled by shard, committed shard by shard, each row once.

What shards send to each other is taken along by their tasks; the rest is delivered here, when they are done.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import DataFrame

from conjoin.pipeline.ingest.tasks import MAPPED, TOLD, Begins, Job, commit_task, mapping_task
from conjoin.runtime.broker import Broker
from conjoin.runtime.encoding.json_text import json_text
from conjoin.runtime.tasks import Asking


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

    @property
    def messages(self) -> int:
        return self.verdicts.total()

    def add(self, other: "Ingested") -> None:
        self.rows += other.rows
        self.ignored += other.ignored
        self.repeated += other.repeated
        self.dead_letters += other.dead_letters
        self.verdicts += other.verdicts


class Arrivals(NamedTuple):
    """Rows as in `tasks.ARRIVED`, and what is needed to count them."""

    rows: DataFrame
    begins: Begins = {}  # noqa: RUF012 - read only


@dataclass(frozen=True, slots=True)
class Ingest:
    """Into which store, under which name of a source, and how a row is read (None: it has the fields of a message)."""

    broker: Broker
    source: str
    mapping: dict[str, object] | None = None
    told: Callable[[Ingested], None] = lambda _: None

    def take(self, arrivals: Arrivals) -> Ingested:
        broker = self.broker
        asking = Asking(broker.store.address, self.source, broker.now, 0)
        mapping = None if self.mapping is None else json_text(self.mapping)
        job = Job(asking, broker.shard_count, mapping, arrivals.begins)
        mapped = arrivals.rows.mapInArrow(mapping_task(job), MAPPED)
        # Each shard has a task of its own: hashed, two of them might share one.
        shuffled = mapped.repartitionById(broker.shard_count, "shard")
        committed = shuffled.sortWithinPartitions("shard", "part", "place").mapInArrow(commit_task(asking), TOLD)
        done = Ingested()
        receivers: set[int] = set()
        for row in committed.collect():
            done.add(_read(row["counts"]))
            receivers.update(row["receivers"])
        if receivers:
            broker.post.deliver(sorted(receivers))
            broker.post.forget_delivered()
        self.told(done)
        return done


def _read(counts: dict[str, int]) -> Ingested:
    verdicts = Counter({_pair(what): count for what, count in counts.items() if "/" in what})
    return Ingested(counts["rows"], counts["ignored"], counts["repeated"], counts["dead_letters"], verdicts)


def _pair(text: str) -> tuple[str, str]:
    verdict, _, reason = text.partition("/")
    return verdict, reason
