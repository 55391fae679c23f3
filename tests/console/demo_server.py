"""The demo of `conjoin serve --demo` when it has told its hour; there it stops, so that pictures of it are alike."""

from contextlib import closing
from typing import Any

import httpx

from conjoin.console.app import console_routes
from conjoin.demo.opening import open_demo
from conjoin.gateway.service import Service
from conjoin.gateway.serving import Served, edges
from conjoin.runtime.inbox.inbox import Inbox
from tests.gateway.server_thread import ServerThread


class DemoServer(ServerThread):
    def __init__(self) -> None:
        self._demo = open_demo(None, "127.0.0.1", 0)
        super().__init__(2, Served(grpc_port=0, rest_port=self._demo.rest_port, pages=console_routes))
        self.client = httpx.Client(base_url=self.rest, timeout=30)
        self.run(self._demo.story.replay_the_hour)

    def _run(self) -> None:
        self.broker.close()
        self.broker = self._demo.broker
        super()._run()

    async def _serve(self, runner: Any) -> None:
        self.service = Service(self.broker, runner, self._served.limits)
        with closing(Inbox(self.broker, *self._demo.inbox)) as self.service.inbox:
            async with edges(self.service, self._served) as self.addresses:
                self._ready.set_result(None)
                await self._told.wait()
