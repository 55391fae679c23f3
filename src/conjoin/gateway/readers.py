"""Readers: threads for work that would block the event loop, a few for each kind of work.

A read has a timeout, and is stopped when its request is cancelled; it counts until it has really ended. So long
searches delay each other, and neither lookups by key, nor writes, nor metrics.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from conjoin.errors import StoreFailed
from conjoin.store.reading import Reading, reading

_A = TypeVar("_A")


class Readers:
    """For one event loop."""

    def __init__(self, name: str, threads: int, most: int) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._most = most
        self.at_work = 0
        """Reads that run or wait for a thread, also if their request was cancelled."""

    async def read(self, function: Callable[[], _A], within_s: float, late_after_s: float) -> _A:
        """Raises `ReadStopped` on timeout; from `late_after_s` on, lists answer with what they have found."""
        its = Reading(within_s, late_after_s)

        def run() -> _A:
            with reading(its):
                its.check()
                return function()

        try:
            async with asyncio.timeout(within_s):
                return await self._run(run)
        except TimeoutError:
            raise its.stopped() from None
        finally:
            # If the request was cancelled, so is its read; otherwise it has ended already.
            its.cancel()

    async def write(self, function: Callable[[], _A]) -> _A:
        """Without a timeout: it is never reported as failed while it goes on."""
        return await self._run(function)

    async def _run(self, function: Callable[[], _A]) -> _A:
        if self.at_work >= self._most:
            raise StoreFailed(f"{self.at_work} requests wait for the store already: try again in a moment")
        self.at_work += 1
        loop = asyncio.get_running_loop()
        # With the context of the request: log records have its id.
        future = self._threads.submit(copy_context().run, function)

        def count_down() -> None:
            self.at_work -= 1

        def ended(done: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(count_down)

        future.add_done_callback(ended)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
