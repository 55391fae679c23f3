"""Jobs to workers: workers queue by type, and the oldest jobs are dealt out in the order of the queue.

Jobs are dealt when a worker arrives, when a commit of this process has made such jobs ready, and every second for the
commits of other processes. A poll takes as many as it wants and leaves; streams get one each in turn. `capacity` is how
many jobs a worker can take now. `busy` jobs are being activated for it: it is not answered before they come, so that no
job is activated for a worker that has just left.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from conjoin.gateway.dispatch import Dispatcher
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import ActivatedJob, Refusal
from conjoin.runtime.client_api.calls import Call, ReadyJob, StoreRead
from conjoin.runtime.client_api.jobs import JobsWanted, job_order

LOOK_AGAIN_S = 1.0
MOST_A_ROUND = 1_000
MOST_UNSENT = 32
"""So many jobs are activated for a stream before its client has taken them."""

ShardTenant = tuple[int, str]


class Poll:
    is_stream = False

    def __init__(self, wanted: JobsWanted, *, once: bool = False) -> None:
        """`once`: it waits for its turn in the queue, but not for jobs."""
        self.wanted = wanted
        self.once = once
        self.busy = 0
        self.answer: asyncio.Future[list[ActivatedJob]] = asyncio.get_running_loop().create_future()
        self._is_over = False

    @property
    def is_gone(self) -> bool:
        return self.answer.done()

    @property
    def capacity(self) -> int:
        return 0 if self.is_gone else self.wanted.most - self.busy

    def take(self, jobs: Sequence[ActivatedJob]) -> None:
        self.busy = 0
        if (jobs or self._is_over) and not self.answer.done():
            self.answer.set_result(fetched(jobs, self.wanted.fetch))

    def expire(self) -> None:
        """On its timeout: it gets the jobs that are being activated for it, or none."""
        self._is_over = True
        if not self.busy:
            self.take(())

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Stream:
    is_stream = True
    once = False

    def __init__(self, wanted: JobsWanted) -> None:
        self.wanted = wanted
        self.busy = 0
        self.is_gone = False
        self._jobs: deque[ActivatedJob] = deque()
        self._news = asyncio.Event()
        self._error: Exception | None = None

    @property
    def capacity(self) -> int:
        return 0 if self.is_gone else MOST_UNSENT - self.busy - len(self._jobs)

    def take(self, jobs: Sequence[ActivatedJob]) -> None:
        self.busy = 0
        self._jobs.extend(fetched(jobs, self.wanted.fetch))
        self._news.set()

    def expire(self) -> None:
        self.is_gone = True
        self._news.set()

    def fail(self, error: Exception) -> None:
        self._error = error
        self.expire()

    async def next(self) -> ActivatedJob | None:
        """None: the stream has ended."""
        while not self._jobs:
            if self.is_gone:
                if self._error is not None:
                    raise self._error
                return None
            self._news.clear()
            await self._news.wait()
        return self._jobs.popleft()


Waiter = Poll | Stream


def fetched(jobs: Iterable[ActivatedJob], names: Sequence[str]) -> list[ActivatedJob]:
    """With only the variables of these names, if any are given."""
    if not names:
        return list(jobs)
    wanted = frozenset(names)
    return [replace(job, variables={name: it for name, it in job.variables.items() if name in wanted}) for job in jobs]


class _Queue:
    """The workers that wait for one type, the next one first."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.waiters: dict[Waiter, None] = {}
        self.news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class JobDispatcher:
    def __init__(self, broker: Broker, dispatcher: Dispatcher, most: int) -> None:
        self._broker = broker
        self._dispatcher = dispatcher
        self._most = most
        self._queues: dict[str, _Queue] = {}
        self._waiting = 0
        self._is_closed = False

    def ready(self, types: Iterable[str]) -> None:
        """Jobs of these types can be activated now."""
        for type_ in types:
            queue = self._queues.get(type_)
            if queue is not None:
                queue.news.set()

    async def poll(self, wanted: JobsWanted, wait_ms: int) -> list[ActivatedJob] | Refusal:
        """Negative: it does not wait."""
        problem = self._problem(wanted)
        if problem is not None:
            return problem
        poll = Poll(wanted, once=wait_ms < 0)
        queue = self._join(poll)
        timer = None if poll.once else asyncio.get_running_loop().call_later(wait_ms / 1_000, poll.expire)
        try:
            return await poll.answer
        finally:
            if timer is not None:
                timer.cancel()
            self._leave(queue, poll)

    def stream(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob] | Refusal:
        return self._problem(wanted) or self._streamed(wanted)

    async def _streamed(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob]:
        stream = Stream(wanted)
        queue = self._join(stream)
        try:
            while (job := await stream.next()) is not None:
                if stream.capacity == 1:
                    queue.news.set()
                yield job
        finally:
            stream.is_gone = True
            self._leave(queue, stream)

    def close(self) -> None:
        """Polls are answered with what they have; streams end."""
        self._is_closed = True
        for queue in self._queues.values():
            for waiter in queue.waiters:
                waiter.expire()
            queue.news.set()

    def _problem(self, wanted: JobsWanted) -> Refusal | None:
        if self._is_closed:
            return Refusal("UNAVAILABLE", "the server is stopping: try another one, or again in a moment")
        if self._waiting >= self._most:
            text = f"{self._most} workers are waiting for jobs already: open fewer polls and streams"
            return Refusal("RESOURCE_EXHAUSTED", text)
        return wanted.unusable()

    def _join(self, waiter: Waiter) -> _Queue:
        queue = self._queues.get(waiter.wanted.type)
        if queue is None:
            queue = self._queues[waiter.wanted.type] = _Queue(waiter.wanted.type)
            queue.task = asyncio.create_task(self._serve(queue))
        queue.waiters[waiter] = None
        queue.news.set()
        self._waiting += 1
        return queue

    def _leave(self, queue: _Queue, waiter: Waiter) -> None:
        queue.waiters.pop(waiter, None)
        queue.news.set()
        self._waiting -= 1

    async def _serve(self, queue: _Queue) -> None:
        """As long as a worker is in the queue."""
        while queue.waiters:
            queue.news.clear()
            try:
                await self._round(queue)
            except Exception as error:  # noqa: BLE001 - the border of a task: the workers that wait get the error
                for waiter in list(queue.waiters):
                    waiter.fail(error)
            try:
                await asyncio.wait_for(queue.news.wait(), LOOK_AGAIN_S)
            except TimeoutError:
                continue
        del self._queues[queue.type]

    async def _round(self, queue: _Queue) -> None:
        waiters = [waiter for waiter in queue.waiters if waiter.capacity > 0]
        limit = min(sum(waiter.capacity for waiter in waiters), MOST_A_ROUND)
        if limit:
            tenants = dict.fromkeys(tenant for waiter in waiters for tenant in waiter.wanted.tenant_ids)
            ready = await self._dispatcher.call_surely(self._ready(queue.type, limit, list(tenants)))
            portions = deal(ready[:limit], waiters)
            await asyncio.gather(*(self._hand_out(waiter, its) for waiter, its in portions.items()))
            for stream in portions:
                if stream.is_stream and stream in queue.waiters:
                    # Behind the others.
                    del queue.waiters[stream]
                    queue.waiters[stream] = None
            if portions and len(ready) >= limit:
                queue.news.set()
        for waiter in waiters:
            if waiter.once:
                waiter.expire()

    def _ready(self, type_: str, limit: int, tenants: Sequence[str]) -> Call[list[ReadyJob]]:
        found = yield StoreRead(lambda: self._broker.ready_jobs(type_, limit, tenants))
        return sorted(found)

    async def _hand_out(self, waiter: Waiter, portions: Mapping[ShardTenant, int]) -> None:
        calls = [self._broker.calls.activate_on(waiter.wanted, *which, most) for which, most in portions.items()]
        activated = await asyncio.gather(*map(self._dispatcher.call_surely, calls))
        waiter.take(sorted(chain.from_iterable(activated), key=job_order))


def deal(ready: Sequence[ReadyJob], waiters: Iterable[Waiter]) -> dict[Waiter, Counter[ShardTenant]]:
    """How many jobs each worker activates where. A worker that is gone by now gets none."""
    portions: dict[Waiter, Counter[ShardTenant]] = {}
    queue = deque(waiter for waiter in waiters if waiter.capacity > 0)
    for job in ready:
        waiter = next((one for one in queue if job.tenant_id in one.wanted.tenant_ids), None)
        if waiter is None:
            continue
        portions.setdefault(waiter, Counter())[job.shard, job.tenant_id] += 1
        waiter.busy += 1
        if waiter.is_stream or not waiter.capacity:
            queue.remove(waiter)
            if waiter.capacity:
                queue.append(waiter)
    return portions
