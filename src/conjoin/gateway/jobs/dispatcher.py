"""The job desk: whoever wants jobs of a type stands in a line; the oldest jobs are dealt out in the order of the line.

It deals when somebody arrives, when a commit of this process has made such jobs ready, and every second for what other
processes did. A poll takes as many as it wants and leaves; streams get one each in turn. Who is gone gets nothing.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import chain

from conjoin.gateway.dispatch import Dispatcher
from conjoin.gateway.jobs.waiters import Poll, Stream, Waiter
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import ActivatedJob, Refusal
from conjoin.runtime.client_api.calls import Call, ReadyJob, StoreRead
from conjoin.runtime.client_api.jobs import JobsWanted, job_order

LOOK_AGAIN_S = 1.0
MOST_A_ROUND = 1_000

Share = tuple[int, str]
"""A shard and a tenant."""


class _Line:
    """Those who wait for one type, the next one first."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.waiters: dict[Waiter, None] = {}
        self.news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class JobDesk:
    def __init__(self, broker: Broker, dispatcher: Dispatcher, most: int) -> None:
        self._broker = broker
        self._dispatcher = dispatcher
        self._most = most
        self._lines: dict[str, _Line] = {}
        self._waiting = 0
        self._is_closed = False

    def ready(self, types: Iterable[str]) -> None:
        """Jobs of these types can be activated now."""
        for type_ in types:
            line = self._lines.get(type_)
            if line is not None:
                line.news.set()

    async def poll(self, wanted: JobsWanted, wait_ms: int) -> list[ActivatedJob] | Refusal:
        """Negative: do not wait."""
        problem = self._problem(wanted)
        if problem is not None:
            return problem
        poll = Poll(wanted, once=wait_ms < 0)
        line = self._join(poll)
        timer = None if poll.once else asyncio.get_running_loop().call_later(wait_ms / 1_000, poll.expire)
        try:
            return await poll.answer
        finally:
            if timer is not None:
                timer.cancel()
            self._leave(line, poll)

    def stream(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob] | Refusal:
        return self._problem(wanted) or self._streamed(wanted)

    async def _streamed(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob]:
        stream = Stream(wanted)
        line = self._join(stream)
        try:
            while (job := await stream.next()) is not None:
                if stream.room == 1:
                    line.news.set()
                yield job
        finally:
            stream.is_gone = True
            self._leave(line, stream)

    def close(self) -> None:
        """Polls are answered with what they have, streams end."""
        self._is_closed = True
        for line in self._lines.values():
            for waiter in line.waiters:
                waiter.expire()
            line.news.set()

    def _problem(self, wanted: JobsWanted) -> Refusal | None:
        if self._is_closed:
            return Refusal("UNAVAILABLE", "the server is stopping: ask another one, or again in a moment")
        if self._waiting >= self._most:
            text = f"{self._most} workers are waiting for jobs already: open fewer polls and streams"
            return Refusal("RESOURCE_EXHAUSTED", text)
        return wanted.unusable()

    def _join(self, waiter: Waiter) -> _Line:
        line = self._lines.get(waiter.wanted.type)
        if line is None:
            line = self._lines[waiter.wanted.type] = _Line(waiter.wanted.type)
            line.task = asyncio.create_task(self._serve(line))
        line.waiters[waiter] = None
        line.news.set()
        self._waiting += 1
        return line

    def _leave(self, line: _Line, waiter: Waiter) -> None:
        line.waiters.pop(waiter, None)
        line.news.set()
        self._waiting -= 1

    async def _serve(self, line: _Line) -> None:
        """While somebody is in the line."""
        while line.waiters:
            line.news.clear()
            try:
                await self._round(line)
            except Exception as error:  # noqa: BLE001 - the border of a task: whoever waits gets the error
                for waiter in list(line.waiters):
                    waiter.fail(error)
            try:
                await asyncio.wait_for(line.news.wait(), LOOK_AGAIN_S)
            except TimeoutError:
                continue
        del self._lines[line.type]

    async def _round(self, line: _Line) -> None:
        waiters = [waiter for waiter in line.waiters if waiter.room > 0]
        limit = min(sum(waiter.room for waiter in waiters), MOST_A_ROUND)
        if limit:
            tenants = dict.fromkeys(tenant for waiter in waiters for tenant in waiter.wanted.tenant_ids)
            ready = await self._dispatcher.call_surely(self._ready(line.type, limit, list(tenants)))
            shares = deal(ready[:limit], waiters)
            await asyncio.gather(*(self._hand_out(waiter, its) for waiter, its in shares.items()))
            self._line_up_again(line, [waiter for waiter in shares if waiter.is_stream])
            if shares and len(ready) >= limit:
                line.news.set()
        for waiter in waiters:
            if waiter.once:
                waiter.expire()

    def _ready(self, type_: str, limit: int, tenants: Sequence[str]) -> Call[list[ReadyJob]]:
        found = yield StoreRead(lambda: self._broker.ready_jobs(type_, limit, tenants))
        return sorted(found)

    async def _hand_out(self, waiter: Waiter, shares: Mapping[Share, int]) -> None:
        calls = [self._broker.calls.activate_on(waiter.wanted, *place, most) for place, most in shares.items()]
        activated = await asyncio.gather(*map(self._dispatcher.call_surely, calls))
        waiter.take(sorted(chain.from_iterable(activated), key=job_order))

    def _line_up_again(self, line: _Line, streams: Iterable[Waiter]) -> None:
        """Behind the others."""
        for stream in streams:
            if stream in line.waiters:
                del line.waiters[stream]
                line.waiters[stream] = None


def deal(ready: Sequence[ReadyJob], waiters: Iterable[Waiter]) -> dict[Waiter, Counter[Share]]:
    """Who activates how many where. A waiter that is gone by now gets nothing."""
    shares: dict[Waiter, Counter[Share]] = {}
    line = deque(waiter for waiter in waiters if waiter.room > 0)
    for job in ready:
        waiter = next((one for one in line if job.tenant_id in one.wanted.tenant_ids), None)
        if waiter is None:
            continue
        shares.setdefault(waiter, Counter())[job.shard, job.tenant_id] += 1
        waiter.busy += 1
        if waiter.is_stream or not waiter.room:
            line.remove(waiter)
            if waiter.room:
                line.append(waiter)
    return shares
