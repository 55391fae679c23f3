"""The inbox of a store whose runs go through Spark.

A run is one task a shard: it tries the groups that a shard can deal with alone, and calls the remote targets of its
messages. So is a cleanup. The store is read first: without anything due there is no job. What spans shards or moves is
done by the runtime's runner afterwards, in this process and in the same run, and so are calls that only this process
can make.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from pyspark.sql import SparkSession

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.pipeline.inbox.draining import Drained, DrainRound, drain, sweep
from conjoin.pipeline.inbox.sharing import Recipes, callers_of, recipes_of
from conjoin.pipeline.session.arrow_rows import on_each_shard
from conjoin.pipeline.session.session import spark_errors
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.cross_shard import Shards
from conjoin.runtime.inbox.due_shards import due_shards, shards_to_clean
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.remote_run import NO_TARGETS, Target
from conjoin.runtime.inbox.requests import AT_ONCE, InboxCleanup
from conjoin.runtime.inbox.runner import InboxRunner, always

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
        self._recipes: Recipes = recipes_of(targets)
        self._called_here = NO_TARGETS if self._recipes else targets
        self._at_once = at_once

    def run(self, is_ours: Callable[[], bool] = always) -> Counts:
        """`is_ours` is asked between jobs, and between the commits that are made here."""
        counts, horizon = Counts(), self._shards.now
        if not self._settings.batch_size:
            return counts
        due = due_shards(self._shards, self._settings, horizon)
        held, called = {shard: list[str]() for shard in due.own}, due.remote if self._recipes else []
        fresh = {*held, *called}
        is_left = bool(fresh or due.crossing or (due.remote and self._called_here))
        while (held or called) and is_ours():
            callers = callers_of(called, self._recipes)
            round_ = self._round(horizon)._replace(held=held, fresh=frozenset(fresh), callers=callers)
            drained = self._on_shards({*held, *callers}, partial(drain, round_))
            counts = sum((it.counts for it in drained), counts)
            fresh -= {it.shard for it in drained}
            held = {it.shard: it.held for it in drained if it.shard in held and it.goes_on}
            # Those that have not called yet come before those that go on.
            called = called[len(callers) :] + [it.shard for it in drained if not it.has_called]
        if is_left:
            here = ShardsAt(self._broker, horizon)
            counts += InboxRunner(here, self._settings, self._called_here, self._at_once).run(is_ours)
        return counts

    def clean_up(self, is_ours: Callable[[], bool] = always) -> Counts:
        counts = Counts()
        while is_ours() and (shards := shards_to_clean(self._shards, self._settings, self._shards.now)):
            drained = self._on_shards(shards, partial(sweep, self._round(self._shards.now)))
            done = sum((it.counts for it in drained), Counts())
            counts += done
            if done == Counts():
                break
        return counts

    def _on_shards(self, shards: Iterable[int], task: Callable[[int], Drained]) -> list[Drained]:
        with spark_errors():
            drained = on_each_shard(self._spark, sorted(shards), task)
        # What shards have sent to each other, as far as their tasks have not taken it.
        receivers = {receiver for it in drained for receiver in it.receivers}
        if receivers:
            self._broker.post.deliver(sorted(receivers))
            self._broker.post.forget_delivered()
        return drained

    def _round(self, horizon: int) -> DrainRound:
        most_s = min(self.most_s, self._settings.lock_at_most / _JOBS_IN_A_LEASE / 1_000)
        address, now = self._shards.store.address, self._shards.now
        return DrainRound(address, now, horizon, self._settings, self._at_once, most_s)


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
        self._runner = self._on_spark = SparkInboxRunner(spark, broker, settings, targets)

    def _cleaned_up(self, request: InboxCleanup, is_ours: Callable[[], bool]) -> Counts:
        return self._on_spark.clean_up(is_ours)
