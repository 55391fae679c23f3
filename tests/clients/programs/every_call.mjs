// Every call of /v2 that we describe, through @camunda8/orchestration-cluster-api with strict validation: the official
// schemas check what is asked and what is answered. What is told last is compared with our own document.
import assert from 'node:assert/strict'
import { MODEL, installed } from './story.mjs'

const { createCamundaClient } = installed('@camunda8/orchestration-cluster-api')
const made = createCamundaClient()
const called = new Set()
const client = new Proxy(made, {
  get(target, name) {
    const found = target[name]
    if (typeof found !== 'function') return found
    return (...given) => {
      called.add(name)
      return found.apply(target, given)
    }
  },
})
const NOW = { consistency: { waitUpToMs: 0 } }
const ORDER = { orderId: 'every' }

const jobOf = async (type) => {
  const wanted = { type, timeout: 60_000, maxJobsToActivate: 1, requestTimeout: 10_000 }
  const { jobs } = await client.activateJobs(wanted)
  assert.equal(jobs.length, 1, type)
  return jobs[0]
}
const found = async (search, filter, more = {}) => {
  const { items, page } = await client[search]({ filter, ...more }, NOW)
  assert.equal(page.totalItems >= items.length, true)
  return items
}
const one = async (search, filter) => {
  const items = await found(search, filter)
  assert.equal(items.length, 1, `${search} ${JSON.stringify(filter)}`)
  return items[0]
}

async function cluster() {
  assert.equal((await client.getTopology()).brokers.length, 1)
  await client.getStatus()
  assert.equal((await client.getLicense()).validLicense, true)
}

async function definitions() {
  const { readFile } = await import('node:fs/promises')
  const file = new File([await readFile(MODEL)], 'every_call.bpmn')
  const { deployments } = await client.createDeployment({ resources: [file] })
  assert.deepEqual(deployments.map((it) => it.processDefinition.processDefinitionVersion), [1, 1])
  const { processDefinitionKey } = await one('searchProcessDefinitions', { processDefinitionId: 'every-call' })
  assert.equal((await client.getProcessDefinition({ processDefinitionKey }, NOW)).name, 'Every call')
  assert.match(await client.getProcessDefinitionXml({ processDefinitionKey }, NOW), /every-call-bell/)
  return processDefinitionKey
}

async function instances(processDefinitionKey) {
  const { processInstanceKey } = await client.createProcessInstance({ processDefinitionKey, variables: ORDER })
  const sort = [{ field: 'startDate', order: 'DESC' }]
  const [root] = await found('searchProcessInstances', { processInstanceKey }, { sort, page: { limit: 1 } })
  assert.deepEqual([root.state, root.parentProcessInstanceKey], ['ACTIVE', null])
  const child = await one('searchProcessInstances', { parentProcessInstanceKey: processInstanceKey })
  assert.equal(child.processDefinitionId, 'every-part')
  assert.equal((await client.getProcessInstance({ processInstanceKey }, NOW)).hasIncident, false)
  return processInstanceKey
}

async function elements(processInstanceKey) {
  const { elementInstanceKey } = await one('searchElementInstances', { processInstanceKey, elementId: 'pack' })
  assert.equal((await client.getElementInstance({ elementInstanceKey }, NOW)).type, 'SERVICE_TASK')
  await client.createElementInstanceVariables({ elementInstanceKey, variables: { size: 7 }, local: true })
  const { variableKey, scopeKey } = await one('searchVariables', { processInstanceKey, name: 'size' })
  assert.equal(scopeKey, elementInstanceKey)
  assert.equal((await client.getVariable({ variableKey }, NOW)).value, '7')
  return elementInstanceKey
}

async function incidents(processInstanceKey, elementInstanceKey) {
  const { jobKey } = await jobOf('every-call-pack')
  await client.failJob({ jobKey, retries: 0, errorMessage: 'no box', variables: { tried: true } })
  assert.equal((await one('searchJobs', { jobKey })).hasFailedWithRetriesLeft, false)
  const { incidentKey } = await one('searchIncidents', { processInstanceKey, errorMessage: { $like: 'no*' } })
  const some = await client.searchElementInstanceIncidents({ elementInstanceKey }, NOW)
  const same = await client.searchProcessInstanceIncidents({ processInstanceKey }, NOW)
  assert.deepEqual([...some.items, ...same.items].map((it) => it.incidentKey), [incidentKey, incidentKey])
  assert.equal((await client.getIncident({ incidentKey }, NOW)).errorType, 'JOB_NO_RETRIES')
  assert.equal((await client.getProcessInstance({ processInstanceKey }, NOW)).hasIncident, true)
  await client.updateJob({ jobKey, changeset: { retries: 1 } })
  await client.resolveIncident({ incidentKey })
  await client.throwJobError({ ...(await jobOf('every-call-pack')), errorCode: 'torn', errorMessage: 'in two' })
}

async function tasks(processInstanceKey) {
  const { userTaskKey } = await one('searchUserTasks', { processInstanceKey, candidateGroup: 'office' })
  await client.assignUserTask({ userTaskKey, assignee: 'ada' })
  assert.equal((await client.getUserTask({ userTaskKey }, NOW)).assignee, 'ada')
  await client.unassignUserTask({ userTaskKey })
  await client.completeUserTask({ userTaskKey, variables: { decided: true } })
  assert.deepEqual(await found('searchUserTasks', { userTaskKey }), [])
}

async function messages(processInstanceKey) {
  const waiting = await one('searchMessageSubscriptions', { processInstanceKey, messageName: 'every-call-paid' })
  assert.deepEqual([waiting.messageSubscriptionState, waiting.correlationKey], ['CREATED', 'every'])
  assert.equal((await found('searchMessageSubscriptions', { messageSubscriptionType: 'START_EVENT' })).length > 0, true)
  const paid = { name: 'every-call-paid', correlationKey: 'every', variables: { amount: 1 } }
  assert.equal((await client.correlateMessage(paid)).processInstanceKey, processInstanceKey)
  const { messageKey } = await client.publishMessage({ name: 'every-call-part', correlationKey: 'p', timeToLive: 1000 })
  const started = await one('searchCorrelatedMessageSubscriptions', { messageKey })
  assert.equal((await one('searchCorrelatedMessageSubscriptions', { processInstanceKey })).elementId, 'paid')
  assert.equal(started.elementInstanceKey, null)
  await client.cancelProcessInstance({ processInstanceKey: started.processInstanceKey })
  const cancelled = await one('searchProcessInstances', { processInstanceKey: started.processInstanceKey })
  assert.equal(cancelled.state, 'TERMINATED')
}

async function ending(processInstanceKey) {
  await client.broadcastSignal({ signalName: 'every-call-bell', variables: { rung: 1 } })
  const { jobKey } = await jobOf('every-call-make')
  await client.updateJob({ jobKey, changeset: { retries: 2, timeout: 90_000 } })
  await client.completeJob({ jobKey, variables: { made: true } })
  assert.equal((await found('searchVariables', { processInstanceKey, name: { $in: ['made', 'rung'] } })).length, 2)
  await client.cancelProcessInstance({ processInstanceKey })
}

// With strict requests this client drops cursors: the first of its schemas that fits a page knows only a limit.
async function paging() {
  const reader = createCamundaClient({ config: { CAMUNDA_SDK_VALIDATION: 'req:none,res:strict' } })
  const sort = [{ field: 'processInstanceKey', order: 'ASC' }]
  const first = await reader.searchProcessInstances({ sort, page: { limit: 2 } }, NOW)
  const next = await reader.searchProcessInstances({ sort, page: { limit: 2, after: first.page.endCursor } }, NOW)
  const keys = [...first.items, ...next.items].map((it) => it.processInstanceKey)
  assert.equal(new Set(keys).size, keys.length)
  assert.equal(keys.length > 2, true)
}

assert.deepEqual(client.getConfig().validation, { req: 'strict', res: 'strict', raw: 'req:strict,res:strict' })
await cluster()
const root = await instances(await definitions())
await incidents(root, await elements(root))
await tasks(root)
await messages(root)
await ending(root)
await paging()
console.log(JSON.stringify([...called]))
