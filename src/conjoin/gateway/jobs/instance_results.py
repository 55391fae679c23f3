"""Results: creations that wait for the end of their instance are answered by the commit that ends it.

The end may come before they wait, or in another process: so the store is read as well, first at once and then less and
less often.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, InstanceResult, Refusal
from conjoin.runtime.reading.instances import InstanceEnd, end_of, stored_end

_FIRST_LOOK_S, _LAST_LOOK_S = 1.0, 16.0


class InstanceResults:
    def __init__(self, broker: Broker, look: Callable[..., Awaitable[Any]], most: int) -> None:
        self._broker = broker
        self._look = look
        self._most = most
        self._awaited: dict[int, asyncio.Future[InstanceEnd | None]] = {}

    @property
    def is_full(self) -> bool:
        return len(self._awaited) >= self._most

    def awaited_in(self, rows: Sequence[Any]) -> list[InstanceEnd]:
        """The awaited ends among the rows of a commit; called in the thread of a shard."""
        awaited = self._awaited
        if not awaited:
            return []
        return [end for row in rows if row.key in awaited and (end := end_of(row)) is not None]

    def ended(self, ends: Sequence[InstanceEnd]) -> None:
        for end in ends:
            future = self._awaited.get(end.key)
            if future is not None and not future.done():
                future.set_result(end)

    async def of(self, created: CreatedInstance, timeout_ms: int, fetch: Sequence[str]) -> InstanceResult | Refusal:
        future = self._awaited[created.key] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                end = await self._end(created.key, future)
        except TimeoutError:
            text = f"instance {created.key} was created, and had not completed within {timeout_ms} ms"
            return Refusal("DEADLINE_EXCEEDED", text)
        finally:
            del self._awaited[created.key]
        if end is None:
            return Refusal("UNAVAILABLE", f"the server is stopping; instance {created.key} was created and goes on")
        if not end.completed:
            return Refusal("INVALID_STATE", f"instance {created.key} was cancelled before it completed")
        wanted = {name: end.variables[name] for name in fetch if name in end.variables} if fetch else end.variables
        return InstanceResult(created, wanted)

    async def _end(self, key: int, future: "asyncio.Future[InstanceEnd | None]") -> InstanceEnd | None:
        pause_s = _FIRST_LOOK_S
        while True:
            stored: InstanceEnd | None = await self._look(stored_end, self._broker, key)
            if stored is not None:
                return stored
            done, _ = await asyncio.wait((future,), timeout=pause_s)
            if done:
                return future.result()
            pause_s = min(2 * pause_s, _LAST_LOOK_S)

    def close(self) -> None:
        for future in self._awaited.values():
            if not future.done():
                future.set_result(None)
