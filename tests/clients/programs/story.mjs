// The order-to-cash story, told once for the clients in JavaScript: each brings its own calls.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'

export const { CLIENT, MODEL } = process.env
export const installed = createRequire(`${process.env.CLIENTS}/npm/`)
export const INVOICES = `send-invoice-${CLIENT}`
export const PROCESS = `order-to-cash-${CLIENT}`
const MONEY = `money-collected-${CLIENT}`
const ORDERED = `order-placed-${CLIENT}`
const HOUR = 3_600_000
const NO_WAIT = -1

export class Story {
  constructor(calls) {
    this.calls = calls
    this.shipped = new Set()
  }

  async isShipped(order) {
    for (let round = 0; round < 200 && !this.shipped.has(order); round++) await pause(100)
    assert(this.shipped.has(order), `${order} is not shipped`)
  }

  pay(order, timeToLive = 0, messageId = undefined) {
    return this.calls.publish({ name: MONEY, correlationKey: order, timeToLive, messageId, variables: { amount: 40 } })
  }

  async job(order) {
    const jobs = await this.calls.jobs(10_000)
    assert.deepEqual(jobs.map((job) => job.variables.orderId), [order])
    return jobs[0]
  }

  async invoice(order) {
    const job = await this.job(order)
    assert.deepEqual([{ ...job.customHeaders }, job.retries], [{ layout: 'A4' }, 1])
    await this.calls.complete(job, { invoice: `invoice of ${order}` })
  }

  async paidLateAndEarly() {
    const late = await this.calls.create({ orderId: 'late' })
    await this.invoice('late')
    await this.pay('late')
    await this.isShipped('late')
    await this.pay('early', HOUR)
    const early = await this.calls.create({ orderId: 'early' })
    await this.invoice('early')
    await this.isShipped('early')
    return { late, early }
  }

  async oneIdIsOneMessage() {
    await this.pay('twice', HOUR, 't-1')
    await this.refused('ALREADY_EXISTS', this.pay('twice', HOUR, 't-1'))
  }

  async whatExpiresIsGone() {
    await this.pay('expired', 100, 'e-1')
    while (!(await this.idIsFree('expired', 'e-1'))) await pause(100)
    const expired = await this.calls.create({ orderId: 'expired' })
    await this.correlatesNothing('expired')
    await this.invoice('expired')
    assert(!this.shipped.has('expired'))
    await this.correlates('expired', expired)
    await this.isShipped('expired')
    return { expired }
  }

  async idIsFree(order, messageId) {
    try {
      await this.pay(order, 0, messageId)
      return true
    } catch (error) {
      assert.equal(this.calls.codeOf(error), 'ALREADY_EXISTS', error)
      return false
    }
  }

  // Over gRPC there is no correlation: the money is published there.
  async correlates(order, instance) {
    if (!this.calls.correlate) return this.pay(order)
    const message = { name: MONEY, correlationKey: order, variables: { amount: 40 } }
    assert.equal(await this.calls.correlate(message), instance)
  }

  async correlatesNothing(order) {
    if (!this.calls.correlate) return
    const message = { name: MONEY, correlationKey: order, variables: {} }
    await this.refused('NOT_FOUND', this.calls.correlate(message))
  }

  async oneOrderAtATime() {
    const order = { name: ORDERED, correlationKey: 'locked', timeToLive: HOUR, variables: { orderId: 'locked' } }
    await this.calls.publish(order)
    await this.calls.publish(order)
    const first = (await this.job('locked')).processInstanceKey
    assert.deepEqual(await this.calls.jobs(NO_WAIT), [])
    await this.calls.cancel(first)
    const second = (await this.job('locked')).processInstanceKey
    await this.calls.cancel(second)
    await this.refused('NOT_FOUND', this.calls.cancel(second))
    return { first, second }
  }

  async incidentIsResolved() {
    const stuck = await this.calls.create({ orderId: 'stuck' })
    const job = await this.job('stuck')
    await this.calls.fail(job, { retries: 0, errorMessage: 'no paper' })
    assert.deepEqual(await this.calls.jobs(NO_WAIT), [])
    const incidents = await this.calls.incidents(stuck)
    assert.deepEqual(incidents.map((it) => [it.errorMessage, it.elementId]), [['no paper', 'invoice']])
    await this.calls.setRetries(job, 1)
    await this.calls.resolve(incidents[0].incidentKey)
    await this.invoice('stuck')
    await this.pay('stuck')
    await this.isShipped('stuck')
    return { stuck }
  }

  async refused(code, call) {
    await assert.rejects(call, (error) => {
      assert.equal(this.calls.codeOf(error), code, error)
      return true
    })
  }

  async tell() {
    assert((await this.calls.partitions()) > 1)
    assert.deepEqual(await this.calls.deploy(MODEL), [PROCESS, 1])
    const stop = this.calls.work(`ship-parcel-${CLIENT}`, (order) => this.shipped.add(order))
    const instances = await this.paidLateAndEarly()
    await this.oneIdIsOneMessage()
    Object.assign(instances, await this.whatExpiresIsGone(), await this.oneOrderAtATime())
    Object.assign(instances, await this.incidentIsResolved())
    await stop()
    console.log(JSON.stringify(instances))
  }
}
