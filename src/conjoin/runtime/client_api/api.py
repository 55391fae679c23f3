"""What a client can ask of an engine, one method for each of `Calls`; here the thread waits for the answer.

A call answers when everything that follows from it has happened, on all shards. Where the shards are is for whoever
carries the requests.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec, TypeVar

from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definitions
from conjoin.runtime.client_api.answers import ActivatedJob, CreatedInstance, Deployment, Refusal
from conjoin.runtime.client_api.calls import Ask, Call, Calls, NewInstance, ReadyJob, Variables
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.codec.orders import Request
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.engine.key_homes import Generation, KeyHomes
from conjoin.runtime.run.batches import Reply

_P = ParamSpec("_P")
_A = TypeVar("_A")


def _waiting(call: Callable[Concatenate[Calls, _P], Call[_A]]) -> Callable[Concatenate["Api", _P], _A]:
    @wraps(call)
    def wait(self: "Api", /, *args: _P.args, **kwargs: _P.kwargs) -> _A:
        return self.wait_for(call(self.calls, *args, **kwargs))

    return wait


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

    def activate_jobs(
        self, type_: str, limit: int, worker: str = "worker", timeout_ms: int = 300_000, tenant_id: str = DEFAULT_TENANT
    ) -> list[ActivatedJob] | Refusal:
        """The oldest jobs of all shards."""
        wanted = JobsWanted(type_, worker, timeout_ms, limit, tenant_ids=(tenant_id,))
        return self.wait_for(self.calls.activate_jobs(wanted))

    publish = _waiting(Calls.publish)
    correlate = _waiting(Calls.correlate)
    complete_job = _waiting(Calls.complete_job)
    fail_job = _waiting(Calls.fail_job)
    throw_error = _waiting(Calls.throw_error)
    update_retries = _waiting(Calls.update_retries)
    update_timeout = _waiting(Calls.update_timeout)
    assign_task = _waiting(Calls.assign_task)
    cancel_instance = _waiting(Calls.cancel_instance)
    set_variables = _waiting(Calls.set_variables)
    resolve_incident = _waiting(Calls.resolve_incident)
    broadcast_signal = _waiting(Calls.broadcast_signal)
