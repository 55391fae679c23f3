"""The engine in memory: all shards in one process, sharing one queue. Nothing of it outlives the process.

It is what tests run on, and the measure of what the kernel itself costs. Time is what the given clock says.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import rank_of
from conjoin.kernel.policies import Policies
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.runtime.client_api.answers import Deployment, Refusal
from conjoin.runtime.client_api.api import Api
from conjoin.runtime.client_api.calls import ReadyJob
from conjoin.runtime.client_api.jobs import activated_job
from conjoin.runtime.client_api.messages import NewMessage, accepted
from conjoin.runtime.codec.orders import Request
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.catalog import DEFAULT_TENANT, Deployments
from conjoin.runtime.engine.placement import Placement, shard_of
from conjoin.runtime.engine.router import Router
from conjoin.runtime.engine.shard import Due, Listener, Shard, instance_keys, shard_in_memory
from conjoin.runtime.run.batches import Reply

MOST_AT_ONCE = 100_000
"""So much falls due in one tick; a model that waits for no time at all, again and again, goes on in the next."""


class Engine(Api):
    def __init__(
        self,
        clock: Callable[[], int],
        shards: int = 1,
        policies: Policies | None = None,
        profile: str = "zeebe",
        unique_business_ids: bool = False,
    ) -> None:
        """`unique_business_ids`: one running instance of a process for each business id (Q8)."""
        super().__init__(shards)
        self._clock = clock
        self._time = 0
        self.catalog = Deployments(policies, profile)
        self.shards = [shard_in_memory(index, self.catalog.definitions) for index in range(shards)]
        self._business_ids = BusinessIds() if unique_business_ids else None
        for shard in self.shards:
            shard.business_ids = self._business_ids
        self._drain = self.shards[0].drain
        if shards > 1:
            router = Router(self.shards, Placement(shards, self.catalog.definitions))
            self._drain = router.drain
            for shard in self.shards:
                shard.hand_on = partial(router.send, shard)

    def listen(self, listener: Listener) -> None:
        """Be told every event, after it was applied, with the command that brought it."""
        for shard in self.shards:
            shard.listener = listener

    @property
    def now(self) -> int:
        return self._read_clock()

    def _read_clock(self) -> int:
        """Time does not go back, whatever the clock says."""
        clock = self._clock
        now = clock()
        if now > self._time:
            self._time = now
        return self._time

    @property
    def definitions(self) -> Definitions:
        return self.catalog.definitions

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT) -> Deployment | Refusal:
        deployed = self.catalog.deploy(resources, tenant_id, self.now)
        if isinstance(deployed, Refusal):
            return deployed
        for shard in self.shards:
            shard.catalog = self.catalog.snapshot(instance_keys(shard.keys), self._business_ids)
        for process in deployed.processes:
            if process.is_new:
                self.ask(shard_of(process.process_id, self.shard_count), c.ScheduleStarts(process.key, self.now))
        return deployed

    def ask(self, shard: int, request: Request) -> Reply:
        home = self.shards[shard]
        if self.shard_count > 1:
            home.keys.follow(max(other.keys.counter for other in self.shards))
        if type(request) is NewMessage:
            return self._offer(home, request)
        if type(request) is c.BroadcastSignal:
            home.hand_on(request)
            self._drain()
            return Reply()
        decided: list[Any] = home.carry_out(request)  # type: ignore[arg-type]
        self._drain()
        if type(request) is c.ActivateJobs:
            activated = [event for event in decided if type(event) is pe.JobActivated]
            return Reply(decided, jobs=[activated_job(home.state, event) for event in activated])
        return Reply(decided)

    def _offer(self, shard: Shard, new: NewMessage) -> Reply:
        now = self._read_clock()
        key = shard.keys.take()
        message = accepted(new, key, now, self.catalog.policies)
        order = correlation.CorrelateMessage if new.sync else correlation.PublishMessage
        shard.carry_out(c.ForKey(new.tenant_id, new.key, order(message, now)))
        self._drain()
        return Reply((), key, shard.answers.pop(key, None))

    def ready_jobs(self, type_: str, limit: int, tenant_ids: Sequence[str]) -> list[ReadyJob]:
        return [
            ReadyJob(rank_of(key), shard.index, tenant_id)
            for shard in self.shards
            for tenant_id in tenant_ids
            for key in shard.state.job_index.oldest(tenant_id, type_, limit)
        ]

    def tick(self) -> int:
        now, happened = self.now, 0
        for when, order in (
            (Shard.due_timer, Shard.fire),
            (Shard.due_job, Shard.return_job),
            (Shard.due_expiry, Shard.expire),
        ):
            for _ in range(MOST_AT_ONCE):
                due = self._earliest(when)
                if due is None or due[0] > now:
                    break
                self.ask(due[2], order(self.shards[due[2]], now))
                happened += 1
        return happened

    def _earliest(self, when: Callable[[Shard], Due | None]) -> Due | None:
        return min((due for due in map(when, self.shards) if due is not None), default=None)
