"""The rows by which an instance is found: its jobs, timers, incidents, signals and scopes, derived from its state."""

from typing import Any

from conjoin.kernel.process.state import ElementInstance, Instance, ProcessState, Scope, SignalWait, Timer
from conjoin.runtime.codec.instances import all_inside
from conjoin.store import tables as t
from conjoin.store.rows import IncidentRow, JobRow, ScopeRow, SignalRow, TimerRow
from conjoin.store.tables import Table

IndexRows = dict[tuple[Table, int], Any]
"""By table and key."""

_WAITING = ("activated", "backing_off")


def index_rows(instance: Instance, state: ProcessState) -> IndexRows:
    found: IndexRows = {}
    if not (state.jobs or state.timers or state.incidents or state.signals) and _is_flat(instance):
        # Most instances wait for a message and nothing else, and are not walked through.
        return found
    for it in all_inside(instance):
        if it.work_key and it.work_key in state.jobs:
            found[t.JOB, it.work_key] = _job(it, state)
        if it.incident_key:
            found[t.INCIDENT, it.incident_key] = _incident(it, state)
        if it is not instance and (isinstance(it, Scope) or (it.work_key and it.work_key not in state.jobs)):
            found[t.SCOPE, it.key] = ScopeRow(it.key, instance.key)
        for wait in it.waits:
            if type(wait) is Timer:
                found[t.TIMER, wait.key] = timer_row(wait, instance.key, instance.tenant_id, "")
            elif type(wait) is SignalWait:
                found[t.SIGNAL, wait.key] = SignalRow(wait.key, instance.key, instance.tenant_id, wait.name)
    return found


def _is_flat(instance: Instance) -> bool:
    return not any(child.work_key or isinstance(child, Scope) for child in instance.children())


def _job(it: ElementInstance, state: ProcessState) -> JobRow:
    job = state.jobs[it.work_key]
    due_at = job.deadline if job.state in _WAITING else None
    place = (it.instance.key, it.key, it.element.id, it.instance.tenant_id)
    return JobRow(job.key, *place, job.type, job.state, job.retries, due_at, job.worker, job.message)


def _incident(it: ElementInstance, state: ProcessState) -> IncidentRow:
    incident = state.incidents[it.incident_key]
    said = (incident.job_key, incident.error_type, incident.text)
    return IncidentRow(incident.key, it.instance.key, it.key, it.element.id, *said)


def put_start_timer(state: ProcessState, row: TimerRow) -> None:
    interval = (row.months, row.microseconds)
    state.watch_timer(Timer(row.key, row.owner_key, row.element_id, row.due_at, row.repetitions, interval))
    state.start_timers.setdefault((row.tenant_id, row.process_id), []).append(row.key)


def timer_row(timer: Timer, instance_key: int, tenant_id: str, process_id: str) -> TimerRow:
    when = (timer.due_at, timer.repetitions, *timer.interval)
    return TimerRow(timer.key, instance_key, timer.owner_key, timer.element_id, *when, tenant_id, process_id)
