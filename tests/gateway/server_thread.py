"""A gateway on a throw-away store, in a thread of the test process: its event loop, its shards, and both edges."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

from conjoin.gateway.service import ServerLimits, Service
from conjoin.gateway.serving import Addresses, Served, at_work, edges
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import temporary_broker

_A = TypeVar("_A")
QUICK = Served(grpc_port=0, rest_port=0, sweep_every_s=0.05)


class ServerThread:
    """Ready when it is made; `stop` ends it as SIGTERM ends a process."""

    def __init__(self, shards: int = 2, served: Served = QUICK) -> None:
        self.broker: Broker = temporary_broker(shards)
        self.service: Service
        self.addresses: Addresses
        self._served = served
        self._loop = asyncio.new_event_loop()
        self._told = asyncio.Event()
        self._ready: Future[None] = Future()
        self._thread = Thread(target=self._run, name="gateway", daemon=True)
        self._thread.start()
        self._ready.result(timeout=30)

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.addresses.grpc_port}"

    @property
    def rest(self) -> str:
        return f"http://127.0.0.1:{self.addresses.rest_port}"

    def run(self, work: Callable[[Service], Awaitable[_A]]) -> _A:
        """Something with the service, in its loop."""

        async def do() -> _A:
            return await work(self.service)

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result(timeout=30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._told.set)
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            with at_work(self.broker, self._served) as runner:
                self._loop.run_until_complete(self._serve(runner))
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            raise
        finally:
            self._loop.close()
            self.broker.close()

    async def _serve(self, runner: Any) -> None:
        self.service = Service(self.broker, runner, self._served.limits)
        async with edges(self.service, self._served) as self.addresses:
            self._ready.set_result(None)
            await self._told.wait()


def limited(**limits: int) -> Served:
    return Served(grpc_port=0, rest_port=0, limits=ServerLimits(**limits))
