// @camunda8/sdk over gRPC, with its polling worker; incidents are found over REST, as gRPC has no searches.
import { INVOICES, PROCESS, Story, installed } from './story.mjs'

const { Camunda8 } = installed('@camunda8/sdk')
const c8 = new Camunda8()
const zeebe = c8.getZeebeGrpcApiClient()
const rest = c8.getCamundaRestClient()
const STATUSES = { 5: 'NOT_FOUND', 6: 'ALREADY_EXISTS' }

const calls = {
  partitions: async () => (await zeebe.topology()).partitionsCount,
  deploy: async (processFilename) => {
    const { process } = (await zeebe.deployResource({ processFilename })).deployments[0]
    return [process.bpmnProcessId, process.version]
  },
  create: async (variables) =>
    (await zeebe.createProcessInstance({ bpmnProcessId: PROCESS, variables })).processInstanceKey,
  publish: (message) => zeebe.publishMessage(message),
  jobs: (requestTimeout) =>
    zeebe.activateJobs({ type: INVOICES, worker: 'office', timeout: 60_000, maxJobsToActivate: 10, requestTimeout }),
  complete: (job, variables) => zeebe.completeJob({ jobKey: job.key, variables }),
  fail: (job, how) => zeebe.failJob({ jobKey: job.key, retryBackOff: 0, ...how }),
  setRetries: (job, retries) => zeebe.updateJobRetries({ jobKey: job.key, retries }),
  incidents: async (processInstanceKey) => (await rest.searchIncidents({ filter: { processInstanceKey } })).items,
  resolve: (incidentKey) => zeebe.resolveIncident({ incidentKey }),
  cancel: (instance) => zeebe.cancelProcessInstance(instance),
  codeOf: (error) => STATUSES[error.code] ?? error.code,
  work(taskType, ship) {
    const taskHandler = (job) => {
      ship(job.variables.orderId)
      return job.complete({ parcel: job.variables.orderId })
    }
    zeebe.createWorker({ taskType, taskHandler, timeout: 60_000 })
    return () => zeebe.close()
  },
}

await new Story(calls).tell()
