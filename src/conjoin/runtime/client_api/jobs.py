"""Jobs for workers: which ones a worker wants, and a job as its worker sees it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.keys import rank_of
from conjoin.kernel.process import ProcessState
from conjoin.kernel.process.rules.jobs import unusable_activation
from conjoin.kernel.process.rules.variables import document_of
from conjoin.kernel.process.work_events import JobActivated
from conjoin.runtime.client_api.answers import ActivatedJob, Refusal
from conjoin.runtime.client_api.messages import unusable_texts
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

MOST_JOBS = 1_000
"""One activation hands out no more, however many are wanted."""


@dataclass(frozen=True, slots=True)
class JobsWanted:
    """`most` of a type, for so long; of the variables those in `fetch`, or all."""

    type: str
    worker: str
    timeout_ms: int
    most: int
    fetch: Sequence[str] = ()
    tenant_ids: Sequence[str] = (DEFAULT_TENANT,)

    def unusable(self) -> Refusal | None:
        problem = unusable_activation(self.type, self.timeout_ms, self.most)
        if problem:
            return Refusal("INVALID_ARGUMENT", problem)
        return unusable_texts({"job type": self.type, "worker": self.worker})


def decides_something(result: Mapping[str, Any]) -> bool:
    """Of a completion: a result that neither denies nor corrects nor starts anything is the same as none."""
    given = dict(result)
    corrections = given.pop("corrections", None)
    if isinstance(corrections, dict) and any(value is not None for value in corrections.values()):
        return True
    return given.pop("type", None) not in (None, "userTask") or any(given.values())


def job_order(job: ActivatedJob) -> int:
    """The oldest first, whichever shards they are on."""
    return rank_of(job.key)


def activated_jobs(state: ProcessState, decided: Iterable[object]) -> list[ActivatedJob]:
    return [_activated_job(state, event) for event in decided if isinstance(event, JobActivated)]


def _activated_job(state: ProcessState, event: JobActivated) -> ActivatedJob:
    job = state.jobs[event.key]
    it = state.elements[job.element_key]
    instance = it.instance
    definition = instance.definition
    return ActivatedJob(
        key=job.key,
        type=job.type,
        instance_key=instance.key,
        process_id=definition.process_id,
        version=definition.version,
        definition_key=definition.key,
        element_id=it.element.id,
        element_key=it.key,
        retries=job.retries,
        worker=event.worker,
        deadline=event.deadline,
        headers=it.element.job.headers if it.element.job is not None else {},
        variables=document_of(it),
        tenant_id=instance.tenant_id,
        business_id=instance.business_id,
    )
