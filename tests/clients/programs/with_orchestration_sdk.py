"""camunda-orchestration-sdk: REST throughout, and its job worker. It refuses answers that lack a property."""

import asyncio
from collections import namedtuple

from camunda_orchestration_sdk import CamundaAsyncClient, ProcessDefinitionId, WorkerConfig, errors, models
from story import INVOICES, PROCESS, RefusedError, Story

Job = namedtuple("Job", "key instance variables headers retries")
SEARCHES = (
    *("process_definitions", "process_instances", "element_instances", "variables", "jobs", "incidents"),
    *("message_subscriptions", "correlated_message_subscriptions"),
)
CODES = {404: "NOT_FOUND", 409: "ALREADY_EXISTS"}


class Calls:
    def __init__(self, client):
        self.client = client

    async def partitions(self):
        return (await self.client.get_topology()).partitions_count

    async def deploy(self, path):
        deployed = (await self.client.deploy_resources_from_files([path])).processes[0]
        return deployed.process_definition_id, deployed.process_definition_version

    async def create(self, variables):
        given = models.ProcessInstanceCreationInstructionBaseVariables.from_dict(variables)
        new = models.ProcessCreationById(ProcessDefinitionId(PROCESS), variables=given)
        return (await self.client.create_process_instance(data=new)).process_instance_key

    async def publish(self, name, key, variables, ttl_ms, message_id):
        given = models.MessagePublicationRequestVariables.from_dict(variables)
        about = {"message_id": message_id} if message_id else {}
        message = models.MessagePublicationRequest(name, key, ttl_ms, variables=given, **about)
        await answered(self.client.publish_message(data=message))

    async def correlate(self, name, key, variables):
        given = models.MessageCorrelationRequestVariables.from_dict(variables)
        message = models.MessageCorrelationRequest(name, key, given)
        return (await answered(self.client.correlate_message(data=message))).process_instance_key

    async def jobs(self, wait_ms):
        wanted = models.JobActivationRequest(INVOICES, 60_000, 10, worker="office", request_timeout=wait_ms)
        return [
            Job(
                *(job.job_key, job.process_instance_key, job.variables.to_dict()),
                *(job.custom_headers.to_dict(), job.retries),
            )
            for job in (await self.client.activate_jobs(data=wanted)).jobs
        ]

    async def complete(self, job, variables):
        given = models.JobCompletionRequestVariables.from_dict(variables)
        await self.client.complete_job(job.key, data=models.JobCompletionRequest(given))

    async def fail(self, job, retries, message):
        await self.client.fail_job(job.key, data=models.JobFailRequest(retries, message))

    async def set_retries(self, job, retries):
        await self.client.update_job(job.key, data=models.JobUpdateRequest(models.JobChangeset(retries)))

    async def incident(self, instance):
        for name in SEARCHES:
            assert (await getattr(self.client, f"search_{name}")()).items, name
        (incident,) = (await self.client.search_process_instance_incidents(instance)).items
        assert (incident.error_message, incident.element_id) == ("no paper", "invoice"), incident
        return incident.incident_key

    async def resolve(self, incident):
        await self.client.resolve_incident(incident)

    async def cancel(self, instance):
        # Left out, `data` cannot be sent: a mistake of this version.
        await answered(self.client.cancel_process_instance(instance, data=None))

    async def work(self, type_, ship):
        async def handle(job):
            order = job.variables.to_dict()["orderId"]
            ship(order)
            return {"parcel": order}

        worker = self.client.create_job_worker(WorkerConfig(type_, 60_000, worker_name="shipping"), handle)

        async def stop():
            while worker.active_jobs:
                await asyncio.sleep(0.1)
            await worker.aclose()

        return stop


async def answered(call):
    try:
        return await call
    except errors.ApiError as error:
        raise RefusedError(CODES.get(error.status_code, error.status_code)) from error


async def main():
    async with CamundaAsyncClient() as client:
        await Story(Calls(client)).tell()


asyncio.run(main())
