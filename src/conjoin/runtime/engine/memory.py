"""The engine in memory: all shards in one process, sharing one queue. Nothing of it outlives the process.

It is what tests run on, and the measure of what the kernel itself costs. Time is that of the given clock.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from conjoin.errors import EndlessRequest
from conjoin.kernel.coupling import Order
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import rank_of
from conjoin.kernel.policies import Policies
from conjoin.kernel.process import commands as c
from conjoin.runtime.client_api.answers import Deployment, Refusal
from conjoin.runtime.client_api.calls import Api, ReadyJob
from conjoin.runtime.client_api.jobs import activated_jobs
from conjoin.runtime.client_api.messages import NewMessage, accepted, order_of
from conjoin.runtime.codec.orders import Request
from conjoin.runtime.engine import shard as engine
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.catalog import DEFAULT_TENANT, Deployments
from conjoin.runtime.engine.placement import Placement, shard_of
from conjoin.runtime.engine.shard import Due, Listener, Shard, instance_keys, shard_in_memory
from conjoin.runtime.run.batches import Reply

MOST_AT_ONCE = 100_000
"""How much falls due in one tick; a model that waits for no time at all, again and again, goes on in the next."""


class Router:
    """What a shard hands on goes to the shard that it concerns.

    A correlation key has one shard; what answers an element goes to the shard in its key; a signal goes to every shard,
    and exactly one of them starts processes by it. All shards share one queue, so that several of them do what one
    would do, as far as orders between keys are defined at all.
    """

    def __init__(self, shards: Sequence[Shard], placement: Placement) -> None:
        self._shards = shards
        self._placement = placement
        self._sent = 0
        self._queue: deque[tuple[Shard, Order]] = deque()

    def send(self, sender: Shard, order: Order) -> None:
        self._sent += 1
        for index, sent in self._placement.receivers(sender.index, order, self._sent):
            receiver = self._shards[index]
            # A key handed out later must not look older than what led to it.
            receiver.keys.follow(sender.keys.counter)
            self._queue.append((receiver, sent))

    def drain(self) -> None:
        steps = 0
        while self._queue:
            if steps == engine.MOST_STEPS:
                self._queue.clear()
                raise EndlessRequest(steps)
            steps += 1
            shard, order = self._queue.popleft()
            shard.carry_out(order)
        for shard in self._shards:
            shard.settle()


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
        """To every event, after it was applied, with the command that brought it."""
        for shard in self.shards:
            shard.listener = listener

    @property
    def now(self) -> int:
        """Time does not go back, even if the clock does."""
        self._time = max(self._time, self._clock())
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
        if isinstance(request, NewMessage):
            return self._offer(home, request)
        if isinstance(request, c.BroadcastSignal):
            home.hand_on(request)
            self._drain()
            return Reply()
        decided = home.carry_out(request)
        self._drain()
        return Reply(decided, jobs=activated_jobs(home.state, decided) if isinstance(request, c.ActivateJobs) else ())

    def _offer(self, shard: Shard, new: NewMessage) -> Reply:
        now = self.now
        key = shard.keys.take()
        message = accepted(new, key, now, self.catalog.policies)
        shard.carry_out(order_of(new, message, now))
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
        due: tuple[tuple[Callable[[Shard], Due | None], Callable[[Shard], Order]], ...] = (
            (Shard.due_timer, lambda shard: c.FireTimers(now)),
            (Shard.due_job, lambda shard: c.ReturnJobs(now)),
            (Shard.due_expiry, lambda shard: shard.expire(now)),
        )
        for when, order in due:
            for _ in range(MOST_AT_ONCE):
                earliest = min((it for it in map(when, self.shards) if it is not None), default=None)
                if earliest is None or earliest[0] > now:
                    break
                self.ask(earliest[2], order(self.shards[earliest[2]]))
                happened += 1
        return happened
