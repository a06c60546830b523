import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { DIVIDED_METHODS } from '../../src/array/reductions/reductions.ts'
import { Engine } from '../../src/cluster/bullmq/engine.ts'
import { relocated } from '../../src/cluster/recipe.ts'
import { bullmq, type CopyOperation, local, planJob } from '../../src/runtime/cluster.ts'
import { createZarr } from '../../src/runtime/zarr.ts'
import { S3Store } from '../../src/store/s3/s3.ts'
import { byBudget, isSoak } from '../support/budget.ts'
import { Ceph, haveCeph } from '../support/ceph.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { freePort } from '../support/nginx.ts'
import { haveQueue, QueueServer } from '../support/queue-server.ts'
import { QueueWorker } from '../support/queue-workers.ts'
import { bitsOf, objectsOf, planOf, shareOf, sourceFor, sourcesInMemory, withoutWriteId } from './support.ts'

const here = haveQueue('redis')
const KILLS = byBudget({ quick: 0, full: 20, soak: 200 })

const sources = sourcesInMemory('places')

let prefixes = 0
const queueOn = (url: string) => ({ url, prefix: `places_${++prefixes}` })

/** A worker process, ended with the test. */
function workerOn(
  { url, prefix }: { url: string; prefix: string },
  env: Record<string, string> = {},
  fileKiB?: number,
): QueueWorker {
  const worker = new QueueWorker(['--queue', url, '--prefix', prefix], env, fileKiB)
  onTestFinished(() => worker.kill())
  return worker
}

describe('a queue on Redis', () => {
  let server: QueueServer
  let port: number
  let certificate: string
  beforeAll(async () => {
    if (!here) return
    certificate = join(sources.folder, 'own.crt')
    const key = join(sources.folder, 'own.key')
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate, ...subject]
    execFileSync('openssl', made, { stdio: 'ignore' })
    port = await freePort()
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate]
    server = await QueueServer.start('redis', ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files])
  })
  afterAll(() => server?.stop())

  test.skipIf(!here)(
    'is encrypted where its URL begins with rediss, and certificates that nobody vouches for are refused',
    async () => {
      const queue = queueOn(`rediss://127.0.0.1:${port}`)
      const plan = await planJob(
        { method: 'sum', source: sources.recipes.get('container int32')! },
        { unitBytes: 1, taskBytes: 48 * 16 },
      )
      await expect(bullmq(queue).run(plan)).rejects.toMatchObject({
        tag: 'StoreError',
        message: expect.stringContaining('certificate'),
      })
      workerOn(queue, { NODE_EXTRA_CA_CERTS: certificate })
      const connection = { tls: { ca: readFileSync(certificate) } }
      expect(bitsOf(await bullmq({ ...queue, connection }).run(plan))).toBe(bitsOf(await local().run(plan)))
    },
  )

  test.skipIf(!here)('has a task whose disk is full done by another worker, and nothing is half written', async () => {
    const queue = queueOn(server.url)
    const source = { arrays: { x: sources.recipes.get('container float64')! } }
    const copyTo = (target: string): CopyOperation => ({
      method: 'copy',
      source,
      target,
      options: { codec: 'none', chunks: { time: 47, lon: 11 } },
    })
    const [target, alone] = [join(sources.folder, 'full.zarr'), join(sources.folder, 'alone.zarr')]
    const full = workerOn(queue, {}, 8)
    let isOver = false
    const run = bullmq(queue)
      .run(await planJob(copyTo(target)))
      .finally(() => {
        isOver = true
      })
    run.catch(() => undefined)
    await using engine = await Engine.open(queue)
    while (!isOver && (await engine.tasks.getJobCountByTypes('delayed')) === 0) await pause(20)
    const written = readdirSync(target, { recursive: true, encoding: 'utf8' })
    expect(written.filter((name) => /zarr\.json$|c\/\d+\/\d+\/\d+$/.test(name))).toEqual([])
    await full.kill()
    workerOn(queue)
    await run
    await local().run(await planJob(copyTo(alone)))
    expect(objectsOf(target)).toEqual(objectsOf(alone))
    expect([...objectsOf(target).values()].some((bytes) => bytes.length > 8 * 1024)).toBe(true)
  })
})

/** To start Ceph takes 15 s. */
if (KILLS > 0) {
  const cephThere = haveCeph()
  describe.skipIf(!here || !cephThere)('a queue for data on S3', () => {
    let server: QueueServer
    let ceph: Ceph
    let proxy: FaultProxy
    let env: Record<string, string>
    beforeAll(async () => {
      server = await QueueServer.start('redis')
      ceph = await Ceph.start()
      await ceph.makeBucket('cluster')
      proxy = await FaultProxy.start(ceph.endpoint)
      const { accessKeyId, secretAccessKey } = ceph.credentials
      env = { AWS_ENDPOINT_URL: proxy.origin, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
      Object.assign(process.env, env)
      const group = await createZarr('s3://cluster/x.zarr')
      const chunks = [1, 20, 30]
      const array = await group.createArray('tas', {
        dtype: 'float64',
        shape: [40, 20, 30],
        chunks,
        dimensionNames: ['t', 'y', 'x'],
      })
      await array.set(
        null,
        Float64Array.from({ length: 40 * 600 }, (_, i) => Math.sin(i) * 10 ** (i % 9)),
      )
      await group.close()
      const store = new S3Store({ bucket: 'cluster', endpoint: ceph.endpoint, credentials: ceph.credentials })
      for (const [key, bytes] of objectsOf(sources.folder)) await store.put(`sources/${key}`, Buffer.from(bytes, 'latin1'))
    }, 180_000)
    afterAll(async () => {
      for (const name of Object.keys(env ?? {})) delete process.env[name]
      await proxy?.stop()
      await ceph?.stop()
      await server?.stop()
    }, 60_000)

    /**
     * A task that writes five objects and is done again from the first would be answered so each time, until
     * the last of its attempts.
     */
    const MOST_CONFLICTS = 8

    /**
     * Has each seventh request answered that the server is busy, and each fifth write that another is under
     * way.
     */
    function spoil(): () => { busy: number; conflicts: number } {
      const given = { busy: 0, conflicts: 0 }
      proxy.reset()
      let writes = 0
      proxy.fault = ({ method }, nth) => {
        if (method === 'PUT' && given.conflicts < MOST_CONFLICTS && ++writes % 5 === 0) {
          given.conflicts++
          return { status: 409, code: 'ConditionalRequestConflict' }
        }
        if (nth % 7 !== 3) return undefined
        given.busy++
        return { status: 503, code: 'SlowDown' }
      }
      return () => given
    }

    const tas = { location: 's3://cluster/x.zarr', array: 'tas' }
    const keysBelow = async (prefix: string): Promise<string[]> =>
      [...(await ceph.request('GET', `cluster?list-type=2&prefix=${prefix}`)).matchAll(/<Key>(.*?)<\/Key>/g)].map(
        ([, key]) => key!,
      )

    test('partial results go through a bucket that is busy, to the same bits, and are removed', async () => {
      const queue = queueOn(server.url)
      const scratch = 's3://cluster/scratch'
      const plan = await planJob({ method: 'mean', source: tas, options: { axis: 0 } }, { unitBytes: 1, taskBytes: 1, scratch })
      const expected = bitsOf(await local().run(plan))
      const given = spoil()
      workerOn(queue, env)
      workerOn(queue, env)
      expect(bitsOf(await bullmq(queue).run(plan))).toBe(expected)
      console.log(`S3: mean right with ${given().busy} answers of 503 and ${given().conflicts} of 409`)
      expect(given().busy).toBeGreaterThan(10)
      expect(given().conflicts).toBeGreaterThan(2)
      proxy.reset()
      // The last result stays for repeated calls.
      expect(await keysBelow('scratch')).toEqual([expect.stringMatching(/1-0$/)])
    }, 120_000)

    const COUNTS = [1, 2, 5]
    test.each(COUNTS)(
      '%i reduce what lies in a bucket, and give the same bits as one process',
      async (count) => {
        proxy.reset()
        const queue = queueOn(server.url)
        for (let i = 0; i < count; i++) workerOn(queue, env)
        const scratch = `s3://cluster/scratch-${count}`
        const methods = isSoak ? DIVIDED_METHODS : shareOf(DIVIDED_METHODS, COUNTS.indexOf(count), COUNTS.length)
        for (const [i, method] of methods.entries()) {
          const name = sourceFor(sources.recipes, method, i + count)
          const here = sources.recipes.get(name)!
          const there = relocated(here, (location) => location.replace(sources.folder, 's3://cluster/sources'))
          const found = await bullmq(queue).run(await planOf(method, there, scratch))
          expect(bitsOf(found), `${method} of ${name}`).toBe(bitsOf(await local().run(await planOf(method, here))))
        }
      },
      180_000,
    )

    test('the example has three workers compute the mean of an array in the bucket', async () => {
      proxy.reset()
      const script = new URL('../../examples/cluster/three-workers.mjs', import.meta.url).pathname
      const run = promisify(execFile)(process.execPath, [script, server.url, 's3://cluster/example'], {
        env: { ...process.env, ...env },
      })
      const { stdout } = await run
      expect(stdout).toContain('mean of 31 tasks by three workers: [36,72], the bits of one process\n')
      expect((await keysBelow('example/scratch')).length).toBeLessThan(2)
    }, 120_000)

    test('no container is put together there, since another writer could overwrite it or be overwritten', async () => {
      const queue = queueOn(server.url)
      proxy.reset()
      workerOn(queue, env)
      const target = 's3://cluster/out.af'
      const plan = await planJob({ method: 'copy', source: { arrays: { tas } }, target }, { taskBytes: 24_000 })
      await expect(bullmq(queue).run(plan)).rejects.toMatchObject({
        tag: 'UnsupportedError',
        message: expect.stringMatching(
          /s3:\/\/cluster\/out\.af.*ignores If-None-Match when it puts the parts of an upload together/,
        ),
      })
      expect(await keysBelow('out.af')).toEqual([])
      expect(await ceph.openUploads('cluster')).toBe(0)
    }, 120_000)

    test.each(COUNTS)(
      'copies of %i to a bucket that is busy are the objects that one process writes',
      async (count) => {
        const queue = queueOn(server.url)
        const copyTo = (target: string): CopyOperation => ({
          method: 'copy',
          source: { arrays: { tas } },
          target,
          options: { chunks: { t: 10, y: 5, x: 5 }, shards: { t: 20, y: 5, x: 30 } },
        })
        const alone = join(sources.folder, `s3-alone-${count}.zarr`)
        const out = `out-${count}.zarr`
        await local().run(await planJob(copyTo(alone), { taskBytes: 24_000 }))
        const given = spoil()
        for (let i = 0; i < count; i++) workerOn(queue, env)
        await bullmq(queue).run(await planJob(copyTo(`s3://cluster/${out}`), { taskBytes: 24_000 }))
        console.log(`S3: copy right with ${given().busy} answers of 503 and ${given().conflicts} of 409`)
        expect(given().busy + given().conflicts).toBeGreaterThan(10)
        proxy.reset()
        const objects = objectsOf(alone)
        const keys = (await keysBelow(`${out}/`)).map((key) => key.slice(out.length + 1))
        expect(keys.sort()).toEqual([...objects.keys()].sort())
        const { endpoint, credentials } = ceph
        const store = new S3Store({ bucket: 'cluster', endpoint, credentials })
        for (const [key, bytes] of objects) {
          const { size } = (await store.stat(`${out}/${key}`))!
          const found = await store.getRange(`${out}/${key}`, 0, size)
          expect(withoutWriteId(Buffer.from(found!).toString('latin1')), key).toBe(bytes)
        }
        expect(await ceph.openUploads('cluster')).toBe(0)
      },
      120_000,
    )
  })
}
