"""A workplace: a store as a worker of Spark has it, kept open for the tasks that this process will still get.

The time is that of the job, the same for all of its tasks. Whatever is run here is guarded by the commit of its shard.
"""

from collections.abc import Sequence
from functools import lru_cache, partial

from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.batches import Batch, Commit
from conjoin.runtime.run.carriers.careful import take_mail
from conjoin.runtime.run.mailbox import Mailbox

_MAIL_AT_ONCE = 1_000


class Workplace:
    def __init__(self, address: str) -> None:
        self._now = 0
        self._broker = open_broker(address, lambda: self._now)
        self._mailboxes: dict[int, Mailbox] = {}

    def positions(self, source: str, shard: int, parts: Sequence[str]) -> dict[str, int]:
        """How far a shard has read each part of a source."""
        with self._broker.post.look(shard) as snapshot:
            return {part: int(place) for part, place in snapshot.positions(source, parts).items()}

    def run(self, now: int, shard: int, batch: Batch) -> Commit:
        """What concerns other shards stays in the outbox."""
        self._now = now
        return self._broker.post.runners[shard].run(batch, self._broker.catalog.view())

    def run_with_mail(self, now: int, shard: int, batch: Batch) -> Commit:
        """What other shards have sent so far is taken along."""
        mailbox = self._mailbox(shard)
        batch.deliveries = mail = mailbox.collect(most=_MAIL_AT_ONCE)
        done = self.run(now, shard, batch)
        mailbox.took(mail)
        return done

    def take_mail(self, now: int, shard: int) -> set[int]:
        """By itself: what cannot be carried out is set aside. The answer is who has mail now."""
        mailbox = self._mailbox(shard)
        receivers: set[int] = set()
        for mail, done in take_mail(partial(self.run, now, shard), mailbox.collect(most=_MAIL_AT_ONCE)):
            mailbox.took(mail)
            receivers |= done.receivers
        return receivers

    def _mailbox(self, shard: int) -> Mailbox:
        mailbox = self._mailboxes.get(shard)
        if mailbox is None:
            mailbox = self._mailboxes[shard] = Mailbox(self._broker.store, shard)
        return mailbox


workplace_at = lru_cache(maxsize=4)(Workplace)
