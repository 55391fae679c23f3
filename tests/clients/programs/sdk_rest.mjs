// @camunda8/sdk over REST, with its polling worker.
import { INVOICES, PROCESS, Story, installed } from './story.mjs'

const { Camunda8 } = installed('@camunda8/sdk')
const rest = new Camunda8().getCamundaRestClient()
const STATUSES = { 404: 'NOT_FOUND', 409: 'ALREADY_EXISTS' }

const calls = {
  partitions: async () => (await rest.getTopology()).partitionsCount,
  deploy: async (file) => {
    const [process] = (await rest.deployResourcesFromFiles([file])).processes
    return [process.processDefinitionId, process.processDefinitionVersion]
  },
  create: async (variables) =>
    (await rest.createProcessInstance({ processDefinitionId: PROCESS, variables })).processInstanceKey,
  publish: (message) => rest.publishMessage(message),
  correlate: async (message) => (await rest.correlateMessage(message)).processInstanceKey,
  jobs: (requestTimeout) =>
    rest.activateJobs({ type: INVOICES, worker: 'office', timeout: 60_000, maxJobsToActivate: 10, requestTimeout }),
  complete: ({ jobKey }, variables) => rest.completeJob({ jobKey, variables }),
  fail: ({ jobKey }, how) => rest.failJob({ jobKey, ...how }),
  setRetries: ({ jobKey }, retries) => rest.updateJob({ jobKey, retries }),
  incidents: async (processInstanceKey) => (await rest.searchIncidents({ filter: { processInstanceKey } })).items,
  resolve: (incidentKey) => rest.resolveIncident(incidentKey),
  cancel: (processInstanceKey) => rest.cancelProcessInstance({ processInstanceKey }),
  codeOf: (error) => STATUSES[error.statusCode ?? error.response?.statusCode] ?? error.statusCode,
  work(type, ship) {
    const jobHandler = (job) => {
      ship(job.variables.orderId)
      return job.complete({ parcel: job.variables.orderId })
    }
    const how = { type, worker: 'shipping', timeout: 60_000, maxJobsToActivate: 10, pollIntervalMs: 100, jobHandler }
    const worker = rest.createJobWorker(how)
    return () => worker.stop()
  },
}

await new Story(calls).tell()
