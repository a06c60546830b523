// Cost of a queue: empty tasks, by two worker processes on a real Redis, compared with a flat BullMQ queue of
// the same number of jobs.
// Prints tasks per second, the peak memory of the process that adds them and waits (at most 150 MB), and the
// bytes in Redis per task.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, internals } from '../internals.mjs'
import { MiB, report, sized } from '../measure.mjs'

const TASKS = Number(process.env.TASKS ?? sized(100_000, 1_000))
const WORKERS = 2
const CONCURRENCY = 16
const ADDER_BYTES = 150e6

const path = fileURLToPath(new URL('../../build/queue-bench.mjs', import.meta.url))
const { haveQueue, QueueServer } = await internals('../test/support/queue-server')
if (!haveQueue('redis')) {
  console.log('skipped: no redis-server (apt-get install redis-server)')
  process.exit(0)
}

const PROGRAM = `
import { Engine, runTree, workOn } from '${pathToFileURL(path)}'
import { Queue, Worker } from 'bullmq'
const [role, url, tasks] = process.argv.slice(1)
const counts = [Number(tasks)]
while (counts.at(-1) > 1) counts.push(Math.ceil(counts.at(-1) / 256))
const tree = { id: 'noop', counts, fanIn: 256 }
const plans = { open: async () => ({ ...tree, runNode: async () => 0 }), describe: () => ({ text: 'nothing' }) }
const connection = { url, maxRetriesPerRequest: null }
const removed = { removeOnComplete: true, attempts: 10 }
const roles = {
  async adder() {
    const engine = await Engine.open({ url })
    await runTree(engine, tree, {})
    await engine.close()
  },
  worker: () => workOn(plans, { url, concurrency: ${CONCURRENCY} }),
  async flatAdder() {
    const queue = new Queue('flat', { connection })
    for (let from = 0; from < counts[0]; from += 1000) {
      const length = Math.min(1000, counts[0] - from)
      await queue.addBulk(Array.from({ length }, (_, i) => ({ name: 'task', data: { run: 'noop', index: from + i }, opts: removed })))
    }
    while (Object.values(await queue.getJobCounts('wait', 'active')).some((count) => count > 0)) await new Promise((r) => setTimeout(r, 50))
    await queue.close()
  },
  flatWorker: () => new Worker('flat', async () => 0, { connection, concurrency: ${CONCURRENCY} }).waitUntilReady().then(() => new Promise(() => {})),
}
await roles[role]()
console.log(process.resourceUsage().maxRSS * 1024)
`

const start = (...args) =>
  spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, ...args.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] })

/** Returns the seconds and the adder's peak memory, with the peak memory of Redis meanwhile. */
async function run(server, role, worker) {
  const workers = Array.from({ length: WORKERS }, () => start(worker, server.url, TASKS))
  const memory = () => Number(/used_memory:(\d+)/.exec(redis(server, 'info', 'memory'))[1])
  const base = memory()
  let peak = base
  const watch = setInterval(() => {
    peak = Math.max(peak, memory())
  }, 250)
  const started = performance.now()
  const adder = start(role, server.url, TASKS)
  let printed = ''
  adder.stdout.on('data', (text) => {
    printed += text
  })
  const [code] = await once(adder, 'close')
  const seconds = (performance.now() - started) / 1000
  clearInterval(watch)
  for (const each of workers) {
    const gone = once(each, 'exit')
    each.kill('SIGKILL')
    await gone
  }
  if (code !== 0) throw new Error(`${role} ended with ${code}`)
  return { seconds, adder: Number(printed), redis: peak - base }
}

const redis = ({ url }, ...args) => spawnSync('redis-cli', ['-u', url, ...args], { encoding: 'utf8' }).stdout

await bundle(path, ['cluster/bullmq/engine', 'cluster/bullmq/runs', 'cluster/bullmq/worker'])
const server = await QueueServer.start('redis')
try {
  const flat = await run(server, 'flatAdder', 'flatWorker')
  const ours = await run(server, 'adder', 'worker')
  for (const [name, { seconds, adder, redis: bytes }] of Object.entries({ 'a flat queue': flat, 'a tree of tasks': ours }))
    console.log(
      `${name}: ${TASKS} tasks by ${WORKERS} processes in ${seconds.toFixed(1)} s, ${Math.round(TASKS / seconds)} a second; ` +
        `adder ${(adder / 1e6).toFixed(0)} MB; Redis at most ${(bytes / MiB).toFixed(1)} MiB, ${Math.round(bytes / TASKS)} bytes a task`,
    )
  const ratio = ours.seconds / flat.seconds
  report({ name: `${TASKS} tasks that do nothing`, peer: 'a flat queue of BullMQ', ratio, goal: '<= 2.5', met: ratio <= 2.5 })
  const memory = ours.adder / ADDER_BYTES
  report({ name: 'peak memory of the adder', peer: '150 MB', ratio: memory, goal: '<= 1', met: memory <= 1, speed: false })
} finally {
  await server.stop()
  rmSync(path, { force: true })
}
