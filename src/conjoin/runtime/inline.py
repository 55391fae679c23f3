"""The inline runner: one thread a shard. Whatever arrives while a commit is under way is the next batch.

A request is answered when everything that follows from it has been committed, on other shards too. A shard whose
store fails answers its own requests with the error; the others go on.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Event, Thread
from typing import Any

from conjoin.errors import ConjoinError
from conjoin.fault_points import passing
from conjoin.kernel.correlation import events as e
from conjoin.runtime.batches import Batch, Done, Reply
from conjoin.runtime.broker import Broker
from conjoin.runtime.mailbox import Mailbox
from conjoin.runtime.run import Runner, Timings
from conjoin.runtime.stored_catalog import CatalogView
from conjoin.store.port import Store

MOST_IN_BATCH = 1_000


class Ticket:
    """Requests of one commit that wait until all post that followed from them was delivered."""

    def __init__(self) -> None:
        self.answers: dict[int, e.Event] = {}
        self.failed: Exception | None = None
        self._asked: list[tuple[Future[Reply], Reply]] = []
        self._under_way = 1
        self._turn = Condition()
        self._over = Event()

    def wait(self) -> None:
        self._over.wait()

    def promise(self, future: "Future[Reply]", reply: Reply) -> None:
        self._asked.append((future, reply))

    def more(self, count: int) -> None:
        with self._turn:
            self._under_way += count

    def one_done(self) -> None:
        with self._turn:
            self._under_way -= 1
            if self._under_way:
                return
        self._over.set()
        for future, reply in self._asked:
            reply.answer = self.answers.get(reply.key)
            if self.failed is not None and reply.answer is None and reply.awaits_answer:
                future.set_exception(self.failed)
            else:
                future.set_result(reply)


class Inline:
    def __init__(self, store: Store, clock: Callable[[], int], view: Callable[[], CatalogView]) -> None:
        shards = store.facts.shards
        self.counter = 0
        self.view = view
        self.workers = [_Worker(self, store, clock, index) for index in range(shards)]
        for worker in self.workers:
            worker.start()

    def submit(self, shard: int, request: Any) -> "Future[Reply]":
        return self.workers[shard].submit(request)

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
        self._requests: list[tuple[Any, Future[Reply]]] = []
        self._post: list[tuple[int, Ticket]] = []
        self._taken: list[int] = []
        self._stopping = False

    def submit(self, request: Any) -> "Future[Reply]":
        future: Future[Reply] = Future()
        with self._news:
            if self._stopping:
                raise RuntimeError("the runner is closed")
            self._requests.append((request, future))
            self._news.notify()
        return future

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
            self._serve(asked, post, taken)

    def _serve(self, asked: list[tuple[Any, Future[Reply]]], post: list[tuple[int, Ticket]], taken: list[int]) -> None:
        waiting = [ticket for _, ticket in post]
        try:
            if post:
                passing("delivering")
            mail = self.mailbox.collect({sender for sender, _ in post}) if post else []
            batch = Batch([request for request, _ in asked], mail, self._inline.counter, taken)
            done = self.runner.run(batch, self._inline.view())
        except Exception as error:  # noqa: BLE001 - the border of a thread: whoever asked gets the error
            if len(asked) > 1 and not isinstance(error, ConjoinError):
                # Something is wrong with one of them, and it is our mistake: the others shall not suffer for it.
                for one in asked:
                    self._serve([one], [], [])
                asked = []
            self._fail(asked, waiting, error)
            return
        self._inline.counter = max(self._inline.counter, done.head.next_key)
        if not done.committed:
            self.taken(taken)
        for sender, numbers in self.mailbox.took(mail).items():
            self._inline.workers[sender].taken(numbers)
        if asked:
            waiting.append(_ticket(asked, done))
        self._hand_on(done, waiting)

    def _hand_on(self, done: Done, waiting: list[Ticket]) -> None:
        for ticket in waiting:
            ticket.answers |= done.answers
            ticket.more(len(done.receivers))
        for receiver in sorted(done.receivers):
            self._inline.workers[receiver].notice(self._index, waiting)
        for ticket in waiting:
            ticket.one_done()

    def _fail(self, asked: list[tuple[Any, Future[Reply]]], waiting: list[Ticket], error: Exception) -> None:
        for _, future in asked:
            future.set_exception(error)
        for ticket in waiting:
            ticket.failed = error
            ticket.one_done()


def _ticket(asked: list[tuple[Any, Future[Reply]]], done: Done) -> Ticket:
    ticket = Ticket()
    for (_, future), reply in zip(asked, done.replies, strict=True):
        ticket.promise(future, reply)
    return ticket
