"""Who answers which call: a message of the wire in, one out, or a refusal.

Calls that answer with jobs do so in a stream of messages, none larger than clients accept.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any

from conjoin.gateway.grpc.reading import CommonFields, unusable_texts
from conjoin.gateway.grpc.wire import WIRE
from conjoin.gateway.service import Service
from conjoin.gateway.statuses import INTENTS
from conjoin.runtime.client_api.answers import ActivatedJob, CreatedInstance, DeployedProcess, Refusal
from conjoin.runtime.client_api.calls import Call, Calls, NewInstance
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.client_api.messages import NewMessage, unusable_tenant
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

Answer = Any
"""A message of the wire, or a refusal."""
Unary = Callable[[Service, Any, CommonFields], Awaitable[Answer]]
Streaming = Callable[[Service, Any], AsyncIterator[Answer]]
LARGEST_ANSWER = 3_500_000
"""Bytes; clients accept 4 MB, and the jobs are not all of a message."""
_TEXTS = ("type", "worker")
_NO_LISTENER = WIRE["ActivatedJob"].ListenerEventType.Value("UNSPECIFIED")
"""Its default would read as a listener's."""


async def publish_message(service: Service, request: Any, common: CommonFields) -> Answer:
    about = (request.messageId, request.businessId, common.tenant_id)
    message = NewMessage(request.name, request.correlationKey, common.variables, request.timeToLive, *about)
    published = await service.call(Calls.publish, message)
    if isinstance(published, Refusal):
        return published
    return WIRE["PublishMessageResponse"](key=published.key, tenantId=common.tenant_id)


async def broadcast_signal(service: Service, request: Any, common: CommonFields) -> Answer:
    if not request.signalName.strip():
        return Refusal("INVALID_ARGUMENT", "a signal needs a name")
    done = await service.call(Calls.broadcast_signal, request.signalName, common.variables, common.tenant_id)
    # A signal is not stored, so there is no record that could have a key.
    return done if isinstance(done, Refusal) else WIRE["BroadcastSignalResponse"](tenantId=common.tenant_id)


async def deploy_resource(service: Service, request: Any, common: CommonFields) -> Answer:
    deployed = await service.deploy([(file.name, file.content) for file in request.resources], common.tenant_id)
    if isinstance(deployed, Refusal):
        return deployed
    deployments = [{"process": _process(process, common.tenant_id)} for process in deployed.processes]
    return WIRE["DeployResourceResponse"](key=deployed.key, deployments=deployments, tenantId=common.tenant_id)


async def deploy_process(service: Service, request: Any, common: CommonFields) -> Answer:
    """For older clients."""
    deployed = await service.deploy([(file.name, file.definition) for file in request.processes], common.tenant_id)
    if isinstance(deployed, Refusal):
        return deployed
    processes = [_process(process, common.tenant_id) for process in deployed.processes]
    return WIRE["DeployProcessResponse"](key=deployed.key, processes=processes)


def _process(process: DeployedProcess, tenant_id: str) -> Any:
    return WIRE["ProcessMetadata"](
        bpmnProcessId=process.process_id,
        version=process.version,
        processDefinitionKey=process.key,
        resourceName=process.resource,
        tenantId=tenant_id,
    )


async def create_instance(service: Service, request: Any, common: CommonFields) -> Answer:
    new = _new_instance(request, common)
    created = new if isinstance(new, Refusal) else await service.call(Calls.create_instance, new)
    return created if isinstance(created, Refusal) else WIRE["CreateProcessInstanceResponse"](**_created(created))


async def create_with_result(service: Service, request: Any, common: CommonFields) -> Answer:
    new = _new_instance(request.request, common)
    if isinstance(new, Refusal):
        return new
    result = await service.create_with_result(new, request.requestTimeout, request.fetchVariables)
    if isinstance(result, Refusal):
        return result
    about = _created(result.instance)
    return WIRE["CreateProcessInstanceWithResultResponse"](**about, variables=json_text(result.variables))


def _new_instance(request: Any, common: CommonFields) -> NewInstance | Refusal:
    if not request.bpmnProcessId and not request.processDefinitionKey:
        return Refusal("INVALID_ARGUMENT", "name a process: bpmnProcessId or processDefinitionKey")
    about = (request.businessId, common.tenant_id, request.processDefinitionKey)
    return NewInstance(request.bpmnProcessId, common.variables, max(request.version, 0), *about)


def _created(created: CreatedInstance) -> dict[str, Any]:
    return {
        "processDefinitionKey": created.definition_key,
        "bpmnProcessId": created.process_id,
        "version": created.version,
        "processInstanceKey": created.key,
        "tenantId": created.tenant_id,
        "businessId": created.business_id or None,
    }


async def set_variables(service: Service, request: Any, common: CommonFields) -> Answer:
    done = await service.call(Calls.set_variables, request.elementInstanceKey, common.variables, request.local)
    return done if isinstance(done, Refusal) else WIRE["SetVariablesResponse"](key=request.elementInstanceKey)


async def topology(service: Service, request: Any, common: CommonFields) -> Answer:
    it = service.topology()
    partitions = [WIRE["Partition"](partitionId=number) for number in it.partitions]
    broker = WIRE["BrokerInfo"](host=it.host, port=it.port, partitions=partitions, version=it.version, brokerId="0")
    return WIRE["TopologyResponse"](
        brokers=[broker],
        clusterSize=1,
        partitionsCount=len(it.partitions),
        replicationFactor=1,
        gatewayVersion=it.version,
    )


async def activate_jobs(service: Service, request: Any) -> AsyncIterator[Answer]:
    problem = unusable_texts(request, _TEXTS) or unusable_tenant(request.tenantIds)
    if not request.worker.strip():
        problem = Refusal("INVALID_ARGUMENT", "a worker needs a name, and it is missing")
    jobs = problem or await service.activate_jobs(_wanted(request, request.maxJobsToActivate), request.requestTimeout)
    if isinstance(jobs, Refusal):
        yield jobs
    else:
        for some in _in_answers(map(_job, jobs)):
            yield WIRE["ActivateJobsResponse"](jobs=some)


async def stream_jobs(service: Service, request: Any) -> AsyncIterator[Answer]:
    problem = unusable_texts(request, _TEXTS) or unusable_tenant(request.tenantIds)
    jobs = problem or service.stream_jobs(_wanted(request, 1))
    if isinstance(jobs, Refusal):
        yield jobs
    else:
        async for job in jobs:
            yield _job(job)


def _wanted(request: Any, most: int) -> JobsWanted:
    tenants = tuple(request.tenantIds) or (DEFAULT_TENANT,)
    return JobsWanted(request.type, request.worker, request.timeout, most, tuple(request.fetchVariable), tenants)


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


def _command(
    name: str, call: Callable[..., Call[Any]], args: Callable[[Any, CommonFields], tuple[Any, ...]]
) -> tuple[str, Unary]:
    """One call of the engine, with an empty answer."""
    response = WIRE[f"{name}Response"]

    async def handle(service: Service, request: Any, common: CommonFields) -> Answer:
        done = await service.call(call, *args(request, common))
        return done if isinstance(done, Refusal) else response()

    return INTENTS[call], handle


_COMMANDS: dict[str, tuple[Callable[..., Call[Any]], Callable[[Any, CommonFields], tuple[Any, ...]]]] = {
    "CancelProcessInstance": (Calls.cancel_instance, lambda it, common: (it.processInstanceKey,)),
    "ResolveIncident": (Calls.resolve_incident, lambda it, common: (it.incidentKey,)),
    "CompleteJob": (Calls.complete_job, lambda it, common: (it.jobKey, common.variables)),
    "FailJob": (
        Calls.fail_job,
        lambda it, common: (it.jobKey, it.retries, it.errorMessage, it.retryBackOff, common.variables),
    ),
    "ThrowError": (
        Calls.throw_error,
        lambda it, common: (it.jobKey, it.errorCode, it.errorMessage, common.variables),
    ),
    "UpdateJobRetries": (Calls.update_retries, lambda it, common: (it.jobKey, it.retries)),
    "UpdateJobTimeout": (Calls.update_timeout, lambda it, common: (it.jobKey, it.timeout)),
}
UNARY: dict[str, tuple[str, Unary]] = {
    "PublishMessage": (INTENTS[Calls.publish], publish_message),
    "BroadcastSignal": (INTENTS[Calls.broadcast_signal], broadcast_signal),
    "DeployResource": ("CREATE", deploy_resource),
    "DeployProcess": ("CREATE", deploy_process),
    "CreateProcessInstance": (INTENTS[Calls.create_instance], create_instance),
    "CreateProcessInstanceWithResult": ("CREATE_WITH_AWAITING_RESULT", create_with_result),
    "SetVariables": (INTENTS[Calls.set_variables], set_variables),
    "Topology": ("TOPOLOGY", topology),
    **{name: _command(name, *command) for name, command in _COMMANDS.items()},
}
"""By name: what Zeebe calls the command, and who answers it."""
STREAMING: dict[str, tuple[str, Streaming]] = {
    "ActivateJobs": ("ACTIVATE", activate_jobs),
    "StreamActivatedJobs": ("ACTIVATE", stream_jobs),
}
