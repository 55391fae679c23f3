"""apply, for what element instances wait for (messages, timers, signals) and for jobs and incidents.

An element that ends takes its waits, its job and its incident with it.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.process import events as e
from conjoin.kernel.process.state import ElementInstance, Incident, Job, ProcessState, SignalWait, Timer


def _message_awaited(state: ProcessState, event: e.MessageAwaited) -> None:
    it = state.elements[event.key]
    it.waits += (event.subscription,)
    state.keys.used(event.subscription.key)


def _signal_awaited(state: ProcessState, event: e.SignalAwaited) -> None:
    it = state.elements[event.owner_key]
    wait = SignalWait(event.key, event.owner_key, event.element_id, event.name)
    it.waits += (wait,)
    state.signals.setdefault((it.instance.tenant_id, event.name), {})[event.key] = wait
    state.keys.used(event.key)


def _timer_started(state: ProcessState, event: e.TimerStarted) -> None:
    timer = Timer(event.key, event.owner_key, event.element_id, event.due_at, event.repetitions, event.interval)
    state.watch_timer(timer)
    state.keys.used(event.key)
    it = state.elements.get(event.owner_key)
    if it is not None:
        it.waits += (timer,)
    else:
        definition = state.definitions.by_key[event.owner_key]
        state.start_timers.setdefault((definition.tenant_id, definition.process_id), []).append(event.key)


def _timer_ended(state: ProcessState, event: e.TimerEnded) -> None:
    timer = state.timers[event.key]
    state.forget_timer(event.key)
    it = state.elements.get(timer.owner_key)
    if it is not None:
        it.waits = tuple(wait for wait in it.waits if wait is not timer)
    else:
        definition = state.definitions.by_key[timer.owner_key]
        state.start_timers[definition.tenant_id, definition.process_id].remove(event.key)


def stop_waiting(state: ProcessState, it: ElementInstance) -> None:
    for wait in it.waits:
        if type(wait) is Timer:
            state.forget_timer(wait.key)
        elif type(wait) is SignalWait:
            place = (it.instance.tenant_id, wait.name)
            waiting = state.signals[place]
            del waiting[wait.key]
            if not waiting:
                del state.signals[place]
    it.waits = ()


def _tenant_of(state: ProcessState, job: Job) -> str:
    return state.elements[job.element_key].instance.tenant_id


def _job_created(state: ProcessState, event: e.JobCreated) -> None:
    job = Job(event.key, event.element_key, event.type, event.retries)
    it = state.elements[event.element_key]
    it.work_key = event.key
    state.jobs[event.key] = job
    state.keys.used(event.key)
    state.job_index.add(it.instance.tenant_id, event.type, event.key)


def _job_activated(state: ProcessState, event: e.JobActivated) -> None:
    job = state.jobs[event.key]
    state.job_index.remove(_tenant_of(state, job), job.type, job.key)
    job.state = "activated"
    job.worker = event.worker
    job.deadline = event.deadline
    state.watch_job(job)


def _job_completed(state: ProcessState, event: e.JobCompleted) -> None:
    job = state.jobs[event.key]
    it = state.elements[job.element_key]
    _drop(state, job, it)
    it.work_key = 0


def _drop(state: ProcessState, job: Job, it: ElementInstance) -> None:
    state.job_index.remove(it.instance.tenant_id, job.type, job.key)
    del state.jobs[job.key]
    state.drop_settled_jobs()


def _job_failed(state: ProcessState, event: e.JobFailed) -> None:
    job = state.jobs[event.key]
    tenant_id = _tenant_of(state, job)
    state.job_index.remove(tenant_id, job.type, job.key)
    job.retries = event.retries
    job.message = event.message
    job.deadline = event.ready_at
    if event.retries < 1:
        job.state = "failed"
    elif event.ready_at:
        job.state = "backing_off"
        state.watch_job(job)
    else:
        job.state = "ready"
        state.job_index.add_again(tenant_id, job.type, job.key)
    state.drop_settled_jobs()


def _error_thrown(state: ProcessState, event: e.ErrorThrown) -> None:
    job = state.jobs[event.key]
    state.job_index.remove(_tenant_of(state, job), job.type, job.key)
    job.state = "error_thrown"
    job.message = event.message
    state.drop_settled_jobs()


def _job_returned(state: ProcessState, event: e.JobReturned) -> None:
    job = state.jobs[event.key]
    job.state = "ready"
    job.worker = ""
    job.deadline = 0
    state.job_index.add_again(_tenant_of(state, job), job.type, job.key)
    state.drop_settled_jobs()


def _retries_updated(state: ProcessState, event: e.RetriesUpdated) -> None:
    state.jobs[event.key].retries = event.retries


def _timeout_updated(state: ProcessState, event: e.TimeoutUpdated) -> None:
    job = state.jobs[event.key]
    job.deadline = event.deadline
    state.watch_job(job)


def _task_assigned(state: ProcessState, event: e.TaskAssigned) -> None:
    state.jobs[event.key].worker = event.assignee


def _incident_raised(state: ProcessState, event: e.IncidentRaised) -> None:
    incident = Incident(event.key, event.element_key, event.job_key, event.error_type, event.text)
    state.incidents[event.key] = incident
    state.elements[event.element_key].incident_key = event.key
    state.keys.used(event.key)


def _incident_resolved(state: ProcessState, event: e.IncidentResolved) -> None:
    incident = state.incidents.pop(event.key)
    it = state.elements.get(incident.element_key)
    if it is not None:
        it.incident_key = 0


def forget_work(state: ProcessState, it: ElementInstance) -> None:
    """Its job and its incident. (A call activity has an instance instead of a job, which ends by itself.)"""
    job = state.jobs.get(it.work_key) if it.work_key else None
    if job is not None:
        _drop(state, job, it)
    if it.incident_key:
        state.incidents.pop(it.incident_key, None)


APPLY_WORK: dict[type, Callable[[ProcessState, Any], None]] = {
    e.MessageAwaited: _message_awaited,
    e.SignalAwaited: _signal_awaited,
    e.TimerStarted: _timer_started,
    e.TimerEnded: _timer_ended,
    e.JobCreated: _job_created,
    e.JobActivated: _job_activated,
    e.JobCompleted: _job_completed,
    e.JobFailed: _job_failed,
    e.ErrorThrown: _error_thrown,
    e.JobReturned: _job_returned,
    e.RetriesUpdated: _retries_updated,
    e.TimeoutUpdated: _timeout_updated,
    e.TaskAssigned: _task_assigned,
    e.IncidentRaised: _incident_raised,
    e.IncidentResolved: _incident_resolved,
}
