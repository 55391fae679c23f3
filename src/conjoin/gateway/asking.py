"""Calls of the runtime, awaited: requests go to the threads of the shards, and no more of them than memory is for.

Whoever stops waiting (a client is gone, its deadline is over) takes a request back that no commit has begun with.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from conjoin.gateway.bell import Bell, Promise
from conjoin.runtime.answers import Refusal
from conjoin.runtime.batches import Reply
from conjoin.runtime.calls import Ask, Call, Look
from conjoin.runtime.inline import Inline

_A = TypeVar("_A")


class Asking:
    def __init__(self, inline: Inline, look: Callable[[Callable[[], Any]], Awaitable[Any]], most: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.bell = Bell(self._loop)
        self.under_way = 0
        """Calls that are not answered yet."""
        self._inline = inline
        self._look = look
        self._most = most
        self._settled = asyncio.Event()
        self._settled.set()

    async def call(self, call: Call[_A]) -> _A | Refusal:
        if self.under_way >= self._most:
            call.close()
            return self.exhausted()
        return await self.call_surely(call)

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

    async def _done(self, step: Ask | Look) -> Any:
        if type(step) is Ask:
            future: asyncio.Future[Reply] = self._loop.create_future()
            self._inline.hand_in(step.shard, step.request, Promise(self.bell, future))
            return await future
        return await self._look(step.function)  # type: ignore[union-attr]

    def exhausted(self) -> Refusal:
        text = f"more than {self._most} requests are waiting already: try again in a moment, and with fewer at a time"
        return Refusal("RESOURCE_EXHAUSTED", text)

    async def settled(self) -> None:
        """Until every call is answered."""
        await self._settled.wait()
