"""What a client can ask of an engine, one method each. Where the shards are is for whoever carries the requests.

A business no is answered as a `Refusal`, never raised. A call answers when everything that follows from it has
happened, on all shards. What a call is, `calls.py` says; here its thread waits for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definitions
from conjoin.runtime.client_api.answers import (
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    Deployment,
    Done,
    PublishedMessage,
    Refusal,
)
from conjoin.runtime.client_api.calls import Ask, Call, Calls, NewInstance, ReadyJob
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.orders import Request
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.engine.key_homes import Generation, KeyHomes
from conjoin.runtime.run.batches import Reply

Variables = Mapping[str, Any]
_A = TypeVar("_A")


class Api(ABC):
    def __init__(self, shards: int, created: int = 0) -> None:
        self.shard_count = shards
        self.calls = Calls(self, created)

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

    @property
    def known_definitions(self) -> Definitions:
        return self.definitions

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
    def ready_jobs(self, type_: str, limit: int, tenant_ids: Sequence[str]) -> list[ReadyJob]:
        """So many of the oldest jobs of each shard and tenant."""

    def late_answer(self, shard: int, message_key: int) -> e.Event | None:
        """The answer to a synchronous message that another one has to bring about first."""
        return None

    def wait_for(self, call: Call[_A]) -> _A:
        try:
            step = next(call)
            while True:
                step = call.send(self.ask(*step) if type(step) is Ask else step.function())  # type: ignore[union-attr]
        except StopIteration as over:
            answer: _A = over.value
            return answer

    def create_instance(
        self, process_id: str, variables: Variables, version: int = 0, business_id: str = "", tenant_id: str = ""
    ) -> CreatedInstance | Refusal:
        new = NewInstance(process_id, variables, version, business_id, tenant_id or DEFAULT_TENANT)
        return self.wait_for(self.calls.create_instance(new))

    def publish(self, message: NewMessage) -> PublishedMessage | Refusal:
        """Accepted as soon as it is stored; the answer says nothing about who takes it (A11)."""
        return self.wait_for(self.calls.publish(message))

    def correlate(self, message: NewMessage) -> CorrelatedMessage | Refusal:
        """Answered with the instance that took it; never kept."""
        return self.wait_for(self.calls.correlate(message))

    def activate_jobs(
        self, type_: str, limit: int, worker: str = "worker", timeout_ms: int = 300_000, tenant_id: str = DEFAULT_TENANT
    ) -> list[ActivatedJob] | Refusal:
        """The oldest jobs of all shards."""
        wanted = JobsWanted(type_, worker, timeout_ms, limit, tenant_ids=(tenant_id,))
        return self.wait_for(self.calls.activate_jobs(wanted))

    def complete_job(self, key: int, variables: Variables) -> Done | Refusal:
        return self.wait_for(self.calls.complete_job(key, variables))

    def fail_job(
        self, key: int, retries: int, message: str = "", backoff_ms: int = 0, variables: Variables | None = None
    ) -> Done | Refusal:
        return self.wait_for(self.calls.fail_job(key, retries, message, backoff_ms, variables))

    def throw_error(self, key: int, code: str, message: str = "", variables: Variables | None = None) -> Done | Refusal:
        return self.wait_for(self.calls.throw_error(key, code, message, variables))

    def update_retries(self, key: int, retries: int) -> Done | Refusal:
        return self.wait_for(self.calls.update_retries(key, retries))

    def update_timeout(self, key: int, timeout_ms: int) -> Done | Refusal:
        return self.wait_for(self.calls.update_timeout(key, timeout_ms))

    def assign_task(self, key: int, assignee: str, override: bool = True) -> Done | Refusal:
        """A user task; an empty assignee is nobody."""
        return self.wait_for(self.calls.assign_task(key, assignee, override))

    def cancel_instance(self, key: int) -> Done | Refusal:
        return self.wait_for(self.calls.cancel_instance(key))

    def set_variables(self, scope_key: int, variables: Variables, local: bool = False) -> Done | Refusal:
        return self.wait_for(self.calls.set_variables(scope_key, variables, local))

    def resolve_incident(self, key: int) -> Done | Refusal:
        return self.wait_for(self.calls.resolve_incident(key))

    def broadcast_signal(self, name: str, variables: Variables, tenant_id: str = DEFAULT_TENANT) -> Done | Refusal:
        return self.wait_for(self.calls.broadcast_signal(name, variables, tenant_id))
