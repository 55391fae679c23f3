"""pyzeebe over gRPC: its client and its streaming worker; what they lack is called on the stub that comes with it."""

import asyncio
import os
from collections import namedtuple

from pyzeebe import ZeebeClient, ZeebeWorker, create_insecure_channel
from pyzeebe.errors import MessageAlreadyExistsError, ProcessInstanceNotFoundError
from pyzeebe.proto.gateway_pb2 import ResolveIncidentRequest, UpdateJobRetriesRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub
from story import INVOICES, PROCESS, RefusedError, Story, incident_by_rest

Job = namedtuple("Job", "key instance variables headers retries")


class Calls:
    def __init__(self):
        self.channel = create_insecure_channel(grpc_address=os.environ["GRPC_ADDRESS"])
        self.client = ZeebeClient(self.channel)
        self.jobs_of = self.client.zeebe_adapter

    async def partitions(self):
        assert (await self.client.healthcheck()).status == 1
        return (await self.client.topology()).partitions_count

    async def deploy(self, path):
        deployed = (await self.client.deploy_resource(path)).deployments[0]
        return deployed.bpmn_process_id, deployed.version

    async def create(self, variables):
        return (await self.client.run_process(PROCESS, variables)).process_instance_key

    async def publish(self, name, key, variables, ttl_ms, message_id):
        about = {"time_to_live_in_milliseconds": ttl_ms, "message_id": message_id}
        try:
            await self.client.publish_message(name, key, variables, **about)
        except MessageAlreadyExistsError:
            raise RefusedError("ALREADY_EXISTS") from None

    async def jobs(self, wait_ms):
        found = self.jobs_of.activate_jobs(INVOICES, "office", 60_000, 10, [], wait_ms)
        return [
            Job(job.key, job.process_instance_key, job.variables, job.custom_headers, job.retries)
            async for job in found
        ]

    async def complete(self, job, variables):
        await self.jobs_of.complete_job(job.key, variables)

    async def fail(self, job, retries, message):
        await self.jobs_of.fail_job(job.key, retries, message, 0, {})

    async def set_retries(self, job, retries):
        await GatewayStub(self.channel).UpdateJobRetries(UpdateJobRetriesRequest(jobKey=job.key, retries=retries))

    async def incident(self, instance):
        return incident_by_rest(instance)

    async def resolve(self, incident):
        await GatewayStub(self.channel).ResolveIncident(ResolveIncidentRequest(incidentKey=incident))

    async def cancel(self, instance):
        try:
            await self.client.cancel_process_instance(instance)
        except ProcessInstanceNotFoundError:
            raise RefusedError("NOT_FOUND") from None

    async def work(self, type_, ship):
        worker = ZeebeWorker(self.channel, name="shipping", stream_enabled=True)

        @worker.task(task_type=type_)
        async def handle(orderId):  # noqa: N803 - a variable of the process
            ship(orderId)
            return {"parcel": orderId}

        working = asyncio.create_task(worker.work())

        async def stop():
            await worker.stop()
            await working
            await self.channel.close()

        return stop


async def main():
    await Story(Calls()).tell()


asyncio.run(main())
