"""What a client can ask of an engine, one method each. Where the shards are is for whoever carries the requests.

A business no is answered as a `Refusal`, never raised. A call answers when everything that follows from it has
happened, on all shards.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import rank_of
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
from conjoin.runtime.batches import Reply
from conjoin.runtime.catalog import DEFAULT_TENANT
from conjoin.runtime.encoding.orders import Request
from conjoin.runtime.generations import Generation, KeyHomes
from conjoin.runtime.messages import NewMessage, refusal_of, unusable, unusable_order
from conjoin.runtime.placement import home_of, shard_of

Variables = Mapping[str, Any]


class Api(ABC):
    def __init__(self, shards: int) -> None:
        self.shard_count = shards
        self._created = 0

    @cached_property
    def homes(self) -> KeyHomes:
        """On which shard each record is found."""
        return KeyHomes([Generation(0, self.shard_count)])

    @property
    @abstractmethod
    def now(self) -> int:
        """Microseconds; it does not go back."""

    @property
    @abstractmethod
    def definitions(self) -> Definitions: ...

    @abstractmethod
    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT) -> Deployment | Refusal:
        """Files by name; all of them or none."""

    @abstractmethod
    def tick(self) -> int:
        """What has fallen due: timers by their time, then jobs that come back, then expiries (F1 needs none).

        Answers how much it was.
        """

    @abstractmethod
    def ask(self, shard: int, request: Request) -> Reply:
        """Carry out a request on a shard, and everything that follows from it."""

    @abstractmethod
    def _ready_jobs(self, type_: str, limit: int, tenant_id: str) -> list[tuple[int, int]]:
        """Rank and shard of the oldest jobs of each shard."""

    def create_instance(
        self, process_id: str, variables: Variables, version: int = 0, business_id: str = "", tenant_id: str = ""
    ) -> CreatedInstance | Refusal:
        tenant_id = tenant_id or DEFAULT_TENANT
        problem = unusable_order(variables, business_id)
        if problem is not None:
            return problem
        command = c.CreateInstance(process_id, version, tenant_id, variables, self.now, business_id)
        created = self.ask(self._home(command), command).decided[0]
        if isinstance(created, pe.CommandRefused):
            return Refusal(created.code, created.text)
        definition = self.definitions.by_key[created.definition_key]
        return CreatedInstance(created.key, process_id, definition.version, definition.key)

    def _home(self, command: c.CreateInstance) -> int:
        latest = self.definitions.latest(command.tenant_id, command.process_id)
        if latest is None or self.shard_count == 1:
            return 0
        self._created += 1
        return home_of(latest.plan, command.variables, command.at, self._created, self.shard_count)

    def publish(self, message: NewMessage) -> PublishedMessage | Refusal:
        """Accepted as soon as it is stored; the answer says nothing about who takes it (A11)."""
        problem = unusable(message)
        if problem is not None:
            return problem
        reply = self.ask(shard_of(message.key, self.shard_count), message)
        answer = reply.answer
        if type(answer) is not e.MessageRefused:
            return PublishedMessage(reply.key)
        if answer.parameters.get("acknowledged"):
            return PublishedMessage(answer.parameters["first_message"])
        return refusal_of(answer, message.key)

    def correlate(self, message: NewMessage) -> CorrelatedMessage | Refusal:
        """Answered with the instance that took it; never kept."""
        problem = unusable(message)
        if problem is not None:
            return problem
        message.sync = True
        shard = shard_of(message.key, self.shard_count)
        reply = self.ask(shard, message)
        answer = reply.answer or self._late_answer(shard, reply.key)
        if isinstance(answer, e.MessageRefused):
            return refusal_of(answer, message.key)
        assert isinstance(answer, e.MessageAnswered)
        return CorrelatedMessage(reply.key, answer.instance_id)

    def _late_answer(self, shard: int, message_key: int) -> e.Event | None:
        """The answer to a synchronous message that another one has to bring about first."""
        return None

    def activate_jobs(
        self, type_: str, limit: int, worker: str = "worker", timeout_ms: int = 300_000, tenant_id: str = DEFAULT_TENANT
    ) -> list[ActivatedJob] | Refusal:
        """The oldest jobs of all shards."""
        found: list[ActivatedJob] = []
        for shard, share in self._shares(type_, limit, tenant_id):
            reply = self.ask(shard, c.ActivateJobs(type_, worker, timeout_ms, share, self.now, tenant_id))
            for event in reply.decided[:1]:
                if isinstance(event, pe.CommandRefused):
                    return Refusal(event.code, event.text)
            found += reply.jobs
        return sorted(found, key=lambda job: rank_of(job.key))

    def _shares(self, type_: str, limit: int, tenant_id: str) -> list[tuple[int, int]]:
        """Each shard with how many of the oldest it has. What makes no sense is for the kernel to refuse."""
        if self.shard_count == 1 or limit < 1:
            return [(0, limit)]
        chosen = [shard for _, shard in sorted(self._ready_jobs(type_, limit, tenant_id))[:limit]]
        return [(shard, chosen.count(shard)) for shard in sorted(set(chosen))] or [(0, limit)]

    def complete_job(self, key: int, variables: Variables) -> Done | Refusal:
        return self._order(key, c.CompleteJob(key, variables, self.now), variables)

    def fail_job(
        self, key: int, retries: int, message: str = "", backoff_ms: int = 0, variables: Variables | None = None
    ) -> Done | Refusal:
        return self._order(key, c.FailJob(key, retries, message, self.now, backoff_ms, variables), variables)

    def throw_error(self, key: int, code: str, message: str = "", variables: Variables | None = None) -> Done | Refusal:
        return self._order(key, c.ThrowError(key, code, message, self.now, variables), variables or {})

    def update_retries(self, key: int, retries: int) -> Done | Refusal:
        return self._order(key, c.UpdateRetries(key, retries, self.now))

    def cancel_instance(self, key: int) -> Done | Refusal:
        return self._order(key, c.CancelInstance(key, self.now))

    def set_variables(self, scope_key: int, variables: Variables, local: bool = False) -> Done | Refusal:
        return self._order(scope_key, c.SetVariables(scope_key, variables, self.now, local), variables)

    def resolve_incident(self, key: int) -> Done | Refusal:
        return self._order(key, c.ResolveIncident(key, self.now))

    def broadcast_signal(self, name: str, variables: Variables, tenant_id: str = DEFAULT_TENANT) -> Done | Refusal:
        problem = unusable_order(variables)
        if problem is not None:
            return problem
        self.ask(0, c.BroadcastSignal(name, variables, tenant_id, self.now))
        return DONE

    def _order(self, key: int, command: c.Command, variables: Variables | None = None) -> Done | Refusal:
        problem = unusable_order(variables) if variables else None
        if problem is not None:
            return problem
        shard = self.homes.shard_of_record(key)
        if shard < 0:
            return Refusal("NOT_FOUND", f"nothing with key {key} was found")
        for item in self.ask(shard, command).decided[:1]:
            if isinstance(item, pe.CommandRefused):
                return Refusal(item.code, item.text)
        return DONE
