"""Shard threads: one thread a shard. What arrives while a commit is under way is the next batch.

A request is answered when everything that follows from it has been committed, on other shards too. A shard whose
store fails answers its own requests with the error; the others go on. Invariant: whatever a request, its promise or a
listener does, the thread goes on and every request is answered.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager
from threading import Condition, Event, Lock, Thread
from typing import Protocol

from conjoin.errors import OutcomeUnknown, StoreFailed
from conjoin.fault_points import passing
from conjoin.kernel.correlation import events as e
from conjoin.runtime.broker import Broker
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch, Commit, Mail, Reply, accepted_at_least
from conjoin.runtime.run.isolation import blamed, is_items, is_worlds, isolated, once_more
from conjoin.runtime.run.mailbox import Mailbox
from conjoin.runtime.run.run import Runner, Timings
from conjoin.runtime.run.set_aside import mail_set_aside
from conjoin.runtime.upkeep.supervision import Supervisor
from conjoin.store import reading
from conjoin.store.port import Store
from conjoin.store.rows import OutboxRow

MOST_IN_BATCH = 1_000
ANSWER_S = 120.0
"""The timeout of a thread that waits for a shard; its request may still be carried out."""
_log = logging.getLogger(__name__)


class ReplyPromise(Protocol):
    """What a request is answered with; a `Future` is one."""

    def set_result(self, reply: Reply, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...

    def cancelled(self) -> bool:
        """The client has gone: it need not be carried out."""


PromisedRequest = tuple[object, ReplyPromise]


class AnswerHere:
    """The promise of a thread that waits for the answer itself: a `Future` without what only others need."""

    __slots__ = ("_answer", "_turn")

    def __init__(self) -> None:
        self._answer: Reply | BaseException | None = None
        self._turn = Lock()
        self._turn.acquire()

    def set_result(self, reply: Reply, /) -> None:
        self._settle(reply)

    def set_exception(self, error: BaseException, /) -> None:
        self._settle(error)

    def cancelled(self) -> bool:
        return False

    def result(self, timeout_s: float) -> Reply:
        if not self._turn.acquire(timeout=timeout_s):
            raise TimeoutError
        assert self._answer is not None
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def _settle(self, answer: Reply | BaseException) -> None:
        if self._answer is not None:
            raise InvalidStateError("it was answered before")
        self._answer = answer
        self._turn.release()


class ReplyWait:
    """Requests of one commit that wait until all mail that followed from them was delivered."""

    def __init__(self, promised: Sequence[tuple[ReplyPromise, Reply]] = ()) -> None:
        self.answers: dict[int, e.Event] = {}
        self.failed: BaseException | None = None
        self.over = Event()
        self._promised = promised
        self._under_way = 1
        self._turn = Lock()

    def more(self, count: int) -> None:
        with self._turn:
            self._under_way += count

    def one_done(self) -> None:
        with self._turn:
            self._under_way -= 1
            if self._under_way:
                return
        self.over.set()
        for promise, reply in self._promised:
            reply.answer = self.answers.get(reply.key)
            if self.failed is not None and reply.answer is None and reply.awaits_answer:
                _settle(promise, accepted_at_least(self.failed))
            else:
                _settle(promise, reply)


class ShardThreads:
    def __init__(
        self, store: Store, clock: ForwardClock, view: Callable[[], CatalogView], supervisor: Supervisor | None = None
    ) -> None:
        shards = store.facts.shards
        self.counter = 0
        self.view = view
        self.supervisor = supervisor or Supervisor()
        self.timeout_s: float | None = None
        """Of whoever asks and names none: a server sets it, so that no disk that hangs holds up its threads."""
        self.listener: Callable[[Commit], None] | None = None
        """Called with every commit, in the thread that has committed."""
        self._counting = Lock()
        self.workers = [_Worker(self, store, clock, index) for index in range(shards)]
        for worker in self.workers:
            worker.start()

    def follow(self, counter: int) -> None:
        """Keys that any shard hands out from here on are not smaller."""
        with self._counting:
            self.counter = max(self.counter, counter)

    def hand_in(self, shard: int, requests: Sequence[PromisedRequest]) -> None:
        self.workers[shard].hand_in(requests)

    def submit(self, shard: int, request: object) -> "Future[Reply]":
        future: Future[Reply] = Future()
        self.hand_in(shard, [(request, future)])
        return future

    def ask(self, shard: int, request: object, timeout_s: float | None = None) -> Reply:
        """Without a timeout a shard that is at rest serves it in the thread of the caller, who waits anyway."""
        promise = AnswerHere()
        if timeout_s is None:
            timeout_s = self.timeout_s
        if timeout_s is not None or not self.workers[shard].serve_now(request, promise):
            self.hand_in(shard, [(request, promise)])
        timeout_s = ANSWER_S if timeout_s is None else timeout_s
        try:
            return promise.result(timeout_s)
        except TimeoutError:
            raise OutcomeUnknown(f"shard {shard} has not answered within {timeout_s:g} s") from None

    def notice(self, sender: int, receivers: Sequence[int]) -> None:
        """There is mail, for which no request waits."""
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
        if not ticket.over.wait(ANSWER_S):
            raise StoreFailed(f"what lies between the shards was not delivered within {ANSWER_S:g} s")

    @property
    def timings(self) -> list[Timings]:
        return [worker.runner.timings for worker in self.workers]

    def close(self) -> None:
        """Requests that were handed in before are still answered."""
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.join()
            with worker.turn:
                worker.mailbox.close()
                worker.runner.store.close()


@contextmanager
def shard_threads(broker: Broker) -> Iterator[ShardThreads]:
    """The broker's requests are carried by threads during the block."""
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
        self._threads = shard_threads
        self._index = index
        self.mailbox = Mailbox(store, index)
        self.turn = Lock()
        """Whoever has it carries out what the shard is asked for: this thread, or one that waits for the answer."""
        self._news = Condition()
        self._requests: list[PromisedRequest] = []
        self._senders: dict[int, list[ReplyWait]] = {}
        self._taken: list[int] = []
        self._is_behind = False
        """What was handed in has been taken and is not served yet: nothing that came later goes first."""
        self._stopping = False

    def hand_in(self, requests: Sequence[PromisedRequest]) -> None:
        with self._news:
            if self._stopping:
                raise RuntimeError("the runner is closed")
            self._requests += requests
            self._news.notify()

    def serve_now(self, request: object, promise: ReplyPromise) -> bool:
        """In this thread, if the shard is at rest. A reading has a deadline, which is none for what is written."""
        if reading.current() is not None or not self.turn.acquire(blocking=False):
            return False
        try:
            with self._news:
                if self._is_behind or self._requests or self._senders or self._stopping:
                    return False
                taken, self._taken = self._taken, []
            self._serve_all([(request, promise)], {}, taken)
            return True
        finally:
            self.turn.release()

    def notice(self, sender: int, tickets: list[ReplyWait]) -> None:
        """There is mail from another shard; each ticket waits for it."""
        with self._news:
            self._senders.setdefault(sender, []).extend(tickets)
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
            requests, senders, taken = work
            with self.turn:
                self._serve_all(requests, senders, taken)
                self._is_behind = False
        self._threads.supervisor.over(self.job)

    def _serve_all(
        self, requests: list[PromisedRequest], senders: dict[int, list[ReplyWait]], taken: list[int]
    ) -> None:
        with self.job.working(f"carrying out {len(requests)} requests, and mail from {len(senders)} shards"):
            tickets = [ticket for its in senders.values() for ticket in its]
            try:
                self._serve(requests, senders, taken)
            except BaseException as error:  # noqa: BLE001 - the border of a thread: it goes on, and all are answered
                self.job.count(error)
                self._fail(requests, tickets, error)

    def _next(self) -> tuple[list[PromisedRequest], dict[int, list[ReplyWait]], list[int]] | None:
        with self._news:
            while not self._requests and not self._senders:
                if self._stopping:
                    return None
                self._news.wait()
            requests, self._requests = self._requests[:MOST_IN_BATCH], self._requests[MOST_IN_BATCH:]
            senders, self._senders = self._senders, {}
            taken, self._taken = self._taken, []
            self._is_behind = True
        return requests, senders, taken

    def _serve(self, requests: list[PromisedRequest], senders: dict[int, list[ReplyWait]], taken: list[int]) -> None:
        wanted = [one for one in requests if not one[1].cancelled()]
        mail: list[tuple[int, OutboxRow]] = []
        for sender in sorted(senders):
            try:
                passing("delivering")
                mail += self.mailbox.collect([sender])
            except Exception as error:  # noqa: BLE001 - the mail stays where it is, and the requests go on
                self.job.count(error)
                self._fail([], senders.pop(sender), error)
        tickets = [ticket for its in senders.values() for ticket in its]
        try:
            done = self._run(wanted, mail, taken)
        except Exception as error:  # noqa: BLE001 - which request or which mail it was is found out
            self.taken(taken)
            self._carry_out_rest(wanted, mail, tickets, error)
            return
        if not done.committed:
            self.taken(taken)
        self._answer(wanted, mail, done, tickets)

    def _carry_out_rest(
        self, requests: list[PromisedRequest], mail: Mail, tickets: list[ReplyWait], error: Exception
    ) -> None:
        """What can be carried out of a batch that failed as a whole: the mail, then the requests."""
        if is_worlds(error) or blamed(error).is_committed:
            self._note(error)
            self._fail(requests, tickets, error)
            return
        item = blamed(error).item
        is_mail = not requests or any(one is item for one in mail)
        is_request = not mail or any(request is item for request, _ in requests)
        self._take_rest(mail, tickets, error if is_mail else None)
        tried = isolated(self._ask, requests, lambda one, it: one[0] is it.item, error if is_request else None)
        for some, done in tried:
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

    def _set_aside(self, mail: Mail, error: Exception) -> Commit | Exception:
        """What still fails must not block the mail behind it."""
        outcome = once_more(self._take, mail, error)
        if isinstance(outcome, Commit) or not is_items(outcome):
            return outcome
        [(sender, row)] = mail
        try:
            return self._run([(mail_set_aside(sender, row, outcome), None)], [], [])
        except Exception as failed:  # noqa: BLE001 - the mail stays where it is
            return failed

    def _run(self, requests: Sequence[tuple[object, ReplyPromise | None]], mail: Mail, taken: Sequence[int]) -> Commit:
        batch = Batch([request for request, _ in requests], mail, self._threads.counter, taken)
        done = self.runner.run(batch, self._threads.view())
        if done.committed:
            self.job.succeeded()
        return done

    def _ask(self, requests: Sequence[PromisedRequest]) -> Commit:
        return self._run(requests, [], [])

    def _take(self, mail: Mail) -> Commit:
        return self._run([], mail, [])

    def _note(self, error: Exception) -> None:
        """The shard is down while its store fails; what is one item's alone is counted."""
        if is_worlds(error):
            self.job.failed(error)
        else:
            self.job.count(error)

    def _answer(self, requests: Sequence[PromisedRequest], mail: Mail, done: Commit, tickets: list[ReplyWait]) -> None:
        """The commit is there. A request waits for the mail that follows from it; `tickets`, for all of it."""
        self._threads.follow(done.head.next_key)
        if self._threads.listener is not None:
            try:
                passing("telling")
                self._threads.listener(done)
            except Exception as error:  # noqa: BLE001 - the commit is there, and its requests are answered
                self.job.count(error)
        for sender, numbers in self.mailbox.took(mail).items():
            self._threads.workers[sender].taken(numbers)
        if not done.receivers and not tickets:
            for (_, promise), reply in zip(requests, done.replies, strict=True):
                reply.answer = done.answers.get(reply.key)
                _settle(promise, reply)
            return
        waiting = [(ticket, done.receivers) for ticket in tickets]
        if requests:
            promised = [(promise, reply) for (_, promise), reply in zip(requests, done.replies, strict=True)]
            waiting.append((ReplyWait(promised), done.receivers_of_requests))
        for ticket, receivers in waiting:
            ticket.answers |= done.answers
            ticket.more(len(receivers))
        for receiver in sorted(done.receivers):
            noticed = [ticket for ticket, receivers in waiting if receiver in receivers]
            self._threads.workers[receiver].notice(self._index, noticed)
        for ticket, _ in waiting:
            ticket.one_done()

    def _fail(self, requests: Sequence[PromisedRequest], tickets: list[ReplyWait], error: BaseException) -> None:
        for _, promise in requests:
            _settle(promise, error)
        for ticket in tickets:
            ticket.failed = error
            ticket.one_done()


def _settle(promise: ReplyPromise, answer: Reply | BaseException) -> None:
    """A promise that was cancelled, or that fails, does not keep another from being answered."""
    try:
        if isinstance(answer, BaseException):
            promise.set_exception(answer)
        else:
            promise.set_result(answer)
        passing("replying")
    except InvalidStateError:
        return
    except Exception:  # noqa: BLE001 - the promise is the caller's
        _log.exception("a request was carried out, and its answer could not be handed over")
