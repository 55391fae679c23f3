"""The service as a caller may use it: each call is checked by its own arguments, then passed to the whole service.

A call that `TOUCHED` does not list fails, and so does a method that is not overridden here: the attributes it would
need do not exist. Something of a tenant that is none of the caller's is not found, with the same text as something that
does not exist.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from conjoin.gateway.security.grants import Grant, Thing, allowing
from conjoin.gateway.security.visible_store import confined, things_of
from conjoin.gateway.service import Service, Topology
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import ActivatedJob, Deployment, Done, InstanceResult, PublishedMessage, Refusal
from conjoin.runtime.client_api.calls import Call, Calls, NewInstance
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.explain.explain import NamedExplanation, explain_named
from conjoin.runtime.explain.kept.replacing import unreplaceable
from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import instance_holding

_P = ParamSpec("_P")
_A = TypeVar("_A")
_log = logging.getLogger(__name__)
_NAMING = ("NOT_FOUND", "INVALID_STATE")
"""Refusals of a message that name others."""


class _Named(NamedTuple):
    """A call that touches what its arguments name."""

    action: str
    things: Callable[..., Iterable[Thing]]


class _Keyed(NamedTuple):
    """A call that touches what the key finds that is its first argument. One of the actions is enough."""

    actions: tuple[str, ...]
    owner: Callable[[Broker, int], Thing | None]
    missing: str


def _message(message: NewMessage) -> list[Thing]:
    return [Thing(message.tenant_id, message.name)]


def _jobs(wanted: JobsWanted) -> list[Thing]:
    return [Thing(tenant, job=wanted.type) for tenant in wanted.tenant_ids]


def _of(table: str) -> Callable[[Broker, int], Thing | None]:
    """Of a row with the key."""

    def owner(broker: Broker, key: int) -> Thing | None:
        rows = list(rows_with(broker, table, [key]).values())
        return next(iter(things_of(broker, table, rows)), None)

    return owner


def _of_scope(broker: Broker, key: int) -> Thing | None:
    """By the key of an instance, or of an element instance in one."""
    row = instance_holding(broker, key)
    return None if row is None else Thing(row.tenant_id, process=row.process_id)


_PUBLISH, _WORK = _Named("publish", _message), _Named("work", _jobs)
_JOB = _Keyed(("work",), _of("job"), "no job with key {} was found")
_INSTANCE = _Keyed(
    ("operate",), _of("instance"), "no active instance with key {} was found: it has ended, or there never was one"
)
_SCOPE = _Keyed(("operate",), _of_scope, "no active instance or element with key {} was found")
_INCIDENT = _Keyed(
    ("operate",), _of("incident"), "no incident with key {} was found: it was resolved, or its instance has ended"
)
_ENDED_MESSAGE = _Keyed(("operate",), _of("message"), "no message with key {} is known")
TOUCHED: Mapping[Callable[..., Call[Any]], _Named | _Keyed] = {
    Calls.publish: _PUBLISH,
    Calls.correlate: _Named("correlate", _message),
    Calls.broadcast_signal: _Named("signal", lambda name, variables, tenant_id: [Thing(tenant_id, name)]),
    Calls.activate_jobs: _WORK,
    Calls.complete_job: _JOB,
    Calls.fail_job: _JOB,
    Calls.throw_error: _JOB,
    Calls.update_retries: _JOB._replace(actions=("work", "operate")),
    Calls.update_timeout: _JOB._replace(actions=("work", "operate")),
    Calls.assign_task: _JOB._replace(missing="no user task with key {} was found"),
    Calls.cancel_instance: _INSTANCE,
    Calls.set_variables: _SCOPE,
    Calls.resolve_incident: _INCIDENT,
}
"""What each call needs, and to what; `create_instance` has to look up its process first."""


class PermittedService(Service):
    def __init__(self, whole: Service, grants: tuple[Grant, ...], actions: tuple[str, ...]) -> None:
        """For calls that need one of `actions`: a caller who may do something to a thing also sees it there."""
        self._whole = whole
        self._grants = grants
        seeing = allowing(grants, "read", *actions)
        self.broker: Broker = confined(whole.broker, seeing)
        self.limits, self.memory, self.line_memory = whole.limits, whole.memory, whole.line_memory
        self.inbox = whole.inbox if any(grant.is_total for grant in seeing) else None
        self._seeing = tuple(actions) or ("read",)

    async def call(
        self, call: Callable[Concatenate[Calls, _P], Call[_A]], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _A | Refusal:
        refused = await self._refused(call, *args, **kwargs)
        answer = refused if refused is not None else await self._whole.call(call, *args, **kwargs)
        if isinstance(answer, Refusal) and isinstance(args[0], NewMessage):
            return await self._reworded(args[0], answer)
        return answer

    async def _refused(self, call: Callable[..., Call[Any]], *args: Any, **kwargs: Any) -> Refusal | None:
        if call is Calls.create_instance:
            return await self._not_created(*args)
        touched = TOUCHED[call]
        if isinstance(touched, _Keyed):
            return await self._not_its(touched, args[0])
        return self._not_named(touched, *args, **kwargs)

    async def publish_many(self, messages: Sequence[NewMessage]) -> list[PublishedMessage | Refusal]:
        refusals = [self._not_named(_PUBLISH, message) for message in messages]
        allowed = [message for message, no in zip(messages, refusals, strict=True) if no is None]
        answers = iter(await self._whole.publish_many(allowed))
        found = [no or next(answers) for no in refusals]
        return [
            await self._reworded(message, it) if isinstance(it, Refusal) else it
            for message, it in zip(messages, found, strict=True)
        ]

    async def _reworded(self, message: NewMessage, refusal: Refusal) -> Refusal:
        """It may name other instances that wait or hold a lock; the caller is shown only those that it may see."""
        if self.broker is self._whole.broker or refusal.code not in _NAMING:
            return refusal
        try:
            found = (await self.look(explain_named, self.broker, message)).dry_run
        except Exception:  # noqa: BLE001 - the refusal is recorded, and stays one
            _log.exception("the words of a refusal for its caller cannot be found")
            return Refusal(refusal.code, "Refused")
        text = found.sentence.partition(": ")[2] if found.verdict == "refused" else "nobody could take it"
        return Refusal(refusal.code, f"Refused: {text}")

    async def rehearse(self, message: NewMessage) -> NamedExplanation | Refusal:
        refused = self._first_refusal(("read", *self._seeing), _message(message))
        if refused is not None:
            return refused
        return await self.look(explain_named, self.broker, message)

    async def erase_payload(self, message_key: int) -> Done | Refusal:
        return await self._not_its(_ENDED_MESSAGE, message_key) or await self._whole.erase_payload(message_key)

    async def unreplaceable(self, message_key: int, tenant_id: str) -> Refusal | None:
        """One that the caller may not see is not known."""
        return await self.look_up(unreplaceable, self.broker, message_key, tenant_id)

    async def note_replaced(self, message_key: int, by: int, message: NewMessage) -> None:
        if await self.unreplaceable(message_key, message.tenant_id) is None:
            await self._whole.note_replaced(message_key, by, message)

    async def deploy(
        self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT
    ) -> Deployment | Refusal:
        ids = await self._whole.look(_process_ids, self._whole.broker, resources, tenant_id)
        things = [Thing(tenant_id, process=id_) for id_ in ids] or [Thing(tenant_id)]
        return self._first_refusal(("deploy",), things) or await self._whole.deploy(resources, tenant_id)

    async def create_with_result(
        self, new: NewInstance, timeout_ms: int = 0, fetch: Sequence[str] = ()
    ) -> InstanceResult | Refusal:
        return await self._not_created(new) or await self._whole.create_with_result(new, timeout_ms, fetch)

    async def _not_created(self, new: NewInstance) -> Refusal | None:
        process: str | None = new.process_id
        if new.definition_key:
            definitions = await self._whole.look_up(lambda: self._whole.broker.definitions)
            found = definitions.by_key.get(new.definition_key)
            # One of another tenant is refused by the engine.
            process = found.process_id if found is not None and found.tenant_id == new.tenant_id else None
        return self._refusal(("create",), Thing(new.tenant_id, process=process))

    async def activate_jobs(self, wanted: JobsWanted, wait_ms: int = 0) -> list[ActivatedJob] | Refusal:
        return self._not_named(_WORK, wanted) or await self._whole.activate_jobs(wanted, wait_ms)

    def stream_jobs(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob] | Refusal:
        return self._not_named(_WORK, wanted) or self._whole.stream_jobs(wanted)

    def topology(self) -> Topology:
        return self._whole.topology()

    async def look(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        """The function is given the narrowed `broker`."""
        return await self._whole.look(function, *args, **kwargs)

    async def look_up(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        return await self._whole.look_up(function, *args, **kwargs)

    async def carry_out(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        return await self._whole.carry_out(function, *args, **kwargs)

    def _not_named(self, touched: _Named, *args: Any, **kwargs: Any) -> Refusal | None:
        return self._first_refusal((touched.action,), touched.things(*args, **kwargs))

    async def _not_its(self, touched: _Keyed, key: int) -> Refusal | None:
        if any(grant.is_total for grant in allowing(self._grants, *touched.actions)):
            return None
        thing = await self._whole.look_up(touched.owner, self._whole.broker, key)
        if thing is None:
            return None
        if not any(grant.tenants.meets(thing.tenant_id) for grant in self._grants):
            return Refusal("NOT_FOUND", touched.missing.format(key))
        return self._refusal(touched.actions, thing)

    def _first_refusal(self, actions: tuple[str, ...], things: Iterable[Thing]) -> Refusal | None:
        return next((no for thing in things if (no := self._refusal(actions, thing)) is not None), None)

    def _refusal(self, actions: tuple[str, ...], thing: Thing) -> Refusal | None:
        if any(grant.covers(thing) for grant in allowing(self._grants, *actions)):
            return None
        return Refusal("FORBIDDEN", f"no role of yours allows to {actions[0]} {thing.called}")


def _process_ids(broker: Broker, resources: Sequence[tuple[str, bytes]], tenant_id: str) -> list[str]:
    """Of what can be deployed; the engine refuses the rest."""
    prepared: Any = broker.catalog.view().deployments.prepare(resources, tenant_id, broker.now)
    return [] if isinstance(prepared, Refusal) else [it.process_id for it in prepared[0].processes]
