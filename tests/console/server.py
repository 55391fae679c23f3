"""A gateway with console and inbox on a throw-away store whose clock lags behind: an hour can be told quickly."""

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from conjoin.console.app import console_routes
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.service import Service
from conjoin.gateway.serving import Served, edges
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.opening import now_us, temporary_broker
from tests.bpmn.snippets import BEGIN, END, boundary, catch, conditional, message, model, service, timer
from tests.gateway.server_thread import ServerThread

MODELS = Path(__file__).parents[2] / "examples/patterns/models"
STUCK = model(BEGIN + catch("wait") + END, "begin>wait wait>end", message("paid_message", "Goods returned", "=orderId"))
STUCK = STUCK.replace(b'<process id="order"', b'<process id="returns" name="Returns"')
CLAIMS = model(
    BEGIN
    + service("check")
    + '<exclusiveGateway id="valid" default="valid_ask"/>'
    + service("pay")
    + service("ask")
    + catch("answer", "answer_message")
    + boundary("late", "ask", timer("timeDuration", "P3D"))
    + service("remind")
    + END,
    "begin>check check>valid valid>ask pay>end ask>answer answer>check late>remind remind>ask",
    message("answer_message", "Claim answered"),
).replace(b"</process>", conditional("valid", "pay", "=sum < 100").encode() + b"</process>")
CLAIMS = CLAIMS.replace(b'<process id="order"', b'<process id="claims" name="Claims"')
"""Without a diagram, as most of these."""
MINUTE_US = 60_000_000


class ConsoleServer(ServerThread):
    def __init__(self, read_only: bool = False, guard: Guard = allow_all) -> None:
        self.behind_us = 0
        pages = partial(console_routes, read_only=read_only)
        super().__init__(2, Served(grpc_port=0, rest_port=0, sweep_every_s=0.05, guard=guard, pages=pages))
        self.client = httpx.Client(base_url=self.rest, timeout=30)

    def _run(self) -> None:
        self.broker.close()
        self.broker = temporary_broker(2, lambda: now_us() - self.behind_us)
        super()._run()

    async def _serve(self, runner: Any) -> None:
        self.service = Service(self.broker, runner, self._served.limits)
        settings, channels = read_inbox({"max_attempts": 1, "channels": {"payments": {}}})
        with closing(Inbox(self.broker, settings, channels)) as self.service.inbox:
            async with edges(self.service, self._served) as self.addresses:
                self._ready.set_result(None)
                await self._told.wait()

    def deploy(self, content: bytes, name: str) -> None:
        self.client.post("/v2/deployments", files={"resources": (name, content)}).raise_for_status()

    def create(self, process_id: str, **variables: Any) -> str:
        body = {"processDefinitionId": process_id, "variables": variables}
        return str(self._posted("/v2/process-instances", body)["processInstanceKey"])

    def publish(self, name: str, key: str, **more: Any) -> Any:
        """What became of it."""
        return self._posted("/conjoin/v1/messages", {"name": name, "key": key, **more})

    def receive(self, **row: Any) -> None:
        self._posted("/conjoin/v1/inbox/payments", row)

    def bury(self, row: str, text: str = "ttl: 'soon' is no time to live") -> int:
        """A row that ingest could make no message of."""
        letter = DeadLetter("orders", "orders.jsonl", 3, "bad_ttl", text, row.encode())
        return self.broker.ask(0, letter).key

    def work(self, job_type: str, most: int = 100) -> int:
        """Do the jobs that are there."""
        wanted = {"type": job_type, "timeout": 60_000, "maxJobsToActivate": most, "requestTimeout": -1, "worker": "w"}
        jobs = self._posted("/v2/jobs/activation", wanted)["jobs"]
        for job in jobs:
            self.client.post(f"/v2/jobs/{job['jobKey']}/completion", json={"variables": {}}).raise_for_status()
        return len(jobs)

    def _posted(self, path: str, body: Any) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()
