"""Readers: threads for whatever would block the event loop, each kind of work with a few of its own.

A reading has a deadline, and ends when nobody waits for it any more; until it has really ended it counts. So readings
that take long keep each other waiting, and neither looking something up by its key, nor writing, nor the figures.
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
        """Those that run or wait, also if nobody waits for them any more."""

    async def read(self, function: Callable[[], _A], within_s: float, late_after_s: float) -> _A:
        """Raises `ReadStopped` when it takes longer; `late_after_s`: from then on lists say how far they came."""
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
            # It may be over already; whoever leaves early has nobody left to read for.
            its.cancel()

    async def write(self, function: Callable[[], _A]) -> _A:
        """However long it takes: nobody is told that it failed while it goes on."""
        return await self._run(function)

    async def _run(self, function: Callable[[], _A]) -> _A:
        if self.at_work >= self._most:
            raise StoreFailed(f"{self.at_work} requests wait for the store already: try again in a moment")
        self.at_work += 1
        loop = asyncio.get_running_loop()
        # With the context of the request: what is logged has its id.
        future = self._threads.submit(copy_context().run, function)
        future.add_done_callback(lambda done: self._ended(loop))
        return await asyncio.wrap_future(future)

    def _ended(self, loop: asyncio.AbstractEventLoop) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._count_down)

    def _count_down(self) -> None:
        self.at_work -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
