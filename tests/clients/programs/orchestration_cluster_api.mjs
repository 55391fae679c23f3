// @camunda8/orchestration-cluster-api: REST, where the official schemas check what we answer, and its job worker.
import { INVOICES, PROCESS, Story, installed } from './story.mjs'

const { createCamundaClient } = installed('@camunda8/orchestration-cluster-api')
const client = createCamundaClient()
const STATUSES = { 404: 'NOT_FOUND', 409: 'ALREADY_EXISTS' }
const NOW = { consistency: { waitUpToMs: 0 } }

const calls = {
  partitions: async () => (await client.getTopology()).partitionsCount,
  deploy: async (file) => {
    const [process] = (await client.deployResourcesFromFiles([file])).processes
    return [process.processDefinitionId, process.processDefinitionVersion]
  },
  create: async (variables) =>
    (await client.createProcessInstance({ processDefinitionId: PROCESS, variables })).processInstanceKey,
  publish: (message) => client.publishMessage(message),
  correlate: async (message) => (await client.correlateMessage(message)).processInstanceKey,
  jobs: async (requestTimeout) => {
    const wanted = { type: INVOICES, worker: 'office', timeout: 60_000, maxJobsToActivate: 10, requestTimeout }
    return (await client.activateJobs(wanted)).jobs
  },
  complete: ({ jobKey }, variables) => client.completeJob({ jobKey, variables }),
  fail: ({ jobKey }, how) => client.failJob({ jobKey, ...how }),
  setRetries: ({ jobKey }, retries) => client.updateJob({ jobKey, changeset: { retries } }),
  incidents: async (processInstanceKey) =>
    (await client.searchProcessInstanceIncidents({ processInstanceKey }, NOW)).items,
  resolve: (incidentKey) => client.resolveIncident({ incidentKey }),
  cancel: (processInstanceKey) => client.cancelProcessInstance({ processInstanceKey }),
  codeOf: (error) => STATUSES[error.status] ?? error.status,
  work(jobType, ship) {
    const jobHandler = (job) => {
      ship(job.variables.orderId)
      return job.complete({ parcel: job.variables.orderId })
    }
    // A graceful stop waits for the end of the last poll.
    const polls = { pollIntervalMs: 100, pollTimeoutMs: 1_000 }
    const how = { jobType, workerName: 'shipping', jobTimeoutMs: 60_000, maxParallelJobs: 10, ...polls, jobHandler }
    const worker = client.createJobWorker(how)
    return () => worker.stopGracefully({ waitUpToMs: 10_000 })
  },
}

await new Story(calls).tell()
// Timers of its last requests would keep it here for ten seconds more.
process.exit()
