"""A store as a worker process of others (Spark's) has it, kept open for the tasks that it will still get.

The time is that of the job, the same for all of its tasks. Whatever is run here is guarded by the commit of its shard,
and what concerns other shards stays in the outbox.
"""

from collections.abc import Sequence
from functools import lru_cache, partial

from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.engine.stored_catalog import StoredCatalog
from conjoin.runtime.run.batches import Batch, Commit
from conjoin.runtime.run.carriers.careful import take_mail
from conjoin.runtime.run.mailbox import Mailbox
from conjoin.runtime.run.run import Runner
from conjoin.store.opening import open_store

MAIL_AT_ONCE = 1_000


class WorkerShards:
    def __init__(self, address: str) -> None:
        self._store = open_store(address)
        self._catalog = StoredCatalog(self._store.catalog, self._store.facts.profile)
        self._now = 0
        self.runners: dict[int, Runner] = {}
        self._mailboxes: dict[int, Mailbox] = {}

    def positions(self, source: str, shard: int, parts: Sequence[str]) -> dict[str, int]:
        """How far a shard has read each part of a source."""
        snapshot = self._store.shard(shard).begin()
        try:
            return {part: int(place) for part, place in snapshot.positions(source, parts).items()}
        finally:
            snapshot.abandon()

    def run(self, now: int, shard: int, batch: Batch) -> Commit:
        return self._runner(now, shard).run(batch, self._catalog.view())

    def rehearse(self, now: int, shard: int, batch: Batch) -> None:
        self._runner(now, shard).rehearse(batch, self._catalog.view())

    def run_with_mail(self, now: int, shard: int, batch: Batch) -> Commit:
        """What other shards have sent so far is taken along."""
        mailbox = self.mailbox(shard)
        batch.deliveries = mail = mailbox.collect(most=MAIL_AT_ONCE)
        done = self.run(now, shard, batch)
        mailbox.took(mail)
        return done

    def take_mail(self, now: int, shard: int) -> set[int]:
        """By itself: what cannot be carried out is set aside. The answer is who has mail now."""
        mailbox = self.mailbox(shard)
        receivers: set[int] = set()
        for mail, done in take_mail(partial(self.run, now, shard), mailbox.collect(most=MAIL_AT_ONCE)):
            mailbox.took(mail)
            receivers |= done.receivers
        return receivers

    def mailbox(self, shard: int) -> Mailbox:
        if shard not in self._mailboxes:
            self._mailboxes[shard] = Mailbox(self._store, shard)
        return self._mailboxes[shard]

    def _runner(self, now: int, shard: int) -> Runner:
        self._now = now
        if shard not in self.runners:
            clock = ForwardClock(lambda: self._now)
            self.runners[shard] = Runner(self._store.shard(shard), clock, self._store.facts)
        return self.runners[shard]


worker_shards = lru_cache(maxsize=4)(WorkerShards)
