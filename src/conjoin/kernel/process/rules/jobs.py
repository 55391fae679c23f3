"""Jobs: work that somebody outside takes, completes, fails, or ends with an error.

A job belongs to the element instance that waits for it. Without retries left it is an incident and stays where it
is; so does one whose error nobody catches.
"""

from conjoin.kernel.instants import after
from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.rules.catching import prepare, trigger
from conjoin.kernel.process.rules.entering import entered, raise_incident, waits_of
from conjoin.kernel.process.rules.throwing import catcher_of, uncaught
from conjoin.kernel.process.rules.variables import merge, visible
from conjoin.kernel.process.state import Job, Scope
from conjoin.kernel.process.step import JOB_NO_RETRIES, Failure, Own, Step
from conjoin.kernel.process.values import retries_value, text_value
from conjoin.kernel.storable import LARGEST_INT32, LARGEST_INT64

FOR_A_PERSON = "conjoin:user-task"
"""The type of a user task that is no job: no worker can ask for it."""

_WORKABLE = ("ready", "activated", "backing_off")
_RETURNING = ("activated", "backing_off")
"""Those that come back by themselves."""


def enter_with_job(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    view = visible(step, scope, own)
    job = element.job
    assert job is not None
    prepared = prepare(step, waits_of(element, scope), view, scope.instance)
    type_ = text_value(job.type, view, step.at, "job type")
    retries = retries_value(job.retries, view, step.at, "number of retries")
    entered(step, command, scope, own, prepared)
    step.out.append(w.JobCreated(step.new_key(), command.key, type_, retries))


def activate_jobs(step: Step, command: c.ActivateJobs) -> None:
    problem = unusable_activation(command.type, command.timeout_ms, command.limit)
    if problem:
        step.refuse("INVALID_ARGUMENT", problem)
        return
    deadline = after(command.at, command.timeout_ms)
    for key in step.state.job_index.oldest(command.tenant_id, command.type, command.limit):
        step.out.append(w.JobActivated(key, command.worker, deadline))


def unusable_activation(type_: str, timeout_ms: int, limit: int) -> str:
    """Why jobs cannot be activated like that; empty when they can."""
    if not type_ or type_.isspace():
        return "jobs are activated by their type, and it is missing"
    if timeout_ms < 1:
        return f"a worker needs time: the timeout is {timeout_ms} ms, at least 1 is needed"
    if not 1 <= limit <= LARGEST_INT32:
        return f"at least one job must be asked for, and at most {LARGEST_INT32}, not {limit}"
    return out_of_range("timeout", timeout_ms, LARGEST_INT64)


def out_of_range(what: str, number: int, largest: int) -> str:
    """Why a number of a client cannot be stored; empty when it can."""
    return "" if -largest <= number <= largest else f"the {what} is out of range: at most {largest} can be stored"


def complete_job(step: Step, command: c.CompleteJob) -> None:
    job = _workable(step, command.key)
    if job is None:
        return
    it = step.state.elements[job.element_key]
    step.out.append(w.JobCompleted(job.key, command.variables))
    step.out.append(e.ElementTriggered(it.key, it.element.id, command.variables))
    step.out.append(c.CompleteElement(it.key, step.at))


def fail_job(step: Step, command: c.FailJob) -> None:
    retries = out_of_range("number of retries", command.retries, LARGEST_INT32)
    problem = retries or out_of_range("back-off", command.backoff_ms, LARGEST_INT64)
    if problem:
        step.refuse("INVALID_ARGUMENT", problem)
        return
    job = _workable(step, command.key)
    if job is None:
        return
    ready_at = after(command.at, command.backoff_ms) if command.backoff_ms > 0 else 0
    step.out.append(w.JobFailed(job.key, command.retries, command.message, ready_at))
    if command.variables:
        merge(step, step.state.elements[job.element_key], command.variables)
    if command.retries < 1:
        text = command.message or "no retries are left"
        raise_incident(step, job.element_key, Failure(JOB_NO_RETRIES, text), job.key)


def throw_error(step: Step, command: c.ThrowError) -> None:
    job = _workable(step, command.key)
    if job is None:
        return
    it = step.state.elements[job.element_key]
    catcher = catcher_of(step, it, command.code)
    step.out.append(w.ErrorThrown(job.key, command.code, command.message, catcher is not None))
    if catcher is None or not trigger(step, catcher.it, catcher.catch, command.variables):
        raise_incident(step, it.key, uncaught(command.code), job.key)


def update_retries(step: Step, command: c.UpdateRetries) -> None:
    too_large = out_of_range("number of retries", command.retries, LARGEST_INT32)
    if command.retries < 1 or too_large:
        text = too_large or f"a job needs at least one retry, not {command.retries}"
        step.refuse("INVALID_ARGUMENT", text)
    elif command.key not in step.state.jobs:
        _gone(step, command.key)
    else:
        step.out.append(w.RetriesUpdated(command.key, command.retries))


def update_timeout(step: Step, command: c.UpdateTimeout) -> None:
    job = step.state.jobs.get(command.key)
    if job is None:
        _gone(step, command.key)
    elif not 0 <= command.timeout_ms <= LARGEST_INT64:
        text = f"a timeout is not negative, and has at most 64 bits; this one is {command.timeout_ms} ms"
        step.refuse("INVALID_ARGUMENT", text)
    elif job.state != "activated":
        text = f"job {command.key} is in state {job.state}: only one that a worker has activated has a timeout"
        step.refuse("INVALID_STATE", text)
    else:
        step.out.append(w.TimeoutUpdated(command.key, after(command.at, command.timeout_ms)))


def assign_task(step: Step, command: c.AssignTask) -> None:
    job = step.state.jobs.get(command.key)
    if job is None or job.type != FOR_A_PERSON:
        step.refuse("NOT_FOUND", f"no user task with key {command.key} was found")
    elif job.worker and command.assignee and job.worker != command.assignee and not command.override:
        text = f"user task {command.key} is assigned to {job.worker!r}: unassign it first, or allow to override"
        step.refuse("INVALID_STATE", text)
    else:
        step.out.append(w.TaskAssigned(command.key, command.assignee))


def return_jobs(step: Step, command: c.ReturnJobs) -> None:
    due = step.state.due_jobs
    job = step.state.jobs.get(command.key or (due[0][1] if due else 0))
    if job is not None and job.state in _RETURNING and job.deadline <= command.at:
        step.out.append(w.JobReturned(job.key))


def _workable(step: Step, key: int) -> Job | None:
    job = step.state.jobs.get(key)
    if job is None:
        _gone(step, key)
    elif job.state not in _WORKABLE and job.type != FOR_A_PERSON:
        step.refuse("INVALID_STATE", f"job {key} is in state {job.state}: resolve its incident")
        return None
    return job


def _gone(step: Step, key: int) -> None:
    step.refuse("NOT_FOUND", f"no job with key {key} was found")
