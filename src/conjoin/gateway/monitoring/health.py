"""Health: the supervisor's report on every shard, sweep and background job, and whether the store still answers.

The server is ready unless it is stopping, a shard cannot commit or hangs, a sweep is late beyond its bound, or the
store does not answer or is held by another process by now. Invariant: health is answered at once, or within the timeout
of its one probe, however busy everything else is.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.upkeep.supervision import JobReport, text_of

PROBE_S = 2.0
"""The timeout of a probe of the store; a later result counts for the next request."""
_SHOWN = ("name", "state", "doing", "failures", "error")


class Health:
    def __init__(self, broker: Broker, is_serving: Callable[[], bool]) -> None:
        self._broker = broker
        self._is_serving = is_serving
        self._thread = ThreadPoolExecutor(1, "health")
        self._probe: asyncio.Future[int] | None = None

    async def report(self) -> dict[str, Any]:
        """As JSON: `status` is UP or DOWN, then what it follows from."""
        stopping = [] if self._is_serving() else ["the server is stopping"]
        jobs = self._broker.supervisor.report()
        down = [f"{it.name}: {_trouble(it)}" for it in jobs if it.critical and it.state == "down"]
        problems = [*stopping, *(await self._of_store() if not stopping else ()), *down]
        return {
            "status": "DOWN" if problems else "UP",
            "problems": problems,
            "jobs": [
                {**{name: getattr(it, name) for name in _SHOWN}, "last_success_age_s": it.age_s, "late_s": it.late_s}
                for it in jobs
            ],
            "set_aside": sum(self._broker.supervisor.set_aside.values()),
        }

    async def _of_store(self) -> list[str]:
        """One probe at a time, in a thread of its own."""
        if self._probe is None or self._probe.done():
            loop = asyncio.get_running_loop()
            self._probe = loop.run_in_executor(self._thread, self._probe_store)
        # Another request may begin the next one while this one waits.
        probe = self._probe
        done, _ = await asyncio.wait((probe,), timeout=PROBE_S)
        if not done:
            return [f"the store has not answered for {PROBE_S:g} s"]
        error = probe.exception()
        return [] if error is None else [text_of(error)]

    def _probe_store(self) -> int:
        store = self._broker.store
        store.check_held()
        return store.catalog.version()

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _trouble(it: JobReport) -> str:
    doing = f" while {it.doing}" if it.doing else ""
    return it.error or f"nothing for {it.late_s:.0f} s{doing}"
