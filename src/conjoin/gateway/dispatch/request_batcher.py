"""The tray: requests that come about the same time go to their shard together. One lock, one wake-up, one batch.

Who comes alone is handed in at once. When there is a crowd, those of a few milliseconds are: otherwise the thread of a
shard begins with the first of them, and the others wait for a commit of one, which costs as much as one of ten.
"""

import asyncio
from typing import Any

from conjoin.runtime.run.carriers.shard_threads import ReplyPromise, ShardThreads

CROWD = 16
"""So many calls that are not answered yet."""
LINGER_S = 0.004


class RequestBatcher:
    def __init__(self, loop: asyncio.AbstractEventLoop, inline: ShardThreads) -> None:
        self._loop = loop
        self._inline = inline
        self._waiting: dict[int, list[tuple[Any, ReplyPromise]]] = {}

    def put(self, shard: int, request: Any, promise: ReplyPromise, under_way: int = 0) -> None:
        if not self._waiting:
            if under_way < CROWD:
                self._loop.call_soon(self._hand_in)
            else:
                self._loop.call_later(LINGER_S, self._hand_in)
        self._waiting.setdefault(shard, []).append((request, promise))

    def _hand_in(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for shard, asked in waiting.items():
            try:
                self._inline.hand_in(shard, asked)
            except RuntimeError as closed:
                for _, promise in asked:
                    promise.set_exception(closed)
