"""The service as a caller may use it: every method checks the very values it is called with, then asks the whole one.

What is not written out here does not work for a caller: the attributes it would need are not there. Something of a
tenant that is none of the caller's is not found, in the same words as something that does not exist.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from conjoin.gateway.security import owners
from conjoin.gateway.security.grants import Grant, Thing, allowing
from conjoin.gateway.security.visible_store import confined
from conjoin.gateway.service import Service, Variables
from conjoin.gateway.topology import Topology
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import (
    ActivatedJob,
    CorrelatedMessage,
    CreatedInstance,
    Deployment,
    Done,
    InstanceResult,
    PublishedMessage,
    Refusal,
)
from conjoin.runtime.client_api.calls import NewInstance
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.explain.explain import NamedExplanation, explain_named

_P = ParamSpec("_P")
_A = TypeVar("_A")
_NO_INSTANCE = "no active instance with key {} was found: it has ended, or there never was one"
_NO_SCOPE = "no active instance or element with key {} was found"
_NO_INCIDENT = "no incident with key {} was found: it was resolved, or its instance has ended"
_NO_JOB, _NO_TASK = "no job with key {} was found", "no user task with key {} was found"
_NO_MESSAGE = "no message with key {} is known"
_UPDATE_JOB = ("work", "operate")
_NAMING = ("NOT_FOUND", "INVALID_STATE")
"""Refusals of a message that name others."""


class PermittedService(Service):
    def __init__(self, whole: Service, grants: tuple[Grant, ...], actions: tuple[str, ...]) -> None:
        """For calls that need one of `actions`: who may do something to a thing also sees it there."""
        self._whole = whole
        self._grants = grants
        seeing = allowing(grants, "read", *actions)
        self.broker: Broker = confined(whole.broker, seeing)
        self.limits, self.memory, self.line_memory = whole.limits, whole.memory, whole.line_memory
        self.inbox = whole.inbox if any(grant.is_total for grant in seeing) else None
        self._seeing = tuple(actions) or ("read",)

    async def publish(self, message: NewMessage) -> PublishedMessage | Refusal:
        refused = self._refusal(("publish",), _about(message))
        answer = await self._whole.publish(message) if refused is None else refused
        return await self._reworded(message, answer) if isinstance(answer, Refusal) else answer

    async def correlate(self, message: NewMessage) -> CorrelatedMessage | Refusal:
        refused = self._refusal(("correlate",), _about(message))
        answer = await self._whole.correlate(message) if refused is None else refused
        return await self._reworded(replace(message, sync=True), answer) if isinstance(answer, Refusal) else answer

    async def publish_many(self, messages: Sequence[NewMessage]) -> list[PublishedMessage | Refusal]:
        refusals = [self._refusal(("publish",), _about(message)) for message in messages]
        allowed = [message for message, no in zip(messages, refusals, strict=True) if no is None]
        answers = iter(await self._whole.publish_many(allowed))
        found = [no or next(answers) for no in refusals]
        return [
            await self._reworded(message, it) if isinstance(it, Refusal) else it
            for message, it in zip(messages, found, strict=True)
        ]

    async def _reworded(self, message: NewMessage, refusal: Refusal) -> Refusal:
        """It may name who waits instead, or is in the way; whoever may not know of them all is told of the rest."""
        if self.broker is self._whole.broker or refusal.code not in _NAMING:
            return refusal
        found = (await self.look(explain_named, self.broker, message)).dry_run
        text = found.sentence.partition(": ")[2] if found.verdict == "refused" else "nobody could take it"
        return Refusal(refusal.code, f"Refused: {text}")

    async def rehearse(self, message: NewMessage) -> NamedExplanation | Refusal:
        refused = self._refusal(("read", *self._seeing), _about(message))
        if refused is not None:
            return refused
        return await self.look(explain_named, self.broker, message)

    async def erase_payload(self, message_key: int) -> Done | Refusal:
        refused = await self._not_its("operate", owners.of_message, message_key, _NO_MESSAGE)
        return refused or await self._whole.erase_payload(message_key)

    async def deploy(
        self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT
    ) -> Deployment | Refusal:
        ids = await self._whole.look(_process_ids, self._whole.broker, resources, tenant_id)
        things = [Thing(tenant_id, process=id_) for id_ in ids] or [Thing(tenant_id)]
        return self._first_refusal(("deploy",), things) or await self._whole.deploy(resources, tenant_id)

    async def create_instance(self, new: NewInstance) -> CreatedInstance | Refusal:
        return await self._not_created(new) or await self._whole.create_instance(new)

    async def create_with_result(
        self, new: NewInstance, timeout_ms: int = 0, fetch: Sequence[str] = ()
    ) -> InstanceResult | Refusal:
        return await self._not_created(new) or await self._whole.create_with_result(new, timeout_ms, fetch)

    async def _not_created(self, new: NewInstance) -> Refusal | None:
        process: str | None = new.process_id
        if new.definition_key:
            definitions = await self._whole.look_up(lambda: self._whole.broker.definitions)
            found = definitions.by_key.get(new.definition_key)
            # That of another tenant is none, and the engine says so.
            process = found.process_id if found is not None and found.tenant_id == new.tenant_id else None
        return self._refusal(("create",), Thing(new.tenant_id, process=process))

    async def cancel_instance(self, key: int) -> Done | Refusal:
        refused = await self._not_its("operate", owners.of_instance, key, _NO_INSTANCE)
        return refused or await self._whole.cancel_instance(key)

    async def set_variables(self, scope_key: int, variables: Variables, local: bool = False) -> Done | Refusal:
        refused = await self._not_its("operate", owners.of_scope, scope_key, _NO_SCOPE)
        return refused or await self._whole.set_variables(scope_key, variables, local)

    async def resolve_incident(self, key: int) -> Done | Refusal:
        refused = await self._not_its("operate", owners.of_incident, key, _NO_INCIDENT)
        return refused or await self._whole.resolve_incident(key)

    async def activate_jobs(self, wanted: JobsWanted, wait_ms: int = 0) -> list[ActivatedJob] | Refusal:
        return self._no_work(wanted) or await self._whole.activate_jobs(wanted, wait_ms)

    def stream_jobs(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob] | Refusal:
        return self._no_work(wanted) or self._whole.stream_jobs(wanted)

    def _no_work(self, wanted: JobsWanted) -> Refusal | None:
        return self._first_refusal(("work",), [Thing(tenant, job=wanted.type) for tenant in wanted.tenant_ids])

    async def complete_job(self, key: int, variables: Variables) -> Done | Refusal:
        return await self._not_its_job(key) or await self._whole.complete_job(key, variables)

    async def fail_job(
        self, key: int, retries: int, message: str = "", backoff_ms: int = 0, variables: Variables | None = None
    ) -> Done | Refusal:
        refused = await self._not_its_job(key)
        return refused or await self._whole.fail_job(key, retries, message, backoff_ms, variables)

    async def throw_error(
        self, key: int, code: str, message: str = "", variables: Variables | None = None
    ) -> Done | Refusal:
        return await self._not_its_job(key) or await self._whole.throw_error(key, code, message, variables)

    async def update_retries(self, key: int, retries: int) -> Done | Refusal:
        return await self._not_its_job(key, *_UPDATE_JOB) or await self._whole.update_retries(key, retries)

    async def update_timeout(self, key: int, timeout_ms: int) -> Done | Refusal:
        return await self._not_its_job(key, *_UPDATE_JOB) or await self._whole.update_timeout(key, timeout_ms)

    async def assign_task(self, key: int, assignee: str, override: bool = True) -> Done | Refusal:
        refused = await self._not_its("work", owners.of_job, key, _NO_TASK)
        return refused or await self._whole.assign_task(key, assignee, override)

    async def broadcast_signal(
        self, name: str, variables: Variables, tenant_id: str = DEFAULT_TENANT
    ) -> Done | Refusal:
        refused = self._refusal(("signal",), Thing(tenant_id, name))
        return refused or await self._whole.broadcast_signal(name, variables, tenant_id)

    def topology(self) -> Topology:
        return self._whole.topology()

    async def look(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        """With `broker`, which is narrowed."""
        return await self._whole.look(function, *args, **kwargs)

    async def look_up(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        return await self._whole.look_up(function, *args, **kwargs)

    async def carry_out(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        return await self._whole.carry_out(function, *args, **kwargs)

    async def _not_its_job(self, key: int, *actions: str) -> Refusal | None:
        return await self._not_its(actions or "work", owners.of_job, key, _NO_JOB)

    async def _not_its(
        self, needed: str | tuple[str, ...], owner: Callable[[Broker, int], Thing | None], key: int, missing: str
    ) -> Refusal | None:
        actions = (needed,) if isinstance(needed, str) else needed
        if any(grant.is_total for grant in allowing(self._grants, *actions)):
            return None
        thing = await self._whole.look_up(owner, self._whole.broker, key)
        if thing is None:
            return None
        if not any(grant.tenants.meets(thing.tenant_id) for grant in self._grants):
            return Refusal("NOT_FOUND", missing.format(key))
        return self._refusal(actions, thing)

    def _first_refusal(self, actions: tuple[str, ...], things: Iterable[Thing]) -> Refusal | None:
        return next((no for thing in things if (no := self._refusal(actions, thing)) is not None), None)

    def _refusal(self, actions: tuple[str, ...], thing: Thing) -> Refusal | None:
        if any(grant.covers(thing) for grant in allowing(self._grants, *actions)):
            return None
        return Refusal("FORBIDDEN", f"no role of yours allows to {actions[0]} {thing.called}")


def _about(message: NewMessage) -> Thing:
    return Thing(message.tenant_id, message.name)


def _process_ids(broker: Broker, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> list[str]:
    """Of what can be deployed; the engine says what is wrong with the rest."""
    prepared: Any = broker.catalog.view().deployments.prepare(resources, tenant_id, broker.now)
    return [] if isinstance(prepared, Refusal) else [it.process_id for it in prepared[0].processes]
