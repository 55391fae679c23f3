"""apply, for jobs and incidents. An ended element takes its job and its incident with it."""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.process import events as e
from conjoin.kernel.process.state import ElementInstance, Incident, Job, ProcessState


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


def forget_job(state: ProcessState, it: ElementInstance) -> None:
    """A call activity has an instance here instead, which ends by itself."""
    job = state.jobs.get(it.work_key)
    if job is not None:
        _drop(state, job, it)


def forget_incident(state: ProcessState, it: ElementInstance) -> None:
    state.incidents.pop(it.incident_key, None)


APPLY_JOBS: dict[type, Callable[[ProcessState, Any], None]] = {
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
