"""Shard threads: one thread a shard. Whatever arrives while a commit is under way is the next batch.

A request is answered when everything that follows from it has been committed, on other shards too. A shard whose
store fails answers its own requests with the error; the others go on. Invariant: whatever a request, its promise or a
listener does, the thread goes on and everybody who waits is answered.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager
from threading import Condition, Event, Lock, Thread
from typing import Any, Protocol

from conjoin.errors import OutcomeUnknown, StoreFailed
from conjoin.fault_points import passing
from conjoin.kernel.correlation import events as e
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.late_answers import accepted_at_least
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch, Commit, Reply
from conjoin.runtime.run.isolation import blamed, is_worlds, isolated
from conjoin.runtime.run.mailbox import Mail, Mailbox
from conjoin.runtime.run.run import Runner, Timings
from conjoin.runtime.run.set_aside import may_pass
from conjoin.runtime.run.sweeping import is_items, mail_set_aside
from conjoin.runtime.upkeep.supervision import Supervisor
from conjoin.store.port import Store
from conjoin.store.rows import OutboxRow

MOST_IN_BATCH = 1_000
ANSWER_S = 120.0
"""A thread that waits for a shard waits no longer; what it asked for may still be done."""
_log = logging.getLogger(__name__)


class ReplyPromise(Protocol):
    """What a request is answered with; a `Future` is one."""

    def set_result(self, reply: Reply, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...

    def cancelled(self) -> bool:
        """Nobody waits for it any more: it need not be carried out."""


Asked = tuple[Any, ReplyPromise]
"""A request, and who waits for it."""


class ReplyWait:
    """Requests of one commit that wait until all post that followed from them was delivered."""

    def __init__(self) -> None:
        self.answers: dict[int, e.Event] = {}
        self.failed: BaseException | None = None
        self._asked: list[tuple[ReplyPromise, Reply]] = []
        self._under_way = 1
        self._turn = Condition()
        self._over = Event()

    def wait(self, timeout_s: float) -> bool:
        """False: it is not over yet."""
        return self._over.wait(timeout_s)

    def promise(self, promise: ReplyPromise, reply: Reply) -> None:
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
                _settle(promise, accepted_at_least(self.failed))
            else:
                _settle(promise, reply)


class ShardThreads:
    def __init__(
        self,
        store: Store,
        clock: ForwardClock,
        view: Callable[[], CatalogView],
        supervisor: Supervisor | None = None,
    ) -> None:
        shards = store.facts.shards
        self.counter = 0
        self.view = view
        self.supervisor = supervisor or Supervisor()
        self.listener: Callable[[Commit], None] | None = None
        """Told every commit, in the thread of its shard."""
        self._counting = Lock()
        self.workers = [_Worker(self, store, clock, index) for index in range(shards)]
        for worker in self.workers:
            worker.start()

    def follow(self, counter: int) -> None:
        """Keys that any shard hands out from here on are not smaller."""
        with self._counting:
            self.counter = max(self.counter, counter)

    def hand_in(self, shard: int, asked: Sequence[Asked]) -> None:
        self.workers[shard].hand_in(asked)

    def submit(self, shard: int, request: Any) -> "Future[Reply]":
        future: Future[Reply] = Future()
        self.hand_in(shard, [(request, future)])
        return future

    def ask(self, shard: int, request: Any, timeout_s: float = ANSWER_S) -> Reply:
        try:
            return self.submit(shard, request).result(timeout_s)
        except TimeoutError:
            raise OutcomeUnknown(f"shard {shard} has not answered within {timeout_s:g} s") from None

    def notice(self, sender: int, receivers: Sequence[int]) -> None:
        """There is mail; nobody waits for it."""
        for receiver in receivers:
            self.workers[receiver].notice(sender, [])

    def deliver(self) -> None:
        """Empty all mailboxes, of what other processes have sent too."""
        ticket = ReplyWait()
        shards = range(len(self.workers))
        for receiver in shards:
            for sender in shards:
                if sender != receiver:
                    ticket.more(1)
                    self.workers[receiver].notice(sender, [ticket])
        ticket.one_done()
        if not ticket.wait(ANSWER_S):
            raise StoreFailed(f"what lies between the shards was not delivered within {ANSWER_S:g} s")

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
def shard_threads(broker: Broker) -> Iterator[ShardThreads]:
    """The broker's requests are carried by threads from here on."""
    runner = ShardThreads(broker.store, broker.clock, broker.catalog.view, broker.supervisor)
    carrier, broker.carrier = broker.carrier, runner
    try:
        yield runner
    finally:
        broker.carrier = carrier
        runner.close()


class _Worker(Thread):
    def __init__(self, shard_threads: ShardThreads, store: Store, clock: ForwardClock, index: int) -> None:
        super().__init__(name=f"shard-{index}", daemon=True)
        self.runner = Runner(store.shard(index).reader(), clock, store.facts)
        self.job = shard_threads.supervisor.job(self.name, critical=True)
        self._inline = shard_threads
        self._index = index
        self.mailbox = Mailbox(store, index)
        self._news = Condition()
        self._requests: list[Asked] = []
        self._post: dict[int, list[ReplyWait]] = {}
        self._taken: list[int] = []
        self._stopping = False

    def hand_in(self, asked: Sequence[Asked]) -> None:
        with self._news:
            if self._stopping:
                raise RuntimeError("the runner is closed")
            self._requests += asked
            self._news.notify()

    def notice(self, sender: int, tickets: list[ReplyWait]) -> None:
        """There is post from another shard; each ticket waits for it."""
        with self._news:
            self._post.setdefault(sender, []).extend(tickets)
            self._news.notify()

    def taken(self, numbers: list[int]) -> None:
        with self._news:
            self._taken += numbers

    def stop(self) -> None:
        with self._news:
            self._stopping = True
            self._news.notify()

    def run(self) -> None:
        while (work := self._next()) is not None:
            asked, post, taken = work
            with self.job.working(f"carrying out {len(asked)} requests, and mail from {len(post)} shards"):
                self._serve(asked, post, taken)
        self._inline.supervisor.over(self.job)

    def _next(self) -> tuple[list[Asked], dict[int, list[ReplyWait]], list[int]] | None:
        with self._news:
            while not self._requests and not self._post:
                if self._stopping:
                    return None
                self._news.wait()
            asked, self._requests = self._requests[:MOST_IN_BATCH], self._requests[MOST_IN_BATCH:]
            post, self._post = self._post, {}
            taken, self._taken = self._taken, []
        return asked, post, taken

    def _serve(self, asked: list[Asked], post: dict[int, list[ReplyWait]], taken: list[int]) -> None:
        tickets = [ticket for its in post.values() for ticket in its]
        try:
            wanted = [one for one in asked if not one[1].cancelled()]
            mail = self._collected(post) if post else []
            self._carry_out(wanted, mail, taken, [ticket for its in post.values() for ticket in its])
        except BaseException as error:  # noqa: BLE001 - the border of a thread: it goes on, and whoever waits gets the error
            self.job.count(error)
            self._fail(asked, tickets, error)

    def _collected(self, post: dict[int, list[ReplyWait]]) -> Mail:
        """A sender that cannot be read does not keep back what others ask for."""
        mail: Mail = []
        for sender in sorted(post):
            try:
                passing("delivering")
                mail += self.mailbox.collect([sender])
            except Exception as error:  # noqa: BLE001 - the mail stays where it is, and is looked for again
                self.job.count(error)
                self._fail([], post.pop(sender), error)
        return mail

    def _carry_out(self, asked: list[Asked], mail: Mail, taken: list[int], tickets: list[ReplyWait]) -> None:
        try:
            done = self._run(asked, mail, taken)
        except Exception as error:  # noqa: BLE001 - of which request or which mail it was is found out
            self.taken(taken)
            self._carry_out_rest(asked, mail, tickets, error)
            return
        if not done.committed:
            self.taken(taken)
        self._answer(asked, mail, done, tickets)

    def _carry_out_rest(self, asked: list[Asked], mail: Mail, tickets: list[ReplyWait], error: Exception) -> None:
        """What can be carried out of a batch that failed as a whole: the mail, then the requests."""
        if is_worlds(error) or blamed(error).is_committed:
            self._note(error)
            self._fail(asked, tickets, error)
            return
        item = blamed(error).item
        is_mail = not asked or any(one is item for one in mail)
        is_request = not mail or any(request is item for request, _ in asked)
        self._take_rest(mail, tickets, error if is_mail else None)
        for some, done in isolated(self._ask, asked, lambda one, it: one[0] is it.item, error if is_request else None):
            if isinstance(done, Commit):
                self._answer(some, [], done, [])
            else:
                self._note(done)
                self._fail(some, [], done)

    def _take_rest(self, mail: Mail, tickets: list[ReplyWait], error: Exception | None) -> None:
        for some, done in isolated(self._take, mail, lambda one, it: one is it.item, error):
            for ticket in tickets:
                ticket.more(1)
            if isinstance(done, Exception):
                self._note(done)
                done = self._set_aside(some, done)
            if isinstance(done, Commit):
                self._answer([], some, done, tickets)
            else:
                self._fail([], tickets, done)
        for ticket in tickets:
            ticket.one_done()

    def _set_aside(self, mail: Sequence[tuple[int, OutboxRow]], error: Exception) -> Commit | Exception:
        """Once more, as it may have been a passing trouble; then it makes room for what comes behind it."""
        if not is_items(error):
            return error
        [(sender, row)] = mail
        try:
            if may_pass(error):
                return self._take(mail)
        except Exception as again:  # noqa: BLE001 - it has failed by itself, twice
            error = again
        if not is_items(error):
            return error
        try:
            return self._run([(mail_set_aside(sender, row, error), None)], [], [])
        except Exception as failed:  # noqa: BLE001 - the mail stays where it is
            return failed

    def _run(
        self, asked: Sequence[tuple[Any, Any]], mail: Sequence[tuple[int, OutboxRow]], taken: Sequence[int]
    ) -> Commit:
        batch = Batch([request for request, _ in asked], mail, self._inline.counter, taken)
        done = self.runner.run(batch, self._inline.view())
        if done.committed:
            self.job.succeeded()
        return done

    def _ask(self, asked: Sequence[Asked]) -> Commit:
        return self._run(asked, [], [])

    def _take(self, mail: Sequence[tuple[int, OutboxRow]]) -> Commit:
        return self._run([], mail, [])

    def _note(self, error: Exception) -> None:
        """The shard is down while its store fails; what is one item's alone is counted."""
        if is_worlds(error):
            self.job.failed(error)
        else:
            self.job.count(error)

    def _answer(self, asked: Sequence[Asked], mail: Sequence[Any], done: Commit, tickets: list[ReplyWait]) -> None:
        """The commit is there."""
        self._inline.follow(done.head.next_key)
        self._tell(done)
        for sender, numbers in self.mailbox.took(mail).items():
            self._inline.workers[sender].taken(numbers)
        self._hand_on(done, tickets, _ticket(asked, done) if asked else None)

    def _tell(self, done: Commit) -> None:
        listener = self._inline.listener
        if listener is None:
            return
        try:
            passing("telling")
            listener(done)
        except Exception as error:  # noqa: BLE001 - the commit is there, and its requests are answered, whoever listens
            self.job.count(error)

    def _hand_on(self, done: Commit, tickets: list[ReplyWait], own: ReplyWait | None) -> None:
        """A request waits for the post that follows from it; whoever waits for mail, for all of it."""
        waiting = [(ticket, done.receivers) for ticket in tickets]
        if own is not None:
            waiting.append((own, done.receivers_of_requests))
        for ticket, receivers in waiting:
            ticket.answers |= done.answers
            ticket.more(len(receivers))
        for receiver in sorted(done.receivers):
            noticed = [ticket for ticket, receivers in waiting if receiver in receivers]
            self._inline.workers[receiver].notice(self._index, noticed)
        for ticket, _ in waiting:
            ticket.one_done()

    def _fail(self, asked: Sequence[Asked], waiting: list[ReplyWait], error: BaseException) -> None:
        for _, promise in asked:
            _settle(promise, error)
        for ticket in waiting:
            ticket.failed = error
            ticket.one_done()


def _ticket(asked: Sequence[Asked], done: Commit) -> ReplyWait:
    ticket = ReplyWait()
    for (_, promise), reply in zip(asked, done.replies, strict=True):
        ticket.promise(promise, reply)
    return ticket


def _settle(promise: ReplyPromise, answer: Reply | BaseException) -> None:
    """Whoever has taken a request back, or fails when it is answered, keeps no other from being answered."""
    try:
        if isinstance(answer, BaseException):
            promise.set_exception(answer)
        else:
            promise.set_result(answer)
        passing("replying")
    except InvalidStateError:
        return
    except Exception:  # noqa: BLE001 - the promise is somebody else's
        _log.exception("a request was carried out, and its answer could not be handed over")
