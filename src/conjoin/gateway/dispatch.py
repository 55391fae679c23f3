"""Requests of the event loop to the threads of the shards, in batches, and the replies back.

Whoever stops waiting (a client is gone, its deadline or ours is over) takes back what no commit has begun with. No more
requests are under way than memory is for.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import Ask, Call, StoreRead
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.carriers.shard_threads import ShardThreads

CROWD = 16
"""So many calls that are not answered yet."""
LINGER_S = 0.004
_A = TypeVar("_A")
_log = logging.getLogger(__name__)


class LoopBridge:
    """Called from any thread; what it was called with happens in the loop, in that order, and the loop wakes once.

    A commit answers up to a thousand requests at a time; waking the loop for each would cost more than the answers.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._work: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._is_awake = False

    def call(self, function: Callable[..., None], *args: Any) -> None:
        self._work.append((function, args))
        if not self._is_awake:
            self._is_awake = True
            # A loop that is closed has nobody left who waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        # First this: whoever adds something after the last look below has to wake the loop again.
        self._is_awake = False
        work = self._work
        while work:
            function, args = work.popleft()
            try:
                function(*args)
            except Exception:  # noqa: BLE001 - the others in the queue have nothing to do with it
                _log.exception("what a shard has handed over could not be taken")


class ReplyFuture:
    """What a shard's thread fulfils, and a task in the loop awaits (`future`)."""

    __slots__ = ("_bridge", "future")

    def __init__(self, bridge: LoopBridge, future: "asyncio.Future[Reply]") -> None:
        self._bridge = bridge
        self.future = future

    def set_result(self, reply: Reply) -> None:
        self._bridge.call(self._settle, self.future.set_result, reply)

    def set_exception(self, error: BaseException) -> None:
        self._bridge.call(self._settle, self.future.set_exception, error)

    def _settle(self, settle: Callable[[Any], None], reply: Any) -> None:
        if not self.future.done():
            settle(reply)

    def cancelled(self) -> bool:
        return self.future.cancelled()


class Dispatcher:
    """Requests that come about the same time go to their shard together: one lock, one wake-up, one batch.

    Who comes alone is handed in at once. When there is a crowd, those of a few milliseconds are: otherwise a shard's
    thread begins with the first of them, and the others wait for a commit of one, which costs as much as one of ten.
    """

    def __init__(
        self, inline: ShardThreads, look: Callable[[Callable[[], Any]], Awaitable[Any]], most: int, timeout_ms: int
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.bridge = LoopBridge(self._loop)
        self.under_way = 0
        """Calls that are not answered yet."""
        self._inline = inline
        self._waiting: dict[int, list[tuple[Any, ReplyFuture]]] = {}
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
        self._begun(1)
        try:
            step = next(call)
            while True:
                step = call.send(await self._done(step))
        except StopIteration as over:
            answer: _A = over.value
            return answer
        finally:
            self._over(1)

    async def call_many(self, calls: Sequence[Call[_A]]) -> list[_A]:
        """As `call_surely`, without a task for each of them. Each asks one thing, or nothing."""
        self._begun(len(calls))
        try:
            first = [_sent(call, None) for call in calls]
            futures = [self._ask(step, 0) for step in first if type(step) is Ask]
            replies = iter(await asyncio.gather(*futures, return_exceptions=True))
            both = zip(calls, first, strict=True)
            return [_sent(call, next(replies)) if type(step) is Ask else step for call, step in both]
        finally:
            self._over(len(calls))

    def _begun(self, count: int) -> None:
        self.under_way += count
        self._settled.clear()

    def _over(self, count: int) -> None:
        self.under_way -= count
        if not self.under_way:
            self._settled.set()

    async def _done(self, step: Ask | StoreRead) -> Any:
        if type(step) is Ask:
            return await self._ask(step, self.under_way)
        return await self._look(step.function)  # type: ignore[union-attr]

    def _ask(self, ask: Ask, under_way: int) -> "asyncio.Future[Reply]":
        future: asyncio.Future[Reply] = self._loop.create_future()
        if not self._waiting:
            if under_way < CROWD:
                self._loop.call_soon(self._hand_in)
            else:
                self._loop.call_later(LINGER_S, self._hand_in)
        self._waiting.setdefault(ask.shard, []).append((ask.request, ReplyFuture(self.bridge, future)))
        return future

    def _hand_in(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for shard, asked in waiting.items():
            try:
                self._inline.hand_in(shard, asked)
            except RuntimeError as closed:
                for _, reply in asked:
                    reply.set_exception(closed)

    def _too_late(self) -> Refusal:
        text = f"timed out after {self._timeout_ms} ms; the outcome is unknown: check it, or retry with the same id"
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
