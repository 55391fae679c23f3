"""Incidents: what keeps an element from going on, until somebody mends the cause and resolves it.

Resolving tries again what failed: entering, leaving, or the job. If the cause is still there, a new incident follows
(M11).
"""

from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.entering import raise_incident
from conjoin.kernel.process.rules.tokens import close_waits
from conjoin.kernel.process.state import ACTIVATING, ElementInstance, Incident, LoopBody
from conjoin.kernel.process.step import DUPLICATE_SUBSCRIPTION, Failure, Step


def resolve_incident(step: Step, command: c.ResolveIncident) -> None:
    incident = step.state.incidents.get(command.key)
    if incident is None:
        text = f"no incident with key {command.key} was found: it was resolved, or its instance has ended"
        step.out.append(e.CommandRefused("NOT_FOUND", text))
    elif incident.job_key:
        _return_job(step, incident)
    else:
        step.out.append(e.IncidentResolved(incident.key))
        _try_again(step, step.state.elements[incident.element_key])


def _return_job(step: Step, incident: Incident) -> None:
    job = step.state.jobs[incident.job_key]
    if job.retries < 1:
        text = f"job {job.key} has no retries left: update its retries, then resolve"
        step.out.append(e.CommandRefused("INVALID_STATE", text))
        return
    step.out.append(e.IncidentResolved(incident.key))
    step.out.append(e.JobReturned(job.key))


def _try_again(step: Step, it: ElementInstance) -> None:
    if it.state != ACTIVATING:
        step.out.append(c.CompleteElement(it.key, step.at))
        return
    assert it.scope is not None
    index = it.scope.index_of.get(it.key, -1) if isinstance(it.scope, LoopBody) else -1
    step.out.append(c.ActivateElement(it.key, it.element.id, it.scope.key, step.at, None, index))


def refuse_subscription(step: Step, command: c.RefuseSubscription, it: ElementInstance | None) -> None:
    """Another element holds the name and key: this one gives up its other waits and is an incident."""
    if it is None:
        return
    close_waits(step, it)
    wait = command.subscription
    step.out.append(e.ElementEntered(it.key, it.element.id, it.scope.key if it.scope else 0, False, it.variables))
    text = (
        f"{wait.element_id} cannot wait for the message {wait.name!r} with key {wait.payload!r}: "
        f"{command.holder.element_id} of instance {command.holder.instance_id} waits for it already"
    )
    raise_incident(step, it.key, Failure(DUPLICATE_SUBSCRIPTION, text))
