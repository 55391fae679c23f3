"""The inline runner: one thread a shard. Whatever arrives while a commit is under way is the next batch.

A request is answered when everything that follows from it has been committed, on other shards too. A shard whose
store fails answers its own requests with the error; the others go on.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Event, Thread
from typing import Any, Protocol

from conjoin.errors import ConjoinError, EndlessRequest
from conjoin.fault_points import passing
from conjoin.kernel.correlation import events as e
from conjoin.runtime.batches import Batch, Done, Reply
from conjoin.runtime.broker import Broker
from conjoin.runtime.mailbox import Mailbox
from conjoin.runtime.run import Runner, Timings
from conjoin.runtime.stored_catalog import CatalogView
from conjoin.store.port import Store

MOST_IN_BATCH = 1_000
_log = logging.getLogger(__name__)


class Promise(Protocol):
    """What a request is answered with; a `Future` is one."""

    def set_result(self, reply: Reply, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...

    def cancelled(self) -> bool:
        """Nobody waits for it any more: it need not be carried out."""


Asked = tuple[Any, Promise]
"""A request, and who waits for it."""


class Ticket:
    """Requests of one commit that wait until all post that followed from them was delivered."""

    def __init__(self) -> None:
        self.answers: dict[int, e.Event] = {}
        self.failed: Exception | None = None
        self._asked: list[tuple[Promise, Reply]] = []
        self._under_way = 1
        self._turn = Condition()
        self._over = Event()

    def wait(self) -> None:
        self._over.wait()

    def promise(self, promise: Promise, reply: Reply) -> None:
        self._asked.append((promise, reply))

    def more(self, count: int) -> None:
        with self._turn:
            self._under_way += count

    def one_done(self) -> None:
        with self._turn:
            self._under_way -= 1
            if self._under_way:
                return
        self._over.set()
        for promise, reply in self._asked:
            reply.answer = self.answers.get(reply.key)
            if self.failed is not None and reply.answer is None and reply.awaits_answer:
                promise.set_exception(self.failed)
            else:
                promise.set_result(reply)


class Inline:
    def __init__(self, store: Store, clock: Callable[[], int], view: Callable[[], CatalogView]) -> None:
        shards = store.facts.shards
        self.counter = 0
        self.view = view
        self.listener: Callable[[Done], None] | None = None
        """Told every commit, in the thread of its shard."""
        self.workers = [_Worker(self, store, clock, index) for index in range(shards)]
        for worker in self.workers:
            worker.start()

    def hand_in(self, shard: int, asked: Sequence[Asked]) -> None:
        self.workers[shard].hand_in(asked)

    def submit(self, shard: int, request: Any) -> "Future[Reply]":
        future: Future[Reply] = Future()
        self.hand_in(shard, [(request, future)])
        return future

    def ask(self, shard: int, request: Any) -> Reply:
        return self.submit(shard, request).result()

    def deliver(self) -> None:
        """Empty all mailboxes, of what other processes have sent too."""
        ticket = Ticket()
        shards = range(len(self.workers))
        for receiver in shards:
            for sender in shards:
                if sender != receiver:
                    ticket.more(1)
                    self.workers[receiver].notice(sender, [ticket])
        ticket.one_done()
        ticket.wait()

    @property
    def timings(self) -> list[Timings]:
        return [worker.runner.timings for worker in self.workers]

    def close(self) -> None:
        """What was asked before is still answered."""
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.join()
            worker.mailbox.close()
            worker.runner.store.close()


@contextmanager
def inline(broker: Broker) -> Iterator[Inline]:
    """The broker's requests are carried by threads from here on."""
    runner = Inline(broker.store, lambda: broker.now, broker.catalog.view)
    carrier, broker.carrier = broker.carrier, runner
    try:
        yield runner
    finally:
        broker.carrier = carrier
        runner.close()


class _Worker(Thread):
    def __init__(self, inline: Inline, store: Store, clock: Callable[[], int], index: int) -> None:
        super().__init__(name=f"shard-{index}", daemon=True)
        self.runner = Runner(store.shard(index).reader(), clock, store.facts)
        self._inline = inline
        self._index = index
        self.mailbox = Mailbox(store, index)
        self._news = Condition()
        self._requests: list[Asked] = []
        self._post: list[tuple[int, Ticket]] = []
        self._taken: list[int] = []
        self._stopping = False

    def hand_in(self, asked: Sequence[Asked]) -> None:
        with self._news:
            if self._stopping:
                raise RuntimeError("the runner is closed")
            self._requests += asked
            self._news.notify()

    def notice(self, sender: int, tickets: list[Ticket]) -> None:
        """There is post from another shard; each ticket waits for it."""
        with self._news:
            self._post += [(sender, ticket) for ticket in tickets]
            self._news.notify()

    def taken(self, numbers: list[int]) -> None:
        with self._news:
            self._taken += numbers

    def stop(self) -> None:
        with self._news:
            self._stopping = True
            self._news.notify()

    def run(self) -> None:
        while True:
            with self._news:
                while not self._requests and not self._post:
                    if self._stopping:
                        return
                    self._news.wait()
                asked, self._requests = self._requests[:MOST_IN_BATCH], self._requests[MOST_IN_BATCH:]
                post, self._post = self._post, []
                taken, self._taken = self._taken, []
            self._serve([one for one in asked if not one[1].cancelled()], post, taken)

    def _serve(self, asked: list[Asked], post: list[tuple[int, Ticket]], taken: list[int]) -> None:
        waiting = [ticket for _, ticket in post]
        try:
            if post:
                passing("delivering")
            mail = self.mailbox.collect({sender for sender, _ in post}) if post else []
            batch = Batch([request for request, _ in asked], mail, self._inline.counter, taken)
            done = self.runner.run(batch, self._inline.view())
        except Exception as error:  # noqa: BLE001 - the border of a thread: whoever asked gets the error
            if len(asked) > 1 and (isinstance(error, EndlessRequest) or not isinstance(error, ConjoinError)):
                # Something is wrong with one of them: the others shall not suffer for it.
                for one in asked:
                    self._serve([one], [], [])
                asked = []
            self._fail(asked, waiting, error)
            return
        self._inline.counter = max(self._inline.counter, done.head.next_key)
        self._tell(done)
        if not done.committed:
            self.taken(taken)
        for sender, numbers in self.mailbox.took(mail).items():
            self._inline.workers[sender].taken(numbers)
        if asked:
            waiting.append(_ticket(asked, done))
        self._hand_on(done, waiting)

    def _tell(self, done: Done) -> None:
        listener = self._inline.listener
        if listener is None:
            return
        try:
            listener(done)
        except Exception:  # noqa: BLE001 - the commit is there, and its requests are answered, whoever cannot listen
            _log.exception("a commit of shard %s was not heard", self._index)

    def _hand_on(self, done: Done, waiting: list[Ticket]) -> None:
        for ticket in waiting:
            ticket.answers |= done.answers
            ticket.more(len(done.receivers))
        for receiver in sorted(done.receivers):
            self._inline.workers[receiver].notice(self._index, waiting)
        for ticket in waiting:
            ticket.one_done()

    def _fail(self, asked: list[Asked], waiting: list[Ticket], error: Exception) -> None:
        for _, promise in asked:
            promise.set_exception(error)
        for ticket in waiting:
            ticket.failed = error
            ticket.one_done()


def _ticket(asked: list[Asked], done: Done) -> Ticket:
    ticket = Ticket()
    for (_, promise), reply in zip(asked, done.replies, strict=True):
        ticket.promise(promise, reply)
    return ticket
