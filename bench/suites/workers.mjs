// Cost of a queue whose tasks take about a second: two workers on a real Redis, compared with two processes
// that do half of the tasks each without any coordination.
// Both read 1 GiB per task. They run in turn, because other load on the machine varies; the median of the
// ratios counts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bullmq, planJob } from '../../dist/cluster.js'
import { create } from '../../dist/index.js'
import { internals } from '../internals.mjs'
import { climate, MiB, median, report, sized } from '../measure.mjs'

const { haveQueue, QueueServer } = await internals('../test/support/queue-server')
if (!haveQueue('redis')) {
  console.log('skipped: no redis-server (apt-get install redis-server)')
  process.exit(0)
}

const TASKS = sized(16, 2)
const ROUNDS = sized(5, 1)
/** Units of a task: as many as are merged at once. */
const UNITS = 16
const ROWS = sized(64, 2)
const cluster = new URL('../../dist/cluster.js', import.meta.url).href

const PROGRAM = `
import { openJob, work } from '${cluster}'
const [role, argument] = process.argv.slice(1)
const lines = process.stdin.setEncoding('utf8')[Symbol.asyncIterator]()
if (role === 'worker') work({ url: argument })
console.log('ready')
for await (const line of lines) {
  const job = await openJob(JSON.parse(line))
  const half = job.plan.tasks.count / 2
  for (let i = 0; i < half; i++) await job.runTask(Number(argument) * half + i)
  await job.close()
  console.log('done')
}
`

async function start(...args) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

async function stop(children) {
  for (const child of children) {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
}

const seconds = async (work) => {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

const folder = mkdtempSync(join(tmpdir(), 'hyperslab-workers-'))
const server = await QueueServer.start('redis')
const children = []
try {
  const one = { location: join(folder, 'x.af'), array: 'x' }
  const file = await create(one.location, { codec: 'lz4' })
  const shape = [ROWS, 512, 512]
  await file.createArray('x', { dtype: 'float32', shape, chunks: [1, 512, 512] }).set(null, climate(ROWS * 512 * 512, 1))
  await file.flush()
  await file.close()
  // One file under several names, so that units that are read at the same time share no block.
  const parts = Array.from({ length: UNITS }, (_, i) => ({ ...one, location: join(folder, `x-${i}.af`) }))
  for (const { location } of parts) linkSync(one.location, location)
  const source = { concat: Array.from({ length: TASKS * UNITS }, (_, i) => parts[i % UNITS]) }
  // Another folder makes it another job, without earlier results.
  const planOf = (round) =>
    planJob(
      { method: 'variance', source },
      { unitBytes: ROWS * MiB, taskBytes: UNITS * ROWS * MiB, scratch: join(folder, `scratch-${round}`) },
    )
  const halves = await Promise.all([0, 1].map((half) => start('alone', half)))
  const workers = await Promise.all([0, 1].map(() => start('worker', server.url)))
  children.push(...halves, ...workers)
  const queue = bullmq({ url: server.url })
  const byQueue = (plan) => queue.run(plan)
  const byHalves = (plan) =>
    Promise.all(
      halves.map(async (child) => {
        child.stdin.write(`${JSON.stringify(plan)}\n`)
        await once(child.stdout, 'data')
      }),
    )
  const ratios = []
  const taken = []
  for (let round = 0; round <= ROUNDS; round++) {
    const plan = await planOf(round)
    const times = []
    for (const work of round % 2 === 0 ? [byQueue, byHalves] : [byHalves, byQueue])
      times.push([work, await seconds(() => work(plan))])
    const [queued, alone] = [byQueue, byHalves].map((work) => times.find(([each]) => each === work)[1])
    // The first round compiles the code.
    if (round === 0 && ROUNDS > 1) continue
    ratios.push(alone / queued)
    taken.push(alone)
  }
  const ratio = median(ratios)
  console.log(
    `${TASKS} tasks of ${((2 * median(taken)) / TASKS).toFixed(2)} s; two workers have ${ratios.map((each) => each.toFixed(2)).join(', ')} of the speed of two processes`,
  )
  const name = `${TASKS} tasks of ${UNITS * ROWS} MiB by two workers of a queue`
  report({ suite: 'workers', name, peer: 'two processes that do half each', ratio, goal: '>= 0.95', met: ratio >= 0.95 })
} finally {
  await stop(children)
  await server.stop()
  rmSync(folder, { recursive: true })
}
