"""The inbox of a store whose runs go through Spark: one run, or its schedule; both under the lease of the schedule."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from uuid import uuid4

from pyspark.sql import SparkSession

from conjoin.errors import ConjoinError
from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.due import RUN
from conjoin.pipeline.inbox.runner import SparkInboxRunner
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.runner import NO_TARGETS, Target
from conjoin.runtime.inbox.schedule import HeldLease, InboxSchedule
from conjoin.runtime.opening import open_broker

LOOK_EVERY_S = 0.5


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


@contextmanager
def opened_inbox(spark: SparkSession, store: str | Path, configuration: Configuration) -> Iterator[SparkInbox]:
    with (
        closing(open_broker(store)) as broker,
        closing(SparkInbox(spark, broker, *configuration)) as inbox,
    ):
        yield inbox


def run_inbox(spark: SparkSession, store: str | Path, configuration: Configuration) -> Counts | None:
    """Everything that is due now, and what came of it; None: somebody else is running it just now.

    `store` is a data directory or the URL of a PostgreSQL store, as every worker can reach it.
    """
    holder = uuid4().hex
    with opened_inbox(spark, store, configuration) as inbox:
        catalog = inbox.shards.store.catalog
        lease = HeldLease(catalog, catalog.now, holder, configuration.settings, RUN)
        if not lease.is_ours():
            return None
        try:
            return inbox.run(lease.is_ours)
        finally:
            # Over at once: who comes next need not wait for it.
            at = catalog.now()
            catalog.lease(RUN, holder, at, at)


def watch_inbox(spark: SparkSession, store: str | Path, configuration: Configuration, stopping: Event) -> Counts:
    """Runs and cleanups when their time has come, until `stopping` is set; the answer is all that happened.

    What may pass by itself, such as a store that does not answer, is tried again at the next interval.
    """
    with opened_inbox(spark, store, configuration) as inbox:
        schedule = InboxSchedule(inbox)
        while not stopping.wait(LOOK_EVERY_S):
            try:
                schedule.step()
            except ConjoinError as error:
                if not error.retryable:
                    raise
        return schedule.counts
