"""What the people of the shop can do: the calls of the service that the demo needs, in short.

A refusal is an answer like any other here; some of what the shop does is meant to be refused.
"""

from importlib.resources import files
from typing import Any

from conjoin.gateway.service import Service
from conjoin.runtime.client_api.calls import Calls, NewInstance
from conjoin.runtime.client_api.inbox_orders import SIMPLE
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.receiving import Row
from conjoin.runtime.reading.instances import USER_TASK
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.run.due import KINDS, Sweep

_MODELS = files("conjoin.demo") / "models"
_WORKER = "demo"
_LEASE_MS = 60_000


class Clerk:
    """For the loop of the service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def _inbox(self) -> Inbox:
        assert self._service.inbox is not None, "the demo is served with its inbox"
        return self._service.inbox

    async def deploy(self, file: str, resource: str | None = None) -> None:
        await self._service.deploy([(resource or file, (_MODELS / file).read_bytes())])

    async def set_policy(self, name: str, **answers: Any) -> None:
        broker = self._service.broker
        await self._service.carry_out(broker.catalog.set_policy, name, answers, broker.now)

    async def publish(self, name: str, key: str, ttl_s: int = 0, message_id: str = "", **variables: Any) -> None:
        await self._service.call(Calls.publish, NewMessage(name, key, variables, ttl_s * 1_000, message_id))

    async def correlate(self, name: str, key: str, **variables: Any) -> None:
        """Now or never."""
        await self._service.call(Calls.correlate, NewMessage(name, key, variables, sync=True))

    async def start(self, process_id: str, **variables: Any) -> None:
        await self._service.call(Calls.create_instance, NewInstance(process_id, variables))

    async def work(self, job_type: str, most: int = 50) -> None:
        """Do the jobs that are there, the oldest first."""
        for job in await self._jobs(job_type, most):
            await self._service.call(Calls.complete_job, job.key, {})

    async def give_up(self, job_type: str, why: str) -> None:
        """One job that cannot be done: it becomes an incident."""
        for job in await self._jobs(job_type, 1):
            await self._service.call(Calls.fail_job, job.key, 0, why)

    async def approve(self, leave: int) -> None:
        """The oldest user task, if more than so many wait."""
        tasks = await self._service.look(list_page, self._service.broker, "jobs", ListQuery({"type": USER_TASK}))
        if len(tasks.items) > leave:
            await self._service.call(Calls.complete_job, tasks.items[0].key, {"approved": True})

    async def let_time_pass(self) -> None:
        """What has fallen due by now happens now, before anything else."""
        await self._service.carry_out(self._sweep)

    def _sweep(self) -> None:
        broker = self._service.broker
        for kind in KINDS:
            for shard in range(broker.shard_count):
                broker.carrier.ask(shard, Sweep(kind))

    async def receive(self, channel: str, *rows: dict[str, Any]) -> None:
        """By post: into the inbox."""
        taken = [Row(channel, position, json_bytes(row)) for position, row in enumerate(rows, 1)]
        await self._service.carry_out(self._inbox.receive_rows, channel, taken)

    async def deliver(self) -> None:
        """What is due in the inbox."""
        await self._service.carry_out(self._inbox.run)

    async def operate(self, word: str, message_id: str) -> None:
        await self._service.carry_out(self._inbox.operate_on_all, ListQuery({"id": message_id}), SIMPLE[word], _WORKER)

    async def _jobs(self, job_type: str, most: int) -> list[Any]:
        found = await self._service.activate_jobs(JobsWanted(job_type, _WORKER, _LEASE_MS, most), -1)
        return found if isinstance(found, list) else []
