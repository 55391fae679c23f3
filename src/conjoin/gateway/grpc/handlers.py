"""Calls about messages, deployments and instances: a message of the wire in, one out, a few lines each."""

from typing import Any

from conjoin.gateway.grpc.reading import CommonFields
from conjoin.gateway.grpc.wire import WIRE
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import CreatedInstance, DeployedProcess, Refusal
from conjoin.runtime.client_api.calls import Calls, NewInstance
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text

Answer = Any
"""A message of the wire, or a refusal."""


async def publish_message(service: Service, asked: Any, said: CommonFields) -> Answer:
    about = (asked.messageId, asked.businessId, said.tenant_id)
    message = NewMessage(asked.name, asked.correlationKey, said.variables, asked.timeToLive, *about)
    published = await service.call(Calls.publish, message)
    if isinstance(published, Refusal):
        return published
    return WIRE["PublishMessageResponse"](key=published.key, tenantId=said.tenant_id)


async def broadcast_signal(service: Service, asked: Any, said: CommonFields) -> Answer:
    if not asked.signalName.strip():
        return Refusal("INVALID_ARGUMENT", "a signal needs a name")
    done = await service.call(Calls.broadcast_signal, asked.signalName, said.variables, said.tenant_id)
    # A signal is nothing that is kept, so there is no record that could have a key.
    return done if isinstance(done, Refusal) else WIRE["BroadcastSignalResponse"](tenantId=said.tenant_id)


async def deploy_resource(service: Service, asked: Any, said: CommonFields) -> Answer:
    deployed = await service.deploy([(file.name, file.content) for file in asked.resources], said.tenant_id)
    if isinstance(deployed, Refusal):
        return deployed
    deployments = [{"process": _process(process, said.tenant_id)} for process in deployed.processes]
    return WIRE["DeployResourceResponse"](key=deployed.key, deployments=deployments, tenantId=said.tenant_id)


async def deploy_process(service: Service, asked: Any, said: CommonFields) -> Answer:
    """What older clients call."""
    deployed = await service.deploy([(file.name, file.definition) for file in asked.processes], said.tenant_id)
    if isinstance(deployed, Refusal):
        return deployed
    processes = [_process(process, said.tenant_id) for process in deployed.processes]
    return WIRE["DeployProcessResponse"](key=deployed.key, processes=processes)


def _process(process: DeployedProcess, tenant_id: str) -> Any:
    return WIRE["ProcessMetadata"](
        bpmnProcessId=process.process_id,
        version=process.version,
        processDefinitionKey=process.key,
        resourceName=process.resource,
        tenantId=tenant_id,
    )


async def create_instance(service: Service, asked: Any, said: CommonFields) -> Answer:
    new = _new_instance(asked, said)
    created = new if isinstance(new, Refusal) else await service.call(Calls.create_instance, new)
    if isinstance(created, Refusal):
        return created
    return WIRE["CreateProcessInstanceResponse"](**_created(created))


async def create_with_result(service: Service, asked: Any, said: CommonFields) -> Answer:
    new = _new_instance(asked.request, said)
    if isinstance(new, Refusal):
        return new
    result = await service.create_with_result(new, asked.requestTimeout, asked.fetchVariables)
    if isinstance(result, Refusal):
        return result
    about = _created(result.instance)
    return WIRE["CreateProcessInstanceWithResultResponse"](**about, variables=json_text(result.variables))


def _new_instance(asked: Any, said: CommonFields) -> NewInstance | Refusal:
    if not asked.bpmnProcessId and not asked.processDefinitionKey:
        return Refusal("INVALID_ARGUMENT", "name a process: bpmnProcessId or processDefinitionKey")
    about = (asked.businessId, said.tenant_id, asked.processDefinitionKey)
    return NewInstance(asked.bpmnProcessId, said.variables, max(asked.version, 0), *about)


def _created(created: CreatedInstance) -> dict[str, Any]:
    return {
        "processDefinitionKey": created.definition_key,
        "bpmnProcessId": created.process_id,
        "version": created.version,
        "processInstanceKey": created.key,
        "tenantId": created.tenant_id,
        "businessId": created.business_id or None,
    }


async def cancel_instance(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.cancel_instance, asked.processInstanceKey)
    return done if isinstance(done, Refusal) else WIRE["CancelProcessInstanceResponse"]()


async def set_variables(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.set_variables, asked.elementInstanceKey, said.variables, asked.local)
    return done if isinstance(done, Refusal) else WIRE["SetVariablesResponse"](key=asked.elementInstanceKey)


async def resolve_incident(service: Service, asked: Any, said: CommonFields) -> Answer:
    done = await service.call(Calls.resolve_incident, asked.incidentKey)
    return done if isinstance(done, Refusal) else WIRE["ResolveIncidentResponse"]()


async def topology(service: Service, asked: Any, said: CommonFields) -> Answer:
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
