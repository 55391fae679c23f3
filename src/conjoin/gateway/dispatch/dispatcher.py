"""Calls of the runtime, awaited: requests go to the threads of the shards, and no more of them than memory is for.

Whoever stops waiting (a client is gone, its deadline or ours is over) takes back what no commit has begun with.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from conjoin.gateway.dispatch.loop_bridge import LoopBridge, ReplyFuture
from conjoin.gateway.dispatch.reply_group import ReplyGroup
from conjoin.gateway.dispatch.request_batcher import RequestBatcher
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import Ask, Call, StoreRead
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.carriers.shard_threads import ShardThreads

_A = TypeVar("_A")


class Dispatcher:
    def __init__(
        self, inline: ShardThreads, look: Callable[[Callable[[], Any]], Awaitable[Any]], most: int, timeout_ms: int
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.bell = LoopBridge(self._loop)
        self.under_way = 0
        """Calls that are not answered yet."""
        self._tray = RequestBatcher(self._loop, inline)
        self._look = look
        self._most = most
        self._timeout_ms = timeout_ms
        self._settled = asyncio.Event()
        self._settled.set()

    async def call(self, call: Call[_A]) -> _A | Refusal:
        if self.under_way >= self._most:
            call.close()
            return self.exhausted()
        timer = asyncio.timeout(self._timeout_ms / 1_000)
        try:
            async with timer:
                return await self.call_surely(call)
        except TimeoutError:
            if not timer.expired():
                raise
            return self._too_late()

    async def call_surely(self, call: Call[_A]) -> _A:
        """For those who have limits of their own."""
        self.under_way += 1
        self._settled.clear()
        try:
            step = next(call)
            while True:
                step = call.send(await self._done(step))
        except StopIteration as over:
            answer: _A = over.value
            return answer
        finally:
            self.under_way -= 1
            if not self.under_way:
                self._settled.set()

    async def call_many(self, calls: Sequence[Call[_A]]) -> list[_A]:
        """As `call_surely`, with one wait for all of them. Each asks one thing, or nothing."""
        self.under_way += len(calls)
        self._settled.clear()
        try:
            return await self._together(calls)
        finally:
            self.under_way -= len(calls)
            if not self.under_way:
                self._settled.set()

    async def _together(self, calls: Sequence[Call[_A]]) -> list[_A]:
        first = [_sent(call, None) for call in calls]
        asks = [step for step in first if type(step) is Ask]
        together = ReplyGroup(self.bell, self._loop.create_future(), len(asks))
        for number, ask in enumerate(asks):
            self._tray.put(ask.shard, ask.request, together.place(number))
        if asks:
            await together.future
        replies = iter(together.replies)
        both = zip(calls, first, strict=True)
        return [_sent(call, next(replies)) if type(step) is Ask else step for call, step in both]

    async def _done(self, step: Ask | StoreRead) -> Any:
        if type(step) is Ask:
            future: asyncio.Future[Reply] = self._loop.create_future()
            self._tray.put(step.shard, step.request, ReplyFuture(self.bell, future), self.under_way)
            return await future
        return await self._look(step.function)  # type: ignore[union-attr]

    def _too_late(self) -> Refusal:
        text = f"not done within {self._timeout_ms} ms, and perhaps done later: look, or send it again with its id"
        return Refusal("DEADLINE_EXCEEDED", text)

    def exhausted(self) -> Refusal:
        text = f"more than {self._most} requests are waiting already: try again in a moment, and with fewer at a time"
        return Refusal("RESOURCE_EXHAUSTED", text)

    async def settled(self) -> None:
        """Until every call is answered."""
        await self._settled.wait()


def _sent(call: Call[_A], reply: Any) -> Any:
    """What the call asks for next, or its answer. A reply that is an error is raised, as nothing was done."""
    if isinstance(reply, BaseException):
        raise reply
    try:
        return call.send(reply)
    except StopIteration as over:
        return over.value
