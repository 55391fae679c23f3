"""Many requests with one wait: a bulk of a thousand needs no thousand tasks. Each reply goes to its place.

Fulfilled from the threads of the shards; who waits is woken once, when the last reply is there.
"""

import asyncio

from conjoin.gateway.dispatch.loop_bridge import LoopBridge
from conjoin.runtime.run.batches import Reply


class ReplyGroup:
    def __init__(self, bell: LoopBridge, future: "asyncio.Future[None]", count: int) -> None:
        self.replies: list[Reply | BaseException | None] = [None] * count
        self.future = future
        self._bell = bell
        # Appending is one step for all threads; two that come last may both ring, and that is no harm.
        self._over: list[int] = []

    def place(self, number: int) -> "ReplySlot":
        return ReplySlot(self, number)

    def fill(self, number: int, reply: Reply | BaseException) -> None:
        if self.replies[number] is not None:
            return
        self.replies[number] = reply
        self._over.append(number)
        if len(self._over) == len(self.replies):
            self._bell.ring(_fulfil, self.future)


class ReplySlot:
    """The promise of one of them."""

    __slots__ = ("_number", "_together")

    def __init__(self, together: ReplyGroup, number: int) -> None:
        self._together = together
        self._number = number

    def set_result(self, reply: Reply) -> None:
        self._together.fill(self._number, reply)

    def set_exception(self, error: BaseException) -> None:
        self._together.fill(self._number, error)

    def cancelled(self) -> bool:
        return self._together.future.cancelled()


def _fulfil(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
