"""The mailbox of a shard: what lies in the outboxes of the others for it.

Reading is not taking: a run takes what was read, in the commit that carries it out, and skips what was taken before.
"""

from collections.abc import Callable, Iterable, Iterator

from conjoin.runtime.run.batches import Batch, Commit, Mail
from conjoin.runtime.run.isolation import carried_out
from conjoin.runtime.run.set_aside import mail_set_aside
from conjoin.store.port import ShardStore, Store
from conjoin.store.rows import OutboxRow

Run = Callable[[Batch], Commit]
"""One commit on a shard."""
_AT_ONCE = 1_000


class Mailbox:
    """For one thread, with its own connections to the other shards, whose runs are not disturbed."""

    def __init__(self, store: Store, receiver: int) -> None:
        self._receiver = receiver
        self._senders: dict[int, ShardStore] = {
            sender: store.shard(sender).reader() for sender in range(store.facts.shards) if sender != receiver
        }
        self._taken: dict[int, int] = {}

    def collect(self, senders: Iterable[int] | None = None, most: int | None = None) -> list[tuple[int, OutboxRow]]:
        """What was sent and not taken yet, from some shards or from all; about `most` of each, or everything."""
        return [
            (sender, row)
            for sender in sorted(senders or self._senders)
            for row in self._from(sender, self._taken.get(sender, 0), most)
        ]

    def sent_before(self, sender: int, taken: int) -> list[OutboxRow]:
        """What a sender still has up to a number."""
        return [row for row in self._from(sender, 0) if row.seq <= taken]

    def _from(self, sender: int, after: int, most: int | None = None) -> list[OutboxRow]:
        with self._senders[sender].begin() as snapshot:
            found: list[OutboxRow] = []
            while True:
                rows = snapshot.outbox(self._receiver, after, _AT_ONCE)
                found += rows
                if len(rows) < _AT_ONCE or (most is not None and len(found) >= most):
                    return found
                after = rows[-1].seq

    def took(self, mail: Mail) -> dict[int, list[int]]:
        """A commit has taken it: the numbers by sender, which may delete them."""
        numbers: dict[int, list[int]] = {}
        for sender, row in mail:
            numbers.setdefault(sender, []).append(row.seq)
            self._taken[sender] = row.seq
        return numbers

    def close(self) -> None:
        for sender in self._senders.values():
            sender.close()


def take_mail(run: Run, mail: Mail) -> Iterator[tuple[Mail, Commit]]:
    """What other shards have sent; what cannot be carried out is set aside."""
    for some, done in carried_out(lambda them: run(Batch(deliveries=them)), mail, lambda one, it: one is it.item):
        if isinstance(done, Exception):
            [(sender, row)] = some
            done = run(Batch([mail_set_aside(sender, row, done)]))
        yield some, done
