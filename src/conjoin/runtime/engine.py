"""The engine: shards in memory, and one method for each thing that a client can ask.

Every call carries out its command and everything that follows from it, on all shards, before it answers. A business
no is answered as a `Refusal`. Time is what the given clock says; `tick` does what has fallen due.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.keys import rank_of, shard_of_key
from conjoin.kernel.policies import Policies
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.runtime.answers import (
    DONE,
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    Deployment,
    Done,
    PublishedMessage,
    Refusal,
)
from conjoin.runtime.business_ids import BusinessIds
from conjoin.runtime.catalog import DEFAULT_TENANT, Deployments
from conjoin.runtime.jobs import activated_job
from conjoin.runtime.messages import LONGEST_BUSINESS_ID, NewMessage, accepted, refusal_of, unusable
from conjoin.runtime.placement import home_of, shard_of
from conjoin.runtime.router import Router
from conjoin.runtime.shard import Due, Listener, Shard

Variables = Mapping[str, Any]

MOST_AT_ONCE = 100_000
"""So much falls due in one tick; a model that waits for no time at all, again and again, goes on in the next."""


class Engine:
    def __init__(
        self,
        clock: Callable[[], int],
        shards: int = 1,
        policies: Policies | None = None,
        profile: str = "zeebe",
        unique_business_ids: bool = False,
    ) -> None:
        """`unique_business_ids`: one running instance of a process for each business id (Q8)."""
        self._clock = clock
        self._time = 0
        self._created = 0
        self.catalog = Deployments(policies, profile)
        self.shards = [Shard(index, self.catalog.definitions) for index in range(shards)]
        self._business_ids = BusinessIds() if unique_business_ids else None
        for shard in self.shards:
            shard.business_ids = self._business_ids
        self._drain = self.shards[0].drain
        if shards > 1:
            router = Router(self.shards, self.catalog.definitions)
            self._drain = router.drain
            for shard in self.shards:
                shard.hand_on = partial(router.send, shard)

    def listen(self, listener: Listener) -> None:
        """Be told every event, after it was applied, with the command that brought it."""
        for shard in self.shards:
            shard.listener = listener

    @property
    def now(self) -> int:
        """Time does not go back, whatever the clock says."""
        now = self._clock()
        if now > self._time:
            self._time = now
        return self._time

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT) -> Deployment | Refusal:
        deployed = self.catalog.deploy(resources, tenant_id, self.now)
        if isinstance(deployed, Refusal):
            return deployed
        for shard in self.shards:
            shard.catalog = self.catalog.snapshot(shard.new_instance, self._business_ids)
        for process in deployed.processes:
            if process.is_new:
                home = self.shards[shard_of(process.process_id, len(self.shards))]
                self._run(home, c.ScheduleStarts(process.key, self.now))
        return deployed

    def create_instance(
        self, process_id: str, variables: Variables, version: int = 0, business_id: str = "", tenant_id: str = ""
    ) -> CreatedInstance | Refusal:
        tenant_id = tenant_id or DEFAULT_TENANT
        problem = self._id_is_held(tenant_id, process_id, business_id)
        if problem is not None:
            return problem
        command = c.CreateInstance(process_id, version, tenant_id, variables, self.now, business_id)
        created = self._run(self._home(command), command)[0]
        if isinstance(created, pe.CommandRefused):
            return Refusal(created.code, created.text)
        definition = self.catalog.definitions.by_key[created.definition_key]
        return CreatedInstance(created.key, process_id, definition.version, definition.key)

    def _id_is_held(self, tenant_id: str, process_id: str, business_id: str) -> Refusal | None:
        """Q15, Q16."""
        if len(business_id) > LONGEST_BUSINESS_ID:
            return Refusal("INVALID_ARGUMENT", f"the business id is longer than {LONGEST_BUSINESS_ID} characters")
        if self._business_ids is None or not business_id:
            return None
        holder = self._business_ids.holder(tenant_id, process_id, business_id)
        if holder is None:
            return None
        return Refusal("ALREADY_EXISTS", f"instance {holder} of {process_id} has the business id {business_id!r}")

    def _home(self, command: c.CreateInstance) -> Shard:
        latest = self.catalog.definitions.latest(command.tenant_id, command.process_id)
        if latest is None or len(self.shards) == 1:
            return self.shards[0]
        self._created += 1
        return self.shards[home_of(latest.plan, command.variables, command.at, self._created, len(self.shards))]

    def publish(self, message: NewMessage) -> PublishedMessage | Refusal:
        """Accepted as soon as it is stored; the answer says nothing about who takes it (A11)."""
        problem = unusable(message)
        if problem is not None:
            return problem
        key, answer = self._offer(message, sync=False)
        if not isinstance(answer, e.MessageRefused):
            return PublishedMessage(key)
        if answer.parameters.get("acknowledged"):
            return PublishedMessage(answer.parameters["first_message"])
        return refusal_of(answer, message.key)

    def correlate(self, message: NewMessage) -> CorrelatedMessage | Refusal:
        """Answered with the instance that took it; never kept."""
        problem = unusable(message)
        if problem is not None:
            return problem
        key, answer = self._offer(message, sync=True)
        if isinstance(answer, e.MessageRefused):
            return refusal_of(answer, message.key)
        assert isinstance(answer, e.MessageAnswered)
        return CorrelatedMessage(key, answer.instance_id)

    def _offer(self, new: NewMessage, sync: bool) -> tuple[int, e.Event | None]:
        """The key that the message got, and what correlation answered, if it did."""
        now = self.now
        shard = self.shards[0]
        if len(self.shards) > 1:
            shard = self.shards[shard_of(new.key, len(self.shards))]
            self._follow_keys(shard)
        message = accepted(new, shard.keys.take(), now, self.catalog.policies)
        message.sync = sync
        order = correlation.CorrelateMessage if sync else correlation.PublishMessage
        shard.carry_out(c.ForKey(new.tenant_id, new.key, order(message, now)))
        self._drain()
        return message.key, shard.answers.pop(message.key, None)

    def activate_jobs(
        self, type_: str, limit: int, worker: str = "worker", timeout_ms: int = 300_000, tenant_id: str = DEFAULT_TENANT
    ) -> list[ActivatedJob] | Refusal:
        """The oldest jobs of all shards."""
        found: list[ActivatedJob] = []
        for shard, share in self._shares(type_, limit, tenant_id):
            command = c.ActivateJobs(type_, worker, timeout_ms, share, self.now, tenant_id)
            for event in self._run(shard, command):
                if isinstance(event, pe.CommandRefused):
                    return Refusal(event.code, event.text)
                found.append(activated_job(shard.state, event))
        return sorted(found, key=lambda job: rank_of(job.key))

    def _shares(self, type_: str, limit: int, tenant_id: str) -> list[tuple[Shard, int]]:
        if len(self.shards) == 1 or limit < 1:
            return [(self.shards[0], limit)]
        oldest = [key for shard in self.shards for key in shard.state.job_index.oldest(tenant_id, type_, limit)]
        chosen = [shard_of_key(key) for key in sorted(oldest, key=rank_of)[:limit]]
        shares = [(shard, chosen.count(shard.index)) for shard in self.shards if shard.index in chosen]
        return shares or [(self.shards[0], limit)]

    def complete_job(self, key: int, variables: Variables) -> Done | Refusal:
        return self._order(key, c.CompleteJob(key, variables, self.now))

    def fail_job(self, key: int, retries: int, message: str = "", backoff_ms: int = 0) -> Done | Refusal:
        return self._order(key, c.FailJob(key, retries, message, self.now, backoff_ms))

    def throw_error(self, key: int, code: str, message: str = "", variables: Variables | None = None) -> Done | Refusal:
        return self._order(key, c.ThrowError(key, code, message, self.now, variables))

    def update_retries(self, key: int, retries: int) -> Done | Refusal:
        return self._order(key, c.UpdateRetries(key, retries, self.now))

    def cancel_instance(self, key: int) -> Done | Refusal:
        return self._order(key, c.CancelInstance(key, self.now))

    def set_variables(self, scope_key: int, variables: Variables, local: bool = False) -> Done | Refusal:
        return self._order(scope_key, c.SetVariables(scope_key, variables, self.now, local))

    def resolve_incident(self, key: int) -> Done | Refusal:
        return self._order(key, c.ResolveIncident(key, self.now))

    def broadcast_signal(self, name: str, variables: Variables, tenant_id: str = DEFAULT_TENANT) -> Done | Refusal:
        self.shards[0].hand_on(c.BroadcastSignal(name, variables, tenant_id, self.now))
        self._drain()
        return DONE

    def tick(self) -> None:
        """What has fallen due: all timers by their time, then jobs that come back, then expiries (F1 needs none)."""
        now = self.now
        for when, order in (
            (Shard.due_timer, Shard.fire),
            (Shard.due_job, Shard.return_job),
            (Shard.due_expiry, Shard.expire),
        ):
            for _ in range(MOST_AT_ONCE):
                due = self._earliest(when)
                if due is None or due[0] > now:
                    break
                shard = self.shards[due[2]]
                self._run(shard, order(shard, now))

    def _earliest(self, when: Callable[[Shard], Due | None]) -> Due | None:
        return min((due for due in map(when, self.shards) if due is not None), default=None)

    def _order(self, key: int, command: c.Command) -> Done | Refusal:
        index = shard_of_key(key)
        if not 0 <= index < len(self.shards):
            return Refusal("NOT_FOUND", f"nothing with key {key} was found")
        decided = self._run(self.shards[index], command)
        for item in decided[:1]:
            if isinstance(item, pe.CommandRefused):
                return Refusal(item.code, item.text)
        return DONE

    def _run(self, shard: Shard, command: Any) -> list[Any]:
        self._follow_keys(shard)
        decided = shard.carry_out(command)
        self._drain()
        return decided

    def _follow_keys(self, shard: Shard) -> None:
        if len(self.shards) > 1:
            shard.keys.follow(max(other.keys.counter for other in self.shards))
