"""The sequential carrier: runs on all shards, and the mail between them, one after the other, for any thread.

An order for another shard lies in the outbox of the commit that made it. It is delivered by a run of its receiver,
which notes the number in the same commit, so it is carried out once, however often it is delivered. A run that filled
an outbox empties it before it is answered; what a crash left is delivered by the next `tick`.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock

from conjoin.errors import ConjoinError
from conjoin.fault_points import passing
from conjoin.kernel.correlation import events as e
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch, Commit, Reply, accepted_at_least
from conjoin.runtime.run.isolation import blame_what_follows
from conjoin.runtime.run.mailbox import Mailbox, take_mail
from conjoin.runtime.run.run import Runner
from conjoin.store.port import ShardSnapshot, Store

_log = logging.getLogger(__name__)


class Sequential:
    def __init__(self, store: Store, clock: ForwardClock, view: Callable[[], CatalogView]) -> None:
        shards = store.facts.shards
        self.runners = [Runner(store.shard(index), clock, store.facts) for index in range(shards)]
        self._mailboxes = [Mailbox(store, index) for index in range(shards)]
        self._view = view
        self._counter = 0
        self._taken: dict[int, list[int]] = {}
        self._turn = RLock()

    def ask(self, shard: int, request: object) -> Reply:
        return self.run(shard, Batch([request])).replies[0]

    @contextmanager
    def look(self, shard: int) -> Iterator[ShardSnapshot]:
        """A shard as it is, to be read only."""
        with self._turn, self.runners[shard].store.begin() as snapshot:
            yield snapshot

    def run(self, shard: int, batch: Batch) -> Commit:
        """A batch and everything that follows from it, on all shards."""
        failed: ConjoinError | None = None
        with self._turn:
            done = self._run(shard, batch)
            try:
                done.answers |= self.deliver(sorted(done.receivers))
            except ConjoinError as error:
                # It stays in the outbox for the next `tick`: the commit that has put it there is done.
                _log.warning("what follows from commit %s is delivered later: %s", done.head.version, error)
                failed = error
            except Exception as error:  # the commit is there: it must not be carried out again
                blame_what_follows(error)
                raise
        for reply in done.replies:
            reply.answer = done.answers.get(reply.key)
            if failed is not None and reply.awaits_answer and reply.answer is None:
                raise accepted_at_least(failed) from failed
        return done

    def deliver(self, receivers: Iterable[int] | None = None) -> dict[int, e.Event]:
        """Empty the mailboxes of some shards, or of all, and those that this fills."""
        answers: dict[int, e.Event] = {}
        waiting = deque(range(len(self.runners)) if receivers is None else receivers)
        with self._turn:
            while waiting:
                for done in self._deliver(waiting.popleft()):
                    answers |= done.answers
                    waiting.extend(sorted(done.receivers))
        return answers

    def _deliver(self, receiver: int) -> Iterator[Commit]:
        """In one commit, unless something in it cannot be carried out: that is set aside."""
        mail = self._mailboxes[receiver].collect()
        if not mail:
            return
        passing("delivering")
        for some, done in take_mail(lambda batch: self._run(receiver, batch), mail):
            passing("delivered")
            for sender, numbers in self._mailboxes[receiver].took(some).items():
                self._taken.setdefault(sender, []).extend(numbers)
            yield done

    def forget_delivered(self) -> None:
        """What lies in the outboxes of processes that are gone, and was taken, is deleted."""
        with self._turn:
            for shard, runner in enumerate(self.runners):
                stale: list[int] = []
                for receiver in (it for it in range(len(self.runners)) if it != shard):
                    with self.look(receiver) as snapshot:
                        taken = snapshot.received().get(shard, 0)
                    stale += [row.seq for row in self._mailboxes[receiver].sent_before(shard, taken)]
                if stale:
                    self._taken.pop(shard, None)
                    runner.run(Batch(taken=stale), self._view())

    def _run(self, shard: int, batch: Batch) -> Commit:
        batch.counter = self._counter
        batch.taken = taken = self._taken.pop(shard, [])
        done = self.runners[shard].run(batch, self._view())
        if not done.committed and taken:
            self._taken[shard] = taken
        if len(self.runners) > 1:
            self._counter = max(self._counter, done.head.next_key)
        return done

    def close(self) -> None:
        for mailbox in self._mailboxes:
            mailbox.close()
