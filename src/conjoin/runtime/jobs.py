"""A job as its worker sees it."""

from conjoin.kernel.process import ProcessState
from conjoin.kernel.process.events import JobActivated
from conjoin.kernel.process.variables import document_of
from conjoin.runtime.answers import ActivatedJob


def activated_job(state: ProcessState, event: JobActivated) -> ActivatedJob:
    job = state.jobs[event.key]
    it = state.elements[job.element_key]
    definition = it.instance.definition
    return ActivatedJob(
        key=job.key,
        type=job.type,
        instance_key=it.instance.key,
        process_id=definition.process_id,
        version=definition.version,
        element_id=it.element.id,
        element_key=it.key,
        retries=job.retries,
        worker=event.worker,
        deadline=event.deadline,
        headers=it.element.job.headers if it.element.job is not None else {},
        variables=document_of(it),
    )
