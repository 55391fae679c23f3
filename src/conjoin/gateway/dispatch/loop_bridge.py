"""The bell: how the threads of the shards hand things to the event loop. However many ring, the loop wakes once.

A commit answers up to a thousand requests at a time; waking the loop for each would cost more than the answers.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from conjoin.runtime.run.batches import Reply

_log = logging.getLogger(__name__)


class LoopBridge:
    """Rung from any thread; what it was rung with happens in the loop, in that order."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._work: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._rung = False

    def ring(self, function: Callable[..., None], *args: Any) -> None:
        self._work.append((function, args))
        if not self._rung:
            self._rung = True
            # A loop that is closed has nobody left who waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        # First this: whoever adds something after the last look below has to ring again.
        self._rung = False
        work = self._work
        while work:
            function, args = work.popleft()
            try:
                function(*args)
            except Exception:  # noqa: BLE001 - the others in the line have nothing to do with it
                _log.exception("what a shard has handed over could not be taken")


class ReplyFuture:
    """What a shard's thread fulfils, and a task in the loop awaits (`future`)."""

    __slots__ = ("_bell", "future")

    def __init__(self, bell: LoopBridge, future: "asyncio.Future[Reply]") -> None:
        self._bell = bell
        self.future = future

    def set_result(self, reply: Reply) -> None:
        self._bell.ring(_fulfil, self.future, reply)

    def set_exception(self, error: BaseException) -> None:
        self._bell.ring(_fail, self.future, error)

    def cancelled(self) -> bool:
        return self.future.cancelled()


def _fulfil(future: "asyncio.Future[Reply]", reply: Reply) -> None:
    if not future.done():
        future.set_result(reply)


def _fail(future: "asyncio.Future[Reply]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
