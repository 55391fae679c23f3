"""Calls about jobs. Those that answer with jobs do so in a stream of messages, none larger than clients take."""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from conjoin.gateway.grpc.handlers import Answer
from conjoin.gateway.grpc.reading import CommonFields, unusable_texts
from conjoin.gateway.grpc.wire import WIRE
from conjoin.gateway.service import Service
from conjoin.gateway.tenants import tenants_or_default, unusable_tenant
from conjoin.runtime.client_api.answers import ActivatedJob, Refusal
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.codec.json_text import json_text

_TEXTS = ("type", "worker")
_NO_LISTENER = WIRE["ActivatedJob"].ListenerEventType.Value("UNSPECIFIED")
"""Its default would read as a listener's."""
LARGEST_ANSWER = 3_500_000
"""Bytes; clients take 4 MB, and there is something around the jobs."""


async def complete_job(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.complete_job, asked.jobKey, said.variables)
    return done if isinstance(done, Refusal) else WIRE["CompleteJobResponse"]()


async def fail_job(service: Service, asked: Any, said: CommonFields) -> Answer:
    how = (asked.retries, asked.errorMessage, asked.retryBackOff)
    done = await service.call(Calls.fail_job, asked.jobKey, *how, said.variables)
    return done if isinstance(done, Refusal) else WIRE["FailJobResponse"]()


async def throw_error(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.throw_error, asked.jobKey, asked.errorCode, asked.errorMessage, said.variables)
    return done if isinstance(done, Refusal) else WIRE["ThrowErrorResponse"]()


async def update_retries(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.update_retries, asked.jobKey, asked.retries)
    return done if isinstance(done, Refusal) else WIRE["UpdateJobRetriesResponse"]()


async def update_timeout(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.update_timeout, asked.jobKey, asked.timeout)
    return done if isinstance(done, Refusal) else WIRE["UpdateJobTimeoutResponse"]()


async def activate_jobs(service: Service, asked: Any) -> AsyncIterator[Answer]:
    problem = _without_worker(asked) or unusable_texts(asked, _TEXTS) or unusable_tenant(asked.tenantIds)
    jobs = problem or await service.activate_jobs(_wanted(asked, asked.maxJobsToActivate), asked.requestTimeout)
    if isinstance(jobs, Refusal):
        yield jobs
    else:
        for some in _in_answers(map(_job, jobs)):
            yield WIRE["ActivateJobsResponse"](jobs=some)


async def stream_jobs(service: Service, asked: Any) -> AsyncIterator[Answer]:
    problem = unusable_texts(asked, _TEXTS) or unusable_tenant(asked.tenantIds)
    jobs = problem or service.stream_jobs(_wanted(asked, 1))
    if isinstance(jobs, Refusal):
        yield jobs
    else:
        async for job in jobs:
            yield _job(job)


def _without_worker(asked: Any) -> Refusal | None:
    return None if asked.worker.strip() else Refusal("INVALID_ARGUMENT", "a worker needs a name, and it is missing")


def _wanted(asked: Any, most: int) -> JobsWanted:
    tenants = tenants_or_default(asked.tenantIds)
    return JobsWanted(asked.type, asked.worker, asked.timeout, most, tuple(asked.fetchVariable), tenants)


def _job(job: ActivatedJob) -> Any:
    return WIRE["ActivatedJob"](
        key=job.key,
        type=job.type,
        processInstanceKey=job.instance_key,
        bpmnProcessId=job.process_id,
        processDefinitionVersion=job.version,
        processDefinitionKey=job.definition_key,
        elementId=job.element_id,
        elementInstanceKey=job.element_key,
        customHeaders=json_text(job.headers),
        worker=job.worker,
        retries=job.retries,
        deadline=job.deadline // 1_000,
        variables=json_text(job.variables),
        tenantId=job.tenant_id,
        businessId=job.business_id or None,
        listenerEventType=_NO_LISTENER,
    )


def _in_answers(jobs: Iterable[Any]) -> Iterator[list[Any]]:
    some: list[Any] = []
    size = 0
    for job in jobs:
        if some and size + job.ByteSize() > LARGEST_ANSWER:
            yield some
            some, size = [], 0
        some.append(job)
        size += job.ByteSize()
    if some:
        yield some
