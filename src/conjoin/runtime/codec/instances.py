"""An instance as one JSON text: everything alive inside, nested as it is in the model.

An element is a list, by position: key, element id, state, own variables, what a scope has inside, waits, trigger, job,
incident, and the instance it called. What is empty at the end is left out. Children stand in their order.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from conjoin.kernel.correlation import Subscription
from conjoin.kernel.keys import rank_of
from conjoin.kernel.process.state import (
    ACTIVATING,
    ACTIVE,
    TERMINATING,
    ElementInstance,
    Incident,
    Instance,
    Job,
    LoopBody,
    ProcessState,
    Scope,
    SignalWait,
    Timer,
    Trigger,
)
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.store.rows import InstanceRow

_STATES = {ACTIVE: 0, ACTIVATING: 1, TERMINATING: 2}
_BY_NUMBER = tuple(_STATES)
_NOTHING = [None] * 10
_MESSAGE, _TIMER, _SIGNAL = range(3)
_LOOP = 6
_INTERRUPTED, _ENDING, _SHUT = 1, 2, 4


def body_of(instance: Instance, state: ProcessState) -> str:
    return json_text(_element(instance, state))


def _element(it: ElementInstance, state: ProcessState) -> list[Any]:
    inside = _inside(it, state) if isinstance(it, Scope) else None
    waits = [_wait(wait) for wait in it.waits] if it.waits else None
    said = [it.key, it.element.id, _STATES[it.state], it.variables, inside, waits]
    if it.trigger is not None or it.work_key or it.incident_key:
        job = state.jobs.get(it.work_key)
        said += [it.trigger, _job(job), _incident(state.incidents.get(it.incident_key)), 0 if job else it.work_key]
    while not said[-1]:
        said.pop()
    return said


def _wait(wait: Any) -> tuple[Any, ...]:
    if type(wait) is Subscription:
        return (_MESSAGE, wait.key, wait.element_id, wait.name, wait.payload)
    if type(wait) is Timer:
        return (_TIMER, wait.key, wait.element_id, wait.due_at, wait.repetitions, wait.interval)
    return (_SIGNAL, wait.key, wait.element_id, wait.name)


def _job(job: Job | None) -> tuple[Any, ...] | None:
    if job is None:
        return None
    return (job.key, job.type, job.retries, job.state, job.worker, job.deadline, job.message)


def _incident(incident: Incident | None) -> tuple[Any, ...] | None:
    return None if incident is None else (incident.key, incident.job_key, incident.error_type, incident.text)


def _inside(scope: Scope, state: ProcessState) -> list[Any]:
    flags = scope.interrupted * _INTERRUPTED | scope.ending * _ENDING | scope.shut * _SHUT
    children = [_element(child, state) for child in scope.children()]
    said = [scope.tokens, children, flags, scope.arrived, scope.moving, scope.pending]
    if isinstance(scope, LoopBody):
        index_of = list(scope.index_of.items())
        return [*said, (scope.items, index_of, scope.started, scope.completed, scope.terminated)]
    while len(said) > 1 and not said[-1]:
        said.pop()
    return said


class WrittenElement(NamedTuple):
    """An element as it stands in a body, for those who read one without loading it."""

    key: int
    element_id: str
    state: int = 0
    variables: dict[str, Any] | None = None
    inside: list[Any] | None = None
    waits: list[Any] | None = None
    trigger: list[Any] | None = None
    job: list[Any] | None = None
    incident: list[Any] | None = None
    called: int = 0

    @property
    def is_loop(self) -> bool:
        """A multi-instance body says how far it has come, behind everything else that is inside."""
        return bool(self.inside) and len(self.inside or ()) > _LOOP

    @property
    def message_waits(self) -> list[tuple[str, int]]:
        """Correlation key and key of each subscription."""
        return [(wait[4], wait[1]) for wait in self.waits or () if wait[0] == _MESSAGE]


def written_element(said: list[Any]) -> WrittenElement:
    return WrittenElement(*said)


def children_of(it: WrittenElement) -> Iterator[WrittenElement]:
    inside = it.inside
    return map(written_element, inside[1] if inside and len(inside) > 1 else ())


def read_instance(state: ProcessState, row: InstanceRow) -> Instance:
    """The instance of a row; it and all inside can be found by their keys from now on."""
    instance = Instance(row.key, state.definitions.by_key[row.definition_key], {})
    instance.started = row.started
    instance.tenant_id = row.tenant_id
    instance.business_id = row.business_id
    instance.parent_key = row.parent_key
    instance.lock_key = row.lock_key
    _fill(state, instance, read_json(row.body))
    if instance.variables is None:
        instance.variables = {}
    return instance


def _fill(state: ProcessState, it: ElementInstance, said: list[Any]) -> None:
    said += _NOTHING[len(said) :]
    _, _, number, it.variables, inside, waits, trigger, job, incident, called = said
    state.elements[it.key] = it
    if number:
        it.state = _BY_NUMBER[number]
    if waits:
        it.waits = tuple([_read_wait(state, it, wait) for wait in waits])
    if inside:
        assert isinstance(it, Scope)
        _fill_scope(state, it, inside)
    if trigger is not None:
        it.trigger = Trigger(*trigger)
    if called:
        it.work_key = called
    if job:
        _put_job(state, it, job)
    if incident:
        key, job_key, error_type, text = incident
        it.incident_key = key
        state.incidents[key] = Incident(key, it.key, job_key, error_type, text)


def _read_wait(state: ProcessState, it: ElementInstance, said: list[Any]) -> Any:
    kind, key, element_id, *rest = said
    instance = it.instance
    if kind == _MESSAGE:
        process_id = instance.definition.plan.process_id
        return Subscription(key, rank_of(it.key), rest[0], process_id, instance.key, element_id, 0, True, "", rest[1])
    if kind == _TIMER:
        due_at, repetitions, interval = rest
        timer = Timer(key, it.key, element_id, due_at, repetitions, tuple(interval))
        state.watch_timer(timer)
        return timer
    wait = SignalWait(key, it.key, element_id, rest[0])
    state.signals.setdefault((instance.tenant_id, rest[0]), {})[key] = wait
    return wait


def _put_job(state: ProcessState, it: ElementInstance, said: list[Any]) -> None:
    key, type_, retries, job_state, worker, deadline, message = said
    job = Job(key, it.key, type_, retries)
    job.state, job.worker, job.deadline, job.message = job_state, worker, deadline, message
    it.work_key = key
    state.jobs[key] = job
    if job_state == "ready":
        state.job_index.add_again(it.instance.tenant_id, type_, key)
    elif job_state in ("activated", "backing_off"):
        state.watch_job(job)


def _fill_scope(state: ProcessState, scope: Scope, inside: list[Any]) -> None:
    scope.tokens = inside[0]
    if scope.element.id in scope.instance.definition.merging:
        scope.moving = {}
    if len(inside) > 2:
        _fill_rarities(scope, inside)
    for child in inside[1] if len(inside) > 1 else ():
        it = _empty(scope, child)
        scope.add(it)
        _fill(state, it, child)


def _fill_rarities(scope: Scope, inside: list[Any]) -> None:
    flags, scope.arrived, moving, pending, loop = (*inside[2:], *_NOTHING)[:5]
    scope.interrupted, scope.ending, scope.shut = bool(flags & _INTERRUPTED), bool(flags & _ENDING), bool(flags & _SHUT)
    scope.pending = None if pending is None else Trigger(*pending)
    if moving:
        scope.moving = moving
    if loop is not None:
        assert isinstance(scope, LoopBody)
        scope.items, index_of, scope.started, scope.completed, scope.terminated = loop
        scope.index_of = dict(index_of)


def _empty(scope: Scope, said: list[Any]) -> ElementInstance:
    key, element_id = said[0], said[1]
    element = scope.instance.definition.plan.elements[element_id]
    inside = said[4] if len(said) > 4 else None
    if inside is None:
        return ElementInstance(key, element, scope, None)
    return LoopBody(key, element, scope, None, ()) if len(inside) > 6 else Scope(key, element, scope, None)


def all_inside(it: ElementInstance) -> Iterator[ElementInstance]:
    """An element instance and everything in it, outermost first."""
    yield it
    if isinstance(it, Scope):
        for child in it.children():
            yield from all_inside(child)
