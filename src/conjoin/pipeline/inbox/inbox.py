"""The inbox of a store whose runs go through Spark.

A run is one task a shard for the groups that a shard can deal with alone. The store is read first: without anything due
there is no job. What spans shards, is for remote systems, or moves is done by the runtime's runner afterwards, in this
process and in the same run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from pyspark.sql import SparkSession

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.pipeline.inbox.draining import Drained, DrainRound, drain
from conjoin.pipeline.session.arrow_rows import on_each_shard
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.cross_shard import Shards
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.placement import MOVING, OWN, REMOTE, SPANNING
from conjoin.runtime.inbox.requests import AT_ONCE, RULES_PART, RULES_SOURCE, rules_of
from conjoin.runtime.inbox.runner import NO_TARGETS, InboxRunner, Target, always

MOST_S = 10.0
"""A job ends after so many seconds; the next one has a later time, if the lease is still ours."""
_JOBS_IN_A_LEASE = 4
"""A lease that half over is renewed before it is lost."""


class SparkInboxRunner:
    """Does what `InboxRunner` does. The address of the store must be one that every worker can reach."""

    def __init__(
        self,
        spark: SparkSession,
        broker: Broker,
        settings: InboxSettings,
        targets: Mapping[str, Target] = NO_TARGETS,
        at_once: int = AT_ONCE,
    ) -> None:
        self.most_s = MOST_S
        self._spark = spark
        self._broker = broker
        self._shards = Shards(broker)
        self._settings = settings
        self._targets = targets
        self._at_once = at_once

    def run(self, is_ours: Callable[[], bool] = always) -> Counts:
        """`is_ours` is asked between jobs, and between the commits that are made here."""
        counts, horizon = Counts(), self._shards.now
        if not self._settings.batch_size:
            return counts
        held: dict[int, list[str]] = {shard: [] for shard in self._shards_with_own_work(horizon)}
        is_first = True
        while held and is_ours():
            round_ = self._round(horizon, held, is_first)
            drained = on_each_shard(self._spark, list(held), partial(drain, round_))
            counts = sum((it.counts for it in drained), counts)
            self._deliver(drained)
            held = {it.shard: it.held for it in drained if it.goes_on}
            is_first = False
        if not is_first or self._has_other_work(horizon):
            here = ShardsAt(self._broker, horizon)
            counts += InboxRunner(here, self._settings, self._targets, self._at_once).run(is_ours)
        return counts

    def _shards_with_own_work(self, horizon: int) -> Iterator[int]:
        rules = rules_of(self._settings)
        for shard in range(self._shards.count):
            with self._shards.look(shard) as snapshot:
                is_new = snapshot.position(RULES_SOURCE).get(RULES_PART) != rules
                has_new_rules = is_new and snapshot.inbox_groups_in_line("", 1)
                is_due = snapshot.inbox_groups_due(OWN, horizon, 1) or snapshot.inbox_expired(horizon, 1)
            if has_new_rules or is_due:
                yield shard

    def _has_other_work(self, horizon: int) -> bool:
        reaches = (SPANNING, MOVING, REMOTE) if self._targets else (SPANNING, MOVING)
        for shard in range(self._shards.count):
            with self._shards.look(shard) as snapshot:
                if any(snapshot.inbox_groups_due(reach, horizon, 1) for reach in reaches):
                    return True
        return False

    def _round(self, horizon: int, held: Mapping[int, list[str]], is_first: bool) -> DrainRound:
        most_s = min(self.most_s, self._settings.lock_at_most / _JOBS_IN_A_LEASE / 1_000)
        address, now = self._shards.store.address, self._shards.now
        return DrainRound(address, now, horizon, self._settings, self._at_once, most_s, held, is_first)

    def _deliver(self, drained: Iterable[Drained]) -> None:
        """What shards have sent to each other, as far as their tasks have not taken it."""
        receivers = {receiver for it in drained for receiver in it.receivers}
        if receivers:
            self._broker.post.deliver(sorted(receivers))
            self._broker.post.forget_delivered()


class ShardsAt(Shards):
    """The shards, with the instant of a run that began a while ago; commits have the time of the clock."""

    def __init__(self, broker: Broker, horizon: int) -> None:
        super().__init__(broker)
        self._horizon = horizon

    @property
    def now(self) -> int:
        return self._horizon


class SparkInbox(Inbox):
    """An `Inbox` in everything but who runs it; a schedule takes it like any other."""

    def __init__(
        self,
        spark: SparkSession,
        broker: Broker,
        settings: InboxSettings,
        channels: Mapping[str, Channel],
        targets: Mapping[str, Target] = NO_TARGETS,
    ) -> None:
        super().__init__(broker, settings, channels, targets)
        self._runner = SparkInboxRunner(spark, broker, settings, targets)
