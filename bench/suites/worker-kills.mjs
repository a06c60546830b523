// Kills workers of a queue while they work on jobs: three of them at random moments, or one at a certain
// request to S3, so that over all runs every request gets its turn.
// Every job must yield the same bits as in this process alone, and leave nothing behind. Counts what was
// killed; HYPERSLAB_RUNS_KILLED sets the number of runs.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import { bullmq, local, openJobQueue, planJob } from '../../dist/cluster.js'
import { create } from '../../dist/index.js'
import { internals } from '../internals.mjs'
import { climate, inFolder, random, report, sized } from '../measure.mjs'

const support = ['queue-server', 'queue-workers', 'versitygw', 'fault-proxy'].map((name) => `../test/support/${name}`)
const { haveQueue, QueueServer, QueueWorker, haveVersity, Versity, FaultProxy } = await internals(...support)
if (!haveQueue('redis')) {
  console.log('skipped: no redis-server (apt-get install redis-server)')
  process.exit(0)
}
const onS3 = haveVersity()
const RUNS = Number(process.env.HYPERSLAB_RUNS_KILLED ?? sized(200, 8))
const BUCKET = 'kills'
/** A task that ends five workers fails its job, as intended. */
const MOST_KILLS = 4
const next = random(1)
const killed = { 'at random': 0, 'at a request': 0 }
const problems = []

/** Returns the contents of a folder by name; or the bytes of a file. */
function contents(place) {
  if (!statSync(place).isDirectory()) return readFileSync(place).toString('latin1')
  const names = readdirSync(place, { recursive: true }).filter((name) => statSync(join(place, name)).isFile())
  return JSON.stringify(names.sort().map((name) => [name, readFileSync(join(place, name)).toString('latin1')]))
}

await inFolder(async (folder) => {
  const server = await QueueServer.start('redis')
  const s3 = onS3 ? await Versity.start() : undefined
  const proxy = s3 && (await FaultProxy.start(s3.endpoint))
  const workers = new Set()
  try {
    if (s3 !== undefined) {
      await s3.request('PUT', BUCKET)
      Object.assign(process.env, s3.env, { AWS_ENDPOINT_URL: proxy.origin })
    }
    const location = join(folder, 'x.af')
    const file = await create(location)
    const shape = [96, 256, 256]
    const options = { dtype: 'float32', shape, chunks: [1, 256, 256], dimensionNames: ['time', 'y', 'x'] }
    await file.createArray('x', options).set(null, climate(96 * 256 * 256, 1))
    await file.flush()
    await file.close()
    const source = { location, array: 'x' }
    const copyTo = (target, chunks) =>
      planJob({ method: 'copy', source: { arrays: { x: source } }, target, options: { chunks } }, { taskBytes: 2 ** 20 })
    let targets = 0
    /**
     * Jobs by the number of the run, with a key that distinguishes results; a repeated request creates a new
     * job.
     */
    const jobs = [
      async () => {
        const scratch = join(folder, `scratch-${++targets}`)
        const plan = await planJob({ method: 'mean', source, options: { axis: 0 } }, { unitBytes: 1, taskBytes: 1, scratch })
        return { plan, tell: (result) => Buffer.from(result.data.buffer).toString('latin1'), left: () => false, remove() {} }
      },
      async () => {
        const target = join(folder, `out-${++targets}.zarr`)
        const plan = await copyTo(target, { time: 96, y: 16, x: 16 })
        const left = () => readdirSync(target, { recursive: true }).some((name) => /hyperslab-scratch|\.tmp$/.test(name))
        return { plan, tell: () => contents(target), left, remove: () => rmSync(target, { recursive: true }) }
      },
      async () => {
        const target = join(folder, `out-${++targets}.af`)
        const plan = await copyTo(target, { time: 8, y: 64, x: 64 })
        return {
          plan,
          tell: () => contents(target),
          left: () => readdirSync(folder).some((name) => join(folder, name).startsWith(`${target}.`)),
          remove: () => rmSync(target),
        }
      },
    ]
    const start = (prefix) => {
      const worker = new QueueWorker(['--queue', server.url, '--prefix', prefix])
      workers.add(worker)
      return worker
    }
    const kill = async (worker) => {
      await worker.kill()
      workers.delete(worker)
    }

    const atRandom = async (run, kind) => {
      const prefix = `run_${run}`
      const { plan, tell, left, remove } = await jobs[kind % jobs.length]()
      const own = [start(prefix), start(prefix), start(prefix)]
      let isOver = false
      const done = bullmq({ url: server.url, prefix })
        .run(plan)
        .finally(() => {
          isOver = true
        })
      done.catch(() => undefined)
      for (let kills = 0; kills < MOST_KILLS && !isOver; kills++) {
        await pause(800 * next())
        if (isOver) break
        const i = Math.floor(own.length * next())
        await kill(own[i])
        own[i] = start(prefix)
        killed['at random']++
      }
      const found = tell(await done)
      if (left()) problems.push(`run ${run}: something is left behind`)
      remove()
      if (tell(await local().run(plan)) !== found) problems.push(`run ${run}: another result`)
      remove()
      await Promise.all(own.map(kill))
      const queue = await openJobQueue({ url: server.url, prefix })
      const states = (await queue.list()).map(({ state }) => state).join()
      await queue.close()
      if (states !== 'done') problems.push(`run ${run}: the queue says ${states}`)
    }

    const client = s3 && new AwsClient({ ...s3.credentials, service: 's3', region: 'us-east-1' })
    const read = async (key) => Buffer.from(await (await client.fetch(`${s3.endpoint}/${BUCKET}/${key}`)).arrayBuffer())
    let expected
    let steps = 0
    const atRequest = async (run, share) => {
      const prefix = `run_${run}`
      const plan = await copyTo(`s3://${BUCKET}/x.af`, { time: 8, y: 64, x: 64 })
      if (expected === undefined) {
        proxy.reset()
        await local().run(plan)
        steps = proxy.seen.length
        expected = await read('x.af')
        await s3.request('DELETE', `${BUCKET}/x.af`)
      }
      proxy.reset()
      let [isOver, dying] = [false, undefined]
      const first = start(prefix)
      proxy.fault = (_, nth) => {
        if (nth === Math.floor(share * steps)) dying = kill(first)
        return undefined
      }
      const done = bullmq({ url: server.url, prefix })
        .run(plan)
        .finally(() => {
          isOver = true
        })
      done.catch(() => undefined)
      // Processes differ by a few requests, so the last one may not be reached.
      while (dying === undefined && !isOver) await pause(5)
      if (dying !== undefined) killed['at a request']++
      await dying
      const second = start(prefix)
      await done
      if (!(await read('x.af')).equals(expected)) problems.push(`run ${run}: another container`)
      const keys = await s3.keys(BUCKET)
      const uploads = await s3.openUploads(BUCKET)
      if (keys.join() !== 'x.af' || uploads > 0) problems.push(`run ${run}: left ${keys}, and ${uploads} uploads`)
      await s3.request('DELETE', `${BUCKET}/x.af`)
      await kill(second)
      if (workers.has(first)) await kill(first)
    }

    const started = performance.now()
    for (let run = 0; run < RUNS; run++) {
      if (s3 !== undefined && run % 2 === 1) await atRequest(run, run / RUNS)
      else await atRandom(run, s3 === undefined ? run : run / 2)
    }
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    const numbers = Object.entries(killed).map(([when, count]) => `${count} ${when}`)
    console.log(`${RUNS} runs in ${seconds} s, workers killed: ${numbers.join(', ')}${s3 ? ` of ${steps}` : ''}`)
  } finally {
    await Promise.all([...workers].map((worker) => worker.kill()))
    await proxy?.stop()
    await s3?.stop()
    await server.stop()
  }
})
for (const problem of problems) console.log(problem)
const row = { suite: 'worker-kills', name: 'runs with another result, or with something left', peer: `${RUNS} runs` }
report({ ...row, ratio: problems.length / RUNS, goal: 'at most 0', met: problems.length === 0 })
if (problems.length > 0) process.exitCode = 1
