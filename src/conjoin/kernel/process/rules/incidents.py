"""Incidents: what keeps an element from going on, until the cause is fixed and the incident resolved.

Resolving retries what failed: entering, leaving, or the job. If the cause is still there, a new incident follows
(M11).
"""

from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.rules.deliveries import waiting_for
from conjoin.kernel.process.rules.entering import raise_incident
from conjoin.kernel.process.rules.tokens import close_waits
from conjoin.kernel.process.state import ACTIVATING, LoopBody
from conjoin.kernel.process.step import DUPLICATE_SUBSCRIPTION, Failure, Step


def resolve_incident(step: Step, command: c.ResolveIncident) -> None:
    incident = step.state.incidents.get(command.key)
    if incident is None:
        text = f"no incident with key {command.key} was found: it was resolved, or its instance has ended"
        step.refuse("NOT_FOUND", text)
        return
    job = step.state.jobs[incident.job_key] if incident.job_key else None
    if job is not None and job.retries < 1:
        step.refuse("INVALID_STATE", f"job {job.key} has no retries left: update its retries, then resolve")
        return
    step.out.append(w.IncidentResolved(incident.key))
    if job is not None:
        step.out.append(w.JobReturned(job.key))
        return
    it = step.state.elements[incident.element_key]
    if it.state != ACTIVATING:
        step.out.append(c.CompleteElement(it.key, step.at))
    else:
        assert it.scope is not None
        index = it.scope.index_of.get(it.key, -1) if isinstance(it.scope, LoopBody) else -1
        step.out.append(c.ActivateElement(it.key, it.element.id, it.scope.key, step.at, None, index))


def refuse_subscription(step: Step, command: c.RefuseSubscription) -> None:
    """Another element holds the name and key: this one gives up its other waits and is an incident."""
    wait, holder = command.subscription, command.holder
    it = waiting_for(step, wait)
    if it is None:
        return
    close_waits(step, it)
    step.out.append(e.ElementEntered(it.key, it.element.id, it.scope.key if it.scope else 0, False, it.variables))
    text = (
        f"{wait.element_id} cannot wait for the message {wait.name!r} with key {wait.payload!r}: "
        f"{holder.element_id} of instance {holder.instance_id} waits for it already"
    )
    raise_incident(step, it.key, Failure(DUPLICATE_SUBSCRIPTION, text))
