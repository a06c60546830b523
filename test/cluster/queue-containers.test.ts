import { appendFileSync, copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bullmq, type CopyOperation, type CopyPlan, local, openJobQueue, planJob } from '../../src/runtime/cluster.ts'
import { create, open } from '../../src/runtime/index.ts'
import { hyperslab, NETCDF } from '../cli/support.ts'
import { byBudget } from '../support/budget.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { haveQueue, QueueServer } from '../support/queue-server.ts'
import { QueueWorker } from '../support/queue-workers.ts'
import { haveVersity, Versity } from '../support/versitygw.ts'
import { sourcesInMemory } from './support.ts'

/** Building the server takes a minute, and so do the tests with it. */
/** For each of both versions. */
const KILLS = byBudget({ quick: 0, full: 6, soak: 200 })
const here = KILLS > 0 && haveQueue('redis') && haveVersity()

const sources = sourcesInMemory('queue-containers')
const BUCKET = 'containers'
/** Shape of an array of random bits: a task of 8 MiB stays larger than the smallest part of an upload. */
const SHAPE = [96, 256, 512]
let seed = 1
const random = (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed
}
const values = Int32Array.from({ length: 96 * 256 * 512 }, random)

let redis: QueueServer
let server: Versity
let proxy: FaultProxy
let location: string
let env: Record<string, string>
beforeAll(async () => {
  if (!here) return
  redis = await QueueServer.start('redis')
  server = await Versity.start()
  await server.request('PUT', BUCKET)
  proxy = await FaultProxy.start(server.endpoint)
  env = { ...server.env, AWS_ENDPOINT_URL: proxy.origin }
  Object.assign(process.env, env)
  location = join(sources.folder, 'large.af')
  await using file = await create(location)
  const options = { dtype: 'int32', shape: SHAPE, chunks: [1, 256, 512], dimensionNames: ['time', 'y', 'x'] } as const
  await file.createArray('large', options).set(null, values)
  await file.flush()
}, 120_000)
afterAll(async () => {
  for (const name of Object.keys(env ?? {})) delete process.env[name]
  await proxy?.stop()
  await server?.stop()
  await redis?.stop()
}, 60_000)

afterEach(async () => {
  proxy?.reset()
  if (here) for (const key of await server.keys(BUCKET)) await remove(key)
})

let runs = 0
const queueOf = (count: number): { url: string; prefix: string; workers: QueueWorker[]; start: (of?: string) => QueueWorker } => {
  const [url, prefix] = [redis.url, `containers_${++runs}`]
  const start = (of = prefix): QueueWorker => {
    const worker = new QueueWorker(['--queue', url, '--prefix', of, '--allow', sources.folder, '--allow', `s3://${BUCKET}/`], env)
    onTestFinished(() => worker.kill())
    return worker
  }
  return { url, prefix, start, workers: Array.from({ length: count }, () => start()) }
}

/** Six parts of 8 MiB, and small ones, which are put together by the last merge. */
const planOf = (target: string, source = location, more: CopyOperation['options'] = {}): Promise<CopyPlan> => {
  const small = Object.fromEntries(['float32', 'int16', 'int64'].map((name) => [name, sources.recipes.get(`container ${name}`)!]))
  const arrays = { large: { location: source, array: 'large' }, ...small }
  const options: CopyOperation['options'] = { codec: 'lz4', ...more }
  return planJob({ method: 'copy', source: { arrays }, target, options }, { taskBytes: 8 * 2 ** 20 })
}

async function bytesOf(key: string): Promise<Buffer> {
  const { endpoint, credentials } = server
  const { AwsClient } = await import('aws4fetch')
  const answer = await new AwsClient({ ...credentials, service: 's3', region: 'us-east-1' }).fetch(`${endpoint}/${BUCKET}/${key}`)
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

async function expectNothingLeft(...keys: string[]): Promise<void> {
  expect(await server.keys(BUCKET)).toEqual(keys)
  expect(await server.openUploads(BUCKET)).toBe(0)
}

const remove = (key: string): Promise<string> => server.request('DELETE', `${BUCKET}/${key}`)

describe.skipIf(!here)('a container on S3', () => {
  test.each([
    ['a container with layers', {}],
    ['a file of footer version 6', { immutable: true }],
  ])(
    'is the same bytes by one process and by 1, 2 and 5 workers, put together by the server: %s',
    async (_, kind) => {
      const target = `s3://${BUCKET}/x.af`
      const plan = await planOf(target, location, kind)
      await local().run(plan)
      const expected = await bytesOf('x.af')
      expect(expected.length).toBeGreaterThan(values.byteLength)
      for (const count of [1, 2, 5]) {
        await remove('x.af')
        proxy.reset()
        const { workers: _, start: _start, ...queue } = queueOf(count)
        await bullmq(queue).run(plan)
        expect((await bytesOf('x.af')).equals(expected)).toBe(true)
        const parts = proxy.seen.filter(({ method, url }) => method === 'PUT' && url.includes('.af?partNumber='))
        expect(parts).toHaveLength(7)
        await expectNothingLeft('x.af')
        // The run is done: a repeated call writes no object.
        proxy.reset()
        expect(await bullmq(queue).run(plan)).toEqual({ target, arrays: ['large', 'float32', 'int16', 'int64'] })
        expect(proxy.seen.filter(({ method }) => method !== 'GET' && method !== 'HEAD')).toEqual([])
      }
      await using file = await open(target)
      expect(file.layers()).toMatchObject([{ version: 'immutable' in kind ? 6 : 5 }])
      const large = await file.array('large', 'int32').get(null)
      expect(Buffer.from(large.data.buffer).equals(Buffer.from(values.buffer))).toBe(true)
      expect(await file.verify({ deep: true })).toMatchObject({ ok: true, checked: { blocksWithoutChecksum: 0 } })
    },
    240_000,
  )

  test(`is right though ${KILLS} workers are killed at any moment`, async () => {
    const { workers, start, url, prefix } = queueOf(3)
    let killed = 0
    for (let round = 0; killed < KILLS; round++) {
      const key = `killed-${round}.af`
      const plan = await planOf(`s3://${BUCKET}/${key}`, location, round % 2 === 0 ? {} : { immutable: true })
      let isOver = false
      const run = bullmq({ url, prefix })
        .run(plan)
        .finally(() => {
          isOver = true
        })
      run.catch(() => undefined)
      // A task that has ended five workers ends the run.
      for (let left = 4; !isOver && left > 0; left--) {
        await pause(Math.random() * 1500)
        if (isOver) break
        const i = Math.floor(Math.random() * workers.length)
        await workers[i]!.kill()
        workers[i] = start()
        killed++
      }
      await run
      const bytes = await bytesOf(key)
      await remove(key)
      await local().run(plan)
      expect((await bytesOf(key)).equals(bytes)).toBe(true)
      await expectNothingLeft(key)
      await remove(key)
    }
    console.log(`S3: ${killed} workers killed, each container the same bytes, no upload left`)
  }, 600_000)

  test('is right though its worker is killed at any of its requests', async () => {
    const { start, url, prefix } = queueOf(0)
    const plan = await planOf(`s3://${BUCKET}/steps.af`, location, { immutable: true })
    proxy.reset()
    await local().run(plan)
    const expected = await bytesOf('steps.af')
    const steps = proxy.seen.length
    let kills = 0
    for (let run = 0; run < KILLS; run++) {
      await remove('steps.af')
      await using jobs = await openJobQueue({ url, prefix: `${prefix}_${run}` })
      proxy.reset()
      const at = Math.floor((run * steps) / KILLS)
      let killed: Promise<void> | undefined
      const first = start(`${prefix}_${run}`)
      proxy.fault = (_, nth) => {
        if (nth === at) killed = first.kill()
        return undefined
      }
      let isOver = false
      const done = bullmq({ url, prefix: `${prefix}_${run}` })
        .run(plan)
        .finally(() => {
          isOver = true
        })
      // Processes differ by a few requests.
      while (killed === undefined && !isOver) await pause(5)
      await killed
      if (killed !== undefined) kills++
      const second = start(`${prefix}_${run}`)
      await done
      expect((await bytesOf('steps.af')).equals(expected), `killed at request ${at}`).toBe(true)
      await expectNothingLeft('steps.af')
      expect(await jobs.list()).toMatchObject([{ state: 'done' }])
      await Promise.all([first.kill(), second.kill()])
    }
    expect(kills).toBeGreaterThan(KILLS * 0.7)
    console.log(`S3: a worker killed at ${kills} of ${steps} requests, each container the same bytes, no upload left`)
  }, 600_000)

  test('is right where the server is busy, and answers get lost', async () => {
    const { workers: _, start: _start, ...queue } = queueOf(2)
    const plan = await planOf(`s3://${BUCKET}/busy.af`)
    proxy.reset()
    const given = { busy: 0, lost: 0 }
    proxy.fault = ({ method }, nth) => {
      if (nth % 9 === 4) {
        given.busy++
        return { status: 503, code: 'SlowDown' }
      }
      if (method !== 'GET' && nth % 5 === 2) {
        given.lost++
        return { cut: 'after' }
      }
      return undefined
    }
    await bullmq(queue).run(plan)
    console.log(`S3: container right with ${given.busy} answers of 503, and ${given.lost} that were lost`)
    expect(given.busy + given.lost).toBeGreaterThan(10)
    proxy.reset()
    const bytes = await bytesOf('busy.af')
    await remove('busy.af')
    await local().run(plan)
    expect((await bytesOf('busy.af')).equals(bytes)).toBe(true)
    await expectNothingLeft('busy.af')
  }, 240_000)

  test('is dropped with all its parts by a cancel, and made anew by retry', async () => {
    const queue = queueOf(1)
    const { url, prefix } = queue
    const plan = await planOf(`s3://${BUCKET}/cancelled.af`)
    proxy.reset()
    let uploaded = 0
    proxy.fault = ({ method, url: path }) => {
      if (method === 'PUT' && path.includes('partNumber=')) uploaded++
      return undefined
    }
    const run = bullmq({ url, prefix })
      .run(plan)
      .catch((error: unknown) => error)
    while (uploaded < 2) await pause(5)
    await using jobs = await openJobQueue({ url, prefix })
    expect(await jobs.cancel(plan.id)).toBe(true)
    expect(await run).toMatchObject({ tag: 'CancelledError' })
    await expectNothingLeft()
    expect(await jobs.retry(plan.id)).toBe(true)
    await bullmq({ url, prefix }).run(plan)
    await using file = await open(`s3://${BUCKET}/cancelled.af`)
    expect((await file.verify()).ok).toBe(true)
    await expectNothingLeft('cancelled.af')
  }, 120_000)

  test('of a source that changes is dropped with all its parts, and so is one whose place is taken', async () => {
    const { workers: _, start: _start, ...queue } = queueOf(2)
    const changing = join(sources.folder, 'changing.af')
    copyFileSync(location, changing)
    const plan = await planOf(`s3://${BUCKET}/changed.af`, changing)
    proxy.reset()
    let uploaded = 0
    proxy.fault = ({ method, url }) => {
      if (method === 'PUT' && url.includes('partNumber=') && ++uploaded === 2) appendFileSync(changing, ' ')
      return undefined
    }
    await expect(bullmq(queue).run(plan)).rejects.toMatchObject({ tag: 'ConflictError', details: { file: changing } })
    expect(uploaded).toBeGreaterThan(1)
    await expectNothingLeft()
    // Another writer makes one just before the parts are put together.
    const taken = await planOf(`s3://${BUCKET}/taken.af`)
    let isTaken: Promise<unknown> | undefined
    proxy.fault = ({ method, url }) => {
      if (method !== 'POST' || !url.includes('.af?uploadId=') || isTaken !== undefined) return undefined
      isTaken = server.request('PUT', `${BUCKET}/taken.af`, 'theirs')
      return { status: 503, code: 'SlowDown' }
    }
    await expect(bullmq(queue).run(taken)).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect(await isTaken).toBe('')
    expect((await bytesOf('taken.af')).toString()).toBe('theirs')
    await expectNothingLeft('taken.af')
  }, 120_000)

  test('is imported and exported by the command', async () => {
    const { url, prefix } = queueOf(2)
    const by = ['--queue', url, '--prefix', prefix, '--task-bytes', '100000']
    const target = join(sources.folder, 'alone.af')
    expect((await hyperslab(sources.folder, ['export', NETCDF, target, '--chunks', 'time=12,lat=24'])).exitCode).toBe(0)
    await using alone = await open(target)
    const local = join(sources.folder, 'NETCDF.nc')
    copyFileSync(NETCDF, local)
    for (const [command, output, kind, version] of [
      ['export', join(sources.folder, 'queued.af'), [], 5],
      ['import', `s3://${BUCKET}/queued.af`, ['--immutable'], 6],
    ] as const) {
      const told = await hyperslab(sources.folder, [command, local, output, '--chunks', 'time=12,lat=24', ...kind, ...by])
      expect(told).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringMatching(/queued\.af: \d+ arrays\n$/) })
      await using queued = await open(output)
      expect(queued.layers()).toMatchObject([{ version }])
      expect(queued.arrays()).toEqual(alone.arrays())
      for (const name of alone.arrays()) {
        expect((await queued.array(name).get(null)).data).toEqual((await alone.array(name).get(null)).data)
        const attributes = [...alone.array(name).attrs]
        // Version 6 sorts keys.
        if (version === 6) attributes.sort(([one], [other]) => (one < other ? -1 : 1))
        expect([...queued.array(name).attrs]).toEqual(attributes)
      }
    }
    expect(existsSync(join(sources.folder, 'queued.af.parts'))).toBe(false)
    await expectNothingLeft('queued.af')
    const again = await hyperslab(sources.folder, ['export', local, join(sources.folder, 'queued.af'), ...by])
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('exists already')])
    for (const option of [['--shards', 'time=2'], ['--levels', '2'], ['--memory', '1GiB'], ['--overwrite']]) {
      const refused = await hyperslab(sources.folder, ['export', local, 'out.af', ...option, ...by])
      expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining(option[0]!)])
    }
    const alone2 = await hyperslab(sources.folder, ['export', local, 'out.af', '--task-bytes', '5'])
    expect([alone2.exitCode, alone2.stderr]).toEqual([2, expect.stringContaining('--task-bytes is for --queue')])
    expect(readFileSync(local).equals(readFileSync(NETCDF))).toBe(true)
  }, 120_000)
})
