"""Requests of the event loop to the threads of the shards, in batches, and the replies back.

A call that is cancelled (its client is gone, its timeout or ours has passed) takes back a request that no commit has
begun with. The number of requests under way is bounded.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import Ask, Call
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.carriers.shard_threads import ShardThreads

CROWD = 16
"""From so many calls under way on, requests wait for each other."""
LINGER_S = 0.004
_A = TypeVar("_A")
_log = logging.getLogger(__name__)


class LoopBridge:
    """Calls functions in the loop for any thread, in order, and wakes the loop once for all of them.

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
            # In a loop that is closed nothing waits any more.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        # Before the loop below: a thread that adds something after its last test has to wake the event loop again.
        self._is_awake = False
        work = self._work
        while work:
            function, args = work.popleft()
            try:
                function(*args)
            except Exception:  # noqa: BLE001 - the others in the queue have nothing to do with it
                _log.exception("a reply of a shard could not be handled")


class ReplyFuture:
    """Set by the thread of a shard, and awaited by a task in the loop (`future`)."""

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
    """Requests that arrive at about the same time go to their shard together: one lock, one wake-up, one batch.

    A request that is alone is handed over at once. Under load, those of a few milliseconds are handed over together:
    otherwise a shard begins with the first, and the others wait for a commit of one, which costs as much as one of ten.
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
            late = f"timed out after {self._timeout_ms} ms; the outcome is unknown: check it, or retry with the same id"
            return Refusal("DEADLINE_EXCEEDED", late)

    async def call_surely(self, call: Call[_A]) -> _A:
        """Without a limit and a timeout, for callers that have their own."""
        self._begun(1)
        try:
            step = next(call)
            while True:
                if type(step) is Ask:
                    step = call.send(await self._ask(step, self.under_way))
                else:
                    step = call.send(await self._look(step.function))  # type: ignore[union-attr]
        except StopIteration as over:
            answer: _A = over.value
            return answer
        finally:
            self._over(1)

    async def call_many(self, calls: Sequence[Call[_A]]) -> list[_A]:
        """As `call_surely`, without a task for each of them. Each call makes one request, or none."""
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
        for shard, requests in waiting.items():
            try:
                self._inline.hand_in(shard, requests)
            except RuntimeError as closed:
                for _, reply in requests:
                    reply.set_exception(closed)

    def exhausted(self) -> Refusal:
        text = f"more than {self._most} requests are waiting already: try again in a moment, and with fewer at a time"
        return Refusal("RESOURCE_EXHAUSTED", text)

    async def settled(self) -> None:
        """Until every call is answered."""
        await self._settled.wait()


def _sent(call: Call[_A], reply: Any) -> Any:
    """The next step of the call, or its answer. A reply that is an error is raised, as nothing was done."""
    if isinstance(reply, BaseException):
        raise reply
    try:
        return call.send(reply)
    except StopIteration as over:
        return over.value
