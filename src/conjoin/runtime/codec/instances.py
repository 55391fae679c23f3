"""An instance as rows: one with everything alive inside as JSON, and those by which it is found.

In the JSON an element is a list, by position: key, element id, state, own variables, what a scope has inside, waits,
trigger, job, incident, and the instance it called. What is empty at the end is left out. Children stand in their order.
The other rows are those of its jobs, timers, incidents, signals and scopes, derived from its state.
"""

from collections.abc import Iterator
from itertools import starmap
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
from conjoin.store import tables as t
from conjoin.store.rows import IncidentRow, InstanceRow, JobRow, ScopeRow, SignalRow, TimerRow
from conjoin.store.tables import Table

Wait = Subscription | Timer | SignalWait
IndexRow = JobRow | TimerRow | IncidentRow | SignalRow | ScopeRow
IndexRows = dict[tuple[Table, int], IndexRow]
"""By table and key."""
_COMING_BACK = ("activated", "backing_off")
_STATES = {ACTIVE: 0, ACTIVATING: 1, TERMINATING: 2}
_BY_NUMBER = tuple(_STATES)
_NOTHING = [None] * 10
_MESSAGE, _TIMER, _SIGNAL = range(3)
_LOOP = 6
_INTERRUPTED, _ENDING, _SHUT = 1, 2, 4


def body_of(instance: Instance, state: ProcessState) -> str:
    return json_text(_element(instance, state))


def ended_body(instance: Instance) -> str:
    """Of an ended instance its variables are kept."""
    return json_text([instance.key, instance.element.id, 0, instance.variables])


def instance_row(
    instance: Instance, tree_key: int, state: str, times: tuple[int, int | None], incidents: int, body: str
) -> InstanceRow:
    """`times` are those of its begin and its end."""
    definition = instance.definition
    which = (definition.key, definition.process_id, definition.version, instance.tenant_id)
    came = (instance.business_id, instance.started, instance.parent_key, instance.lock_key)
    return InstanceRow(instance.key, tree_key, *which, *came, state, *times, incidents, body)


def _element(it: ElementInstance, state: ProcessState) -> list[Any]:
    inside = _inside(it, state) if isinstance(it, Scope) else None
    waits = [_wait(wait) for wait in it.waits] if it.waits else None
    written = [it.key, it.element.id, _STATES[it.state], it.variables, inside, waits]
    if it.trigger is not None or it.work_key or it.incident_key:
        job, incident = state.jobs.get(it.work_key), state.incidents.get(it.incident_key)
        written += [
            it.trigger,
            job and (job.key, job.type, job.retries, job.state, job.worker, job.deadline, job.message),
            incident and (incident.key, incident.job_key, incident.error_type, incident.text),
            0 if job else it.work_key,
        ]
    while not written[-1]:
        written.pop()
    return written


def _wait(wait: Wait) -> tuple[Any, ...]:
    if isinstance(wait, Subscription):
        return (_MESSAGE, wait.key, wait.element_id, wait.name, wait.payload)
    if isinstance(wait, Timer):
        return (_TIMER, wait.key, wait.element_id, wait.due_at, wait.repetitions, wait.interval)
    return (_SIGNAL, wait.key, wait.element_id, wait.name)


def _inside(scope: Scope, state: ProcessState) -> list[Any]:
    flags = scope.interrupted * _INTERRUPTED | scope.ending * _ENDING | scope.shut * _SHUT
    children = [_element(child, state) for child in scope.children()]
    written = [scope.tokens, children, flags, scope.arrived, scope.moving, scope.pending]
    if isinstance(scope, LoopBody):
        index_of = list(scope.index_of.items())
        return [*written, (scope.items, index_of, scope.started, scope.completed, scope.terminated)]
    while len(written) > 1 and not written[-1]:
        written.pop()
    return written


class WrittenElement(NamedTuple):
    """An element as it stands in a body, for readers that do not load it."""

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
        """A multi-instance body has its progress behind everything else that is inside."""
        return bool(self.inside) and len(self.inside or ()) > _LOOP

    @property
    def message_waits(self) -> list[tuple[str, int]]:
        """Correlation key and key of each subscription."""
        return [(wait[4], wait[1]) for wait in self.waits or () if wait[0] == _MESSAGE]

    @property
    def awaited_names(self) -> dict[int, tuple[str, str]]:
        """Name and correlation key of each of these subscriptions, by its key."""
        return {wait[1]: (wait[3], wait[4]) for wait in self.waits or () if wait[0] == _MESSAGE}

    @property
    def timers(self) -> list[tuple[int, str, int]]:
        """Key, element and due time of each timer."""
        return [(wait[1], wait[2], wait[3]) for wait in self.waits or () if wait[0] == _TIMER]


def children_of(it: WrittenElement) -> Iterator[WrittenElement]:
    inside = it.inside
    return starmap(WrittenElement, inside[1] if inside and len(inside) > 1 else ())


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


def _fill(state: ProcessState, it: ElementInstance, values: list[Any]) -> None:
    values += _NOTHING[len(values) :]
    _, _, number, it.variables, inside, waits, trigger, job, incident, called = values
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


def _read_wait(state: ProcessState, it: ElementInstance, values: list[Any]) -> Wait:
    kind, key, element_id, *rest = values
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


def _put_job(state: ProcessState, it: ElementInstance, values: list[Any]) -> None:
    key, type_, retries, job_state, worker, deadline, message = values
    job = Job(key, it.key, type_, retries)
    job.state, job.worker, job.deadline, job.message = job_state, worker, deadline, message
    it.work_key = key
    state.jobs[key] = job
    if job_state == "ready":
        state.job_index.add_again(it.instance.tenant_id, type_, key)
    elif job_state in _COMING_BACK:
        state.watch_job(job)


def _fill_scope(state: ProcessState, scope: Scope, inside: list[Any]) -> None:
    scope.tokens = inside[0]
    plan = scope.instance.definition.plan
    if scope.element.id in scope.instance.definition.merging:
        scope.moving = {}
    if len(inside) > 2:
        _fill_rarities(scope, inside)
    for child in inside[1] if len(inside) > 1 else ():
        key, element = child[0], plan.elements[child[1]]
        its_inside = child[4] if len(child) > 4 else None
        it: ElementInstance
        if its_inside is None:
            it = ElementInstance(key, element, scope, None)
        elif len(its_inside) > _LOOP:
            it = LoopBody(key, element, scope, None, ())
        else:
            it = Scope(key, element, scope, None)
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


def index_rows(instance: Instance, state: ProcessState) -> IndexRows:
    found: IndexRows = {}
    if not (state.jobs or state.timers or state.incidents or state.signals) and not any(
        child.work_key or isinstance(child, Scope) for child in instance.children()
    ):
        # Most instances wait for a message and nothing else, and are not walked through.
        return found
    for it in all_inside(instance):
        element = (it.instance.key, it.key, it.element.id)
        job = state.jobs.get(it.work_key) if it.work_key else None
        if job is not None:
            due_at = job.deadline if job.state in _COMING_BACK else None
            which = (job.key, *element, it.instance.tenant_id, job.type)
            found[t.JOB, job.key] = JobRow(*which, job.state, job.retries, due_at, job.worker, job.message)
        if it.incident_key:
            incident = state.incidents[it.incident_key]
            why = (incident.job_key, incident.error_type, incident.text)
            found[t.INCIDENT, incident.key] = IncidentRow(incident.key, *element, *why)
        if it is not instance and (isinstance(it, Scope) or (it.work_key and job is None)):
            found[t.SCOPE, it.key] = ScopeRow(it.key, instance.key)
        for wait in it.waits:
            if isinstance(wait, Timer):
                found[t.TIMER, wait.key] = timer_row(wait, instance.key, instance.tenant_id, "")
            elif isinstance(wait, SignalWait):
                found[t.SIGNAL, wait.key] = SignalRow(wait.key, instance.key, instance.tenant_id, wait.name)
    return found


def all_inside(it: ElementInstance) -> Iterator[ElementInstance]:
    """An element instance and everything in it, outermost first."""
    yield it
    if isinstance(it, Scope):
        for child in it.children():
            yield from all_inside(child)


def put_start_timer(state: ProcessState, row: TimerRow) -> None:
    interval = (row.months, row.microseconds)
    state.watch_timer(Timer(row.key, row.owner_key, row.element_id, row.due_at, row.repetitions, interval))
    state.start_timers.setdefault((row.tenant_id, row.process_id), []).append(row.key)


def timer_row(timer: Timer, instance_key: int, tenant_id: str, process_id: str) -> TimerRow:
    when = (timer.due_at, timer.repetitions, *timer.interval)
    return TimerRow(timer.key, instance_key, timer.owner_key, timer.element_id, *when, tenant_id, process_id)
