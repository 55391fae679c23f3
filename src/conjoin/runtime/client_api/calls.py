"""Calls: what a client can do, each as a generator that yields what it needs done and at last returns the answer.

The list of calls with the checks before and the reading of replies after is here, once. The driver of a call decides
how it waits: `Api` blocks its thread, a serving process awaits. A business no is answered as a `Refusal`, never raised.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.storable import MOST_BYTES
from conjoin.runtime.client_api.answers import (
    DONE,
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    Deployment,
    Done,
    PublishedMessage,
    Refusal,
)
from conjoin.runtime.client_api.jobs import MOST_JOBS, JobsWanted, job_order
from conjoin.runtime.client_api.messages import NewMessage, refusal_of, unusable, unusable_order, unusable_texts
from conjoin.runtime.codec.orders import Request
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.engine.placement import KeyHomes, first_homes, home_of, shard_of
from conjoin.runtime.run.batches import Reply

Variables = Mapping[str, Any]
_A = TypeVar("_A")
_P = ParamSpec("_P")
_NO_TEXTS: Mapping[str, str] = {}


class Ask(NamedTuple):
    """Carry out a request on a shard, and everything that follows from it; send its `Reply`."""

    shard: int
    request: Request


class StoreRead(NamedTuple):
    """Call this, which reads the store and may take a while; send what it answers."""

    function: Callable[[], Any]


Call = Generator[Ask | StoreRead, Any, _A]


class ReadyJob(NamedTuple):
    """In the order in which they are to be done."""

    rank: int
    shard: int
    tenant_id: str


@dataclass(slots=True)
class NewInstance:
    """By the id of its process, in a version or (0) the latest; or by the key of a definition."""

    process_id: str
    variables: Variables
    version: int = 0
    business_id: str = ""
    tenant_id: str = DEFAULT_TENANT
    definition_key: int = 0


class Calls:
    def __init__(self, engine: "Api", created: int = 0) -> None:
        """`created` instances were placed before."""
        self._engine = engine
        self._created = created

    def create_instance(self, new: NewInstance) -> Call[CreatedInstance | Refusal]:
        problem = unusable_order(new.variables, new.business_id) or unusable_texts({"process id": new.process_id})
        if problem is None and new.definition_key:
            problem = yield from self._by_key(new)
        if problem is not None:
            return problem
        which = (new.process_id, new.version, new.tenant_id)
        command = c.CreateInstance(*which, new.variables, self._engine.now, new.business_id)
        home = yield from self._home(command)
        reply: Reply = yield Ask(home, command)
        created = reply.decided[0]
        if isinstance(created, pe.CommandRefused):
            return Refusal(created.code, created.text)
        assert isinstance(created, pe.InstanceCreated)
        definition = self._engine.known_definitions.by_key[created.definition_key]
        return CreatedInstance(
            created.key, new.process_id, definition.version, definition.key, new.tenant_id, new.business_id
        )

    def _by_key(self, new: NewInstance) -> Call[Refusal | None]:
        """A definition has a process and a version; that of another tenant is none."""
        found: Definition | None = self._engine.known_definitions.by_key.get(new.definition_key)
        if found is None:
            definitions = yield StoreRead(lambda: self._engine.definitions)
            found = definitions.by_key.get(new.definition_key)
        if found is None or found.tenant_id != new.tenant_id:
            return Refusal("NOT_FOUND", f"no process definition with key {new.definition_key} is deployed")
        new.process_id, new.version = found.process_id, found.version
        return None

    def _home(self, command: c.CreateInstance) -> Call[int]:
        shards = self._engine.shard_count
        if shards == 1:
            return 0
        which = (command.tenant_id, command.process_id)
        latest = self._engine.known_definitions.latest(*which)
        if latest is None:
            # Perhaps another process has deployed it, or this one has not looked yet.
            definitions = yield StoreRead(lambda: self._engine.definitions)
            latest = definitions.latest(*which)
        if latest is None:
            return 0
        self._created += 1
        return home_of(latest.plan, command.variables, command.at, self._created, shards)

    def publish(self, message: NewMessage) -> Call[PublishedMessage | Refusal]:
        """Accepted as soon as it is stored; the answer does not show who takes it (A11)."""
        problem = unusable(message)
        if problem is not None:
            return problem
        reply: Reply = yield Ask(shard_of(message.key, self._engine.shard_count), message)
        answer = reply.answer
        if type(answer) is not e.MessageRefused:
            return PublishedMessage(reply.key)
        if answer.parameters.get("acknowledged"):
            return PublishedMessage(answer.parameters["first_message"])
        return refusal_of(answer, message.key)

    def correlate(self, message: NewMessage) -> Call[CorrelatedMessage | Refusal]:
        """Answered with the instance that took it; never kept."""
        problem = unusable(message)
        if problem is not None:
            return problem
        message.sync = True
        shard = shard_of(message.key, self._engine.shard_count)
        reply: Reply = yield Ask(shard, message)
        answer = reply.answer
        if answer is None:
            answer = yield StoreRead(lambda: self._engine.late_answer(shard, reply.key))
        if isinstance(answer, e.MessageRefused):
            return refusal_of(answer, message.key)
        assert isinstance(answer, e.MessageAnswered)
        return CorrelatedMessage(reply.key, answer.instance_id)

    def activate_jobs(self, wanted: JobsWanted) -> Call[list[ActivatedJob] | Refusal]:
        """The oldest jobs of all shards."""
        problem = wanted.unusable()
        if problem is not None:
            return problem
        most = min(wanted.most, MOST_JOBS)
        ready = yield StoreRead(lambda: self._engine.ready_jobs(wanted.type, most, wanted.tenant_ids))
        found: list[ActivatedJob] = []
        chosen = [(job.shard, job.tenant_id) for job in sorted(ready)[:most]]
        for place in dict.fromkeys(chosen):
            found += yield from self.activate_on(wanted, *place, chosen.count(place))
        return sorted(found, key=job_order)

    def activate_on(self, wanted: JobsWanted, shard: int, tenant_id: str, most: int) -> Call[Sequence[ActivatedJob]]:
        """The oldest of one shard; fewer than `most` if another worker was faster."""
        which = (wanted.type, wanted.worker, wanted.timeout_ms, most)
        reply: Reply = yield Ask(shard, c.ActivateJobs(*which, self._engine.now, tenant_id))
        return reply.jobs

    def complete_job(self, key: int, variables: Variables) -> Call[Done | Refusal]:
        """User tasks, too."""
        return self._order(key, c.CompleteJob(key, variables, self._engine.now), variables)

    def fail_job(
        self, key: int, retries: int, message: str = "", backoff_ms: int = 0, variables: Variables | None = None
    ) -> Call[Done | Refusal]:
        command = c.FailJob(key, retries, message, self._engine.now, backoff_ms, variables)
        return self._order(key, command, variables, {"error message": message})

    def throw_error(
        self, key: int, code: str, message: str = "", variables: Variables | None = None
    ) -> Call[Done | Refusal]:
        command = c.ThrowError(key, code, message, self._engine.now, variables)
        return self._order(key, command, variables, {"error code": code, "error message": message})

    def update_retries(self, key: int, retries: int) -> Call[Done | Refusal]:
        return self._order(key, c.UpdateRetries(key, retries, self._engine.now))

    def update_timeout(self, key: int, timeout_ms: int) -> Call[Done | Refusal]:
        return self._order(key, c.UpdateTimeout(key, timeout_ms, self._engine.now))

    def assign_task(self, key: int, assignee: str, override: bool = True) -> Call[Done | Refusal]:
        """A user task; an empty assignee is nobody."""
        command = c.AssignTask(key, assignee, override, self._engine.now)
        return self._order(key, command, texts={"assignee": assignee})

    def cancel_instance(self, key: int) -> Call[Done | Refusal]:
        return self._order(key, c.CancelInstance(key, self._engine.now))

    def set_variables(self, scope_key: int, variables: Variables, local: bool = False) -> Call[Done | Refusal]:
        return self._order(scope_key, c.SetVariables(scope_key, variables, self._engine.now, local), variables)

    def resolve_incident(self, key: int) -> Call[Done | Refusal]:
        return self._order(key, c.ResolveIncident(key, self._engine.now))

    def broadcast_signal(
        self, name: str, variables: Variables, tenant_id: str = DEFAULT_TENANT
    ) -> Call[Done | Refusal]:
        problem = unusable_order(variables) or unusable_texts({"signal name": name})
        if problem is not None:
            return problem
        yield Ask(0, c.BroadcastSignal(name, variables, tenant_id, self._engine.now))
        return DONE

    def _order(
        self, key: int, command: c.Command, variables: Variables | None = None, texts: Mapping[str, str] = _NO_TEXTS
    ) -> Call[Done | Refusal]:
        problem = unusable_texts(texts, MOST_BYTES) or (unusable_order(variables) if variables else None)
        if problem is not None:
            return problem
        shard = self._engine.homes.shard_of_record(key)
        if shard < 0:
            return Refusal("NOT_FOUND", f"nothing with key {key} was found")
        reply: Reply = yield Ask(shard, command)
        for item in reply.decided[:1]:
            if isinstance(item, pe.CommandRefused):
                return Refusal(item.code, item.text)
        return DONE


def _waiting(call: Callable[Concatenate[Calls, _P], Call[_A]]) -> Callable[Concatenate["Api", _P], _A]:
    @wraps(call)
    def wait(self: "Api", /, *args: _P.args, **kwargs: _P.kwargs) -> _A:
        return self.wait_for(call(self.calls, *args, **kwargs))

    return wait


class Api(ABC):
    """The calls of an engine; here the thread waits for the answer.

    A call answers when everything that follows from it has happened, on all shards. Where the shards are is for the
    carrier of the requests.
    """

    def __init__(self, shards: int, created: int = 0) -> None:
        self.shard_count = shards
        self.calls = Calls(self, created)

    @cached_property
    def homes(self) -> KeyHomes:
        """On which shard each record is found."""
        return first_homes(self.shard_count)

    @property
    @abstractmethod
    def now(self) -> int:
        """Microseconds; it does not go back."""

    @property
    @abstractmethod
    def definitions(self) -> Definitions: ...

    @property
    def known_definitions(self) -> Definitions:
        """Those that were last seen, at no cost; a definition that a reply names is among them."""
        return self.definitions

    @abstractmethod
    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT) -> Deployment | Refusal:
        """Files by name; all of them or none."""

    @abstractmethod
    def tick(self) -> int:
        """Carry out what has fallen due: timers, then jobs that come back, then expiries. Answers how much it was."""

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
