import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { appendFile, copyFile, readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DIVIDED_METHODS } from '../../src/array/reductions/reductions.ts'
import { Engine } from '../../src/cluster/bullmq/engine.ts'
import { work } from '../../src/cluster/bullmq/work.ts'
import { bullmq, local, openJobQueue, planJob } from '../../src/runtime/cluster.ts'
import { quickReads } from '../../src/store/fs/quick-reads.ts'
import { hyperslab, NETCDF } from '../cli/support.ts'
import { byBudget, isSoak } from '../support/budget.ts'
import { haveQueue, type QueueKind, QueueServer } from '../support/queue-server.ts'
import { QueueWorker } from '../support/queue-workers.ts'
import { bitsOf, objectsOf, planOf, shareOf, sourceFor, sourcesInMemory, writeMonths } from './support.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const KINDS = process.env['HYPERSLAB_QUEUES']!.split(',') as QueueKind[]
/** Number of workers that are killed. Long tests run only if it is above 0. */
const KILLS = byBudget({ quick: 0, full: 20, soak: 200 })

const sources = sourcesInMemory('queue')

describe.each(KINDS)('workers of a queue on %s', (kind) => {
  const here = haveQueue(kind)
  let server: QueueServer
  beforeAll(async () => {
    if (here) server = await QueueServer.start(kind)
  })
  afterAll(() => server?.stop())

  let prefixes = 0
  /** A queue of its own, with workers in processes of their own. */
  function queueOf(count: number, args: readonly string[] = [], env: Record<string, string> = {}) {
    const queue = { url: server.url, prefix: `workers_${++prefixes}` }
    const start = () => new QueueWorker(['--queue', queue.url, '--prefix', queue.prefix, ...args], env)
    const workers = Array.from({ length: count }, start)
    onTestFinished(async () => {
      await Promise.all(workers.map((worker) => worker.kill()))
    })
    return { queue, workers, start }
  }

  async function expectNothingLeft(queue: { url: string; prefix: string }): Promise<void> {
    await using engine = await Engine.open(queue)
    const counts = await engine.tasks.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'waiting-children')
    expect(Object.values(counts)).toEqual([0, 0, 0, 0, 0])
    for (const job of await engine.tasks.getJobs(['completed', 'failed'])) expect(job.name).toBe('run')
  }

  const workers = KILLS > 0 ? [1, 2, 5] : [2]
  const methods = KILLS > 0 ? DIVIDED_METHODS : (['mean', 'argMax'] as const)
  test.skipIf(!here).each(workers)('%i give the same bits as one process', async (count) => {
    const tried = isSoak ? methods : shareOf(methods, workers.indexOf(count), workers.length)
    const { queue } = queueOf(count)
    const scratch = join(sources.folder, `scratch-${kind}-${count}`)
    for (const [i, method] of tried.entries()) {
      const name = sourceFor(sources.recipes, method, i)
      const plan = await planOf(method, sources.recipes.get(name)!, scratch)
      const expected = bitsOf(await local().run(plan))
      expect(bitsOf(await bullmq(queue).run(plan)), `${method} of ${name}`).toBe(expected)
      // Asked again, it is there.
      if (i === 0) expect(bitsOf(await bullmq(queue).run(plan))).toBe(expected)
    }
    await expectNothingLeft(queue)
  })

  test.skipIf(!here)('the thread of a worker reads files asynchronously, since it renews locks', async () => {
    const end = vi.fn()
    const suspend = vi.spyOn(quickReads, 'suspend').mockReturnValue({ [Symbol.dispose]: end })
    onTestFinished(() => suspend.mockRestore())
    const worker = work({ url: server.url, prefix: 'asynchronous', untilIdle: true })
    await vi.waitFor(() => expect(suspend).toHaveBeenCalledOnce())
    expect(end).not.toHaveBeenCalled()
    await worker
    expect(end).toHaveBeenCalledOnce()
  })

  test.skipIf(!here)('the command reduces by a queue what it reduces alone, and tells of its jobs', async () => {
    const { queue } = queueOf(1)
    const env = { HYPERSLAB_QUEUE: queue.url }
    const common = ['reduce', NETCDF, 'tas', '--op', 'mean', '--sel', 'lat=-30:60', '--format', 'json']
    const by = ['--queue', '--prefix', queue.prefix]
    const alone = await hyperslab(sources.folder, [...common, '--axis', 'lon,time'])
    const queued = await hyperslab(sources.folder, [...common, '--axis', 'lon,time', ...by, '--progress', 'json'], env)
    expect([queued.exitCode, queued.stdout]).toEqual([0, alone.stdout])
    const told = queued.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string })
    expect(told.at(-1)).toMatchObject({ state: 'done', done: 1, total: 1, bytes: 12 * 48 * 192 * 4 })
    for (const op of ['std', 'count', 'argmax', 'quantile --q 0.1,0.9', 'unique', 'histogram --bins 4'].map((text) =>
      text.split(' '),
    )) {
      const one = ['reduce', NETCDF, 'tas', '--sel', 'lat=50:60', 'lon=0:2', '--format', 'json', '--op', ...op]
      const expected = await hyperslab(sources.folder, one)
      const found = await hyperslab(sources.folder, [...one, ...by], env)
      expect([found.exitCode, found.stderr, found.stdout], op[0]).toEqual([0, '', expected.stdout])
    }
    for (const statistics of [
      ['stats', NETCDF, 'tas', 'time', 'lat', '--json'],
      ['stats', NETCDF, 'tas', '--sel', 'lat=50:60', '--json'],
      ['stats', join(sources.folder, 'x.af'), '--json'],
      ['stats', join(sources.folder, 'x.af'), 'float32', 'int64', '--raw', '--json'],
    ]) {
      const expected = await hyperslab(sources.folder, statistics)
      const found = await hyperslab(sources.folder, [...statistics, ...by], env)
      expect([found.exitCode, found.stderr]).toEqual([0, ''])
      expect(found.stdout).toBe(expected.stdout)
    }
    const dry = await hyperslab(sources.folder, ['stats', NETCDF, 'tas', '--dry-run'])
    // One job with one task reads the array once.
    expect(dry.stdout.match(/^job /gm)).toHaveLength(1)
    expect(dry.stdout).toMatch(/^job [0-9a-f]{12}: float32 \[12, 96, 192\]\n1 task of .*\n/)
    const { id } = told.at(-1)!
    const listed = await hyperslab(sources.folder, ['jobs', '--prefix', queue.prefix], env)
    expect(listed.stdout).toMatch(new RegExp(`^${id.slice(0, 12)} +done +1/1 `, 'm'))
    const shown = await hyperslab(sources.folder, ['jobs', 'show', id.slice(0, 6), '--prefix', queue.prefix, '--json'], env)
    expect(JSON.parse(shown.stdout)).toMatchObject({ id, state: 'done', plan: { id } })
    const again = await hyperslab(sources.folder, ['jobs', 'retry', id.slice(0, 6), '--prefix', queue.prefix], env)
    expect(again.stdout).toBe(`${id.slice(0, 12)} has not failed\n`)
    expect((await hyperslab(sources.folder, ['jobs', 'metrics', '--prefix', queue.prefix], env)).stdout).toContain(
      'bullmq_job_count{',
    )
  })

  test.skipIf(!here).each(KILLS > 0 ? [1, 2, 5] : [])(
    '%i import many files by the command as one process does',
    async (count) => {
      const { queue } = queueOf(count)
      const folder = join(sources.folder, `months-${kind}-${count}`)
      mkdirSync(folder)
      const { files } = writeMonths(folder, 6)
      const chunks = ['--dim', 'time', '--chunks', 'time=1,lat=3', '--shards', 'time=4,lat=6', '--codec', 'gzip']
      const importTo = (output: string, ...args: string[]) =>
        hyperslab(folder, ['import', ...files, '-o', output, ...chunks, ...args])
      expect(await importTo('alone.zarr')).toMatchObject({ exitCode: 0, stdout: 'alone.zarr: 3 arrays\n', stderr: '' })
      const by = ['--queue', queue.url, '--prefix', queue.prefix, '--task-bytes', '400']
      const dry = await importTo('queued.zarr', '--dry-run', '--task-bytes', '400')
      expect(dry.stdout).toContain('tas: float64 [24, 6], 6 tasks\n')
      expect(await importTo('queued.zarr', ...by)).toMatchObject({ exitCode: 0, stdout: 'queued.zarr: 3 arrays\n', stderr: '' })
      expect(objectsOf(join(folder, 'queued.zarr'))).toEqual(objectsOf(join(folder, 'alone.zarr')))
      await expectNothingLeft(queue)
    },
  )

  test.skipIf(!here)('the command rechunks and exports by a queue what it does alone', async () => {
    const { queue } = queueOf(2)
    const by = ['--queue', queue.url, '--prefix', queue.prefix]
    const folderOf = (command: string): string => join(sources.folder, `${kind}-${command}.zarr`)
    for (const [command, ...args] of [
      ['rechunk', join(sources.folder, 'x.af'), '--chunks', 'time=47,lat=1,lon=4', '--shards', 'lon=8'],
      ['export', NETCDF, '--chunks', 'time=12,lat=24', '--variables', 'tas'],
    ] as const) {
      const [input, ...more] = args
      const [alone, queued] = [folderOf(`${command}-alone`), folderOf(`${command}-queued`)]
      expect((await hyperslab(sources.folder, [command, input, alone, ...more])).exitCode).toBe(0)
      const told = await hyperslab(sources.folder, [command, input, queued, ...more, ...by, '--task-bytes', '5000'])
      expect([told.exitCode, told.stderr]).toEqual([0, ''])
      expect(told.stdout).toMatch(/queued\.zarr: \d+ arrays\n$/)
      expect(objectsOf(queued)).toEqual(objectsOf(alone))
      expect(objectsOf(queued).size).toBeGreaterThan(12)
      // It is done: asked again, it says so at once, and the local command leaves it as it is.
      expect((await hyperslab(sources.folder, [command, input, queued, ...more, ...by, '--task-bytes', '5000'])).stdout).toBe(
        told.stdout,
      )
      const other = await hyperslab(sources.folder, [command, input, queued, ...more, ...by, '--codec', 'gzip'])
      expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining('another write')])
    }
    const refused = await hyperslab(sources.folder, ['rechunk', NETCDF, 'out.zarr', '--overwrite', ...by])
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--overwrite is for this machine alone')])
    const months = ['rechunk', NETCDF, 'out.zarr', '--variables', 'tas', '--chunks', 'time=1', '--task-bytes', '100000']
    const dry = await hyperslab(sources.folder, [...months, '--dry-run', '--request-price', '1000', '--gb-price', '1000'])
    expect(dry.stdout.split('\n').slice(1, 5)).toEqual([
      'tas: float32 [12, 96, 192], 12 tasks',
      'at most 24 requests for chunks and objects, of 11.0 MiB of elements',
      'about 72.0 KiB of memory a task',
      'at most 35.50 for requests and bytes, as if nothing were compressed',
    ])
    await expectNothingLeft(queue)
  })

  // The rest takes a minute.
  if (KILLS === 0) return

  test.skipIf(!here)('large partial results go through the scratch folder, of which the last one is left', async () => {
    const { queue } = queueOf(2)
    const source = { location: join(sources.folder, 'x.af'), array: 'float64' }
    const scratch = join(sources.folder, `scratch-${kind}-large`)
    const options = { options: { axis: 0 } }
    const small = await planJob({ method: 'mean', source, ...options }, { unitBytes: 1, taskBytes: 1 })
    expect(bitsOf(await bullmq(queue).run(small))).toBe(bitsOf(await local().run(small)))
    const wide = { dataset: [NETCDF], variable: 'tas' }
    const plan = await planJob({ method: 'mean', source: wide, ...options }, { unitBytes: 1, taskBytes: 1, scratch })
    expect(bitsOf(await bullmq(queue).run(plan))).toBe(bitsOf(await local().run(plan)))
    expect((await readdir(scratch, { recursive: true })).length).toBe(2)
    const without = await planJob({ method: 'mean', source: wide, ...options }, { unitBytes: 1, taskBytes: 1 })
    await expect(bullmq(queue).run(without)).rejects.toMatchObject({
      tag: 'TooLargeError',
      message: expect.stringContaining('scratch'),
    })
    await expectNothingLeft(queue)
  })

  test.skipIf(!here)('a source that changes is told, and places that are not allowed are refused', async () => {
    const { queue } = queueOf(1, ['--allow', sources.folder])
    const file = join(sources.folder, `changed-${kind}.af`)
    await copyFile(join(sources.folder, 'x.af'), file)
    const changed = await planOf('sum', { location: file, array: 'int32' })
    await appendFile(file, 'x')
    await expect(bullmq(queue).run(changed)).rejects.toMatchObject({ tag: 'ConflictError', details: { file } })
    const elsewhere = await planJob({ method: 'sum', source: { location: NETCDF, array: 'tas' } })
    await expect(bullmq(queue).run(elsewhere)).rejects.toMatchObject({ tag: 'InvalidArgumentError', details: { file: NETCDF } })
    const above = await planJob({
      method: 'sum',
      source: { location: `${sources.folder}/${relative(sources.folder, NETCDF)}`, array: 'tas' },
    })
    await expect(bullmq(queue).run(above)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    const round = await planJob({
      method: 'sum',
      source: { location: `${sources.folder}/../${basename(sources.folder)}/x.af`, array: 'int32' },
    })
    expect(bitsOf(await bullmq(queue).run(round))).toBe(bitsOf(await local().run(round)))
    await expectNothingLeft(queue)
  })

  test.skipIf(!here)(`${KILLS} workers that are killed at any moment change nothing`, async () => {
    const { queue, workers, start } = queueOf(3)
    let killed = 0
    while (killed < KILLS) {
      const plan = await planOf('mean', sources.recipes.get('container float32')!, join(sources.folder, `scratch-${kind}-kills`))
      const expected = bitsOf(await local().run(plan))
      let isOver = false
      const run = bullmq(queue)
        .run(plan)
        .finally(() => {
          isOver = true
        })
      while (!isOver) {
        await pause(Math.random() * 1500)
        if (isOver) break
        const i = Math.floor(Math.random() * workers.length)
        await workers[i]!.kill()
        workers[i] = start()
        killed++
      }
      expect(bitsOf(await run)).toBe(expected)
      await expectNothingLeft(queue)
    }
    console.log(`${kind}: ${killed} workers killed, no result lost or changed`)
  })

  test.skipIf(!here)('a worker that stands still for longer than its lock changes nothing', async () => {
    const { queue, workers } = queueOf(2)
    await expectNothingLeft(queue)
    await pause(1500)
    const plan = await planOf('variance', sources.recipes.get('container float64')!)
    const run = bullmq(queue).run(plan)
    await pause(150)
    await workers[0]!.pause(6000)
    expect(bitsOf(await run)).toBe(bitsOf(await local().run(plan)))
    // It may have been about to add tasks. These are worked on for nothing.
    await vi.waitFor(() => expectNothingLeft(queue), { timeout: 30_000, interval: 500 })
  })

  test.skipIf(!here)('the server is killed in the middle of a run and starts again', async () => {
    const { queue } = queueOf(2)
    const plan = await planOf('std', sources.recipes.get('container float64')!)
    let killed: Promise<void> | undefined
    const onProgress = ({ done }: { done: number }): void => {
      if (done > 20)
        killed ??= server
          .kill()
          .then(() => pause(500))
          .then(() => server.restart())
    }
    expect(bitsOf(await bullmq(queue).run(plan, { onProgress }))).toBe(bitsOf(await local().run(plan)))
    await killed
    await pause(3000)
    await expectNothingLeft(queue)
  })

  test.skipIf(!here)('a task that ends its workers again and again fails its run, and says which', async () => {
    const bytes = await readFile(join(sources.folder, 'x.af'))
    let hangs = false
    const site = createServer(({ method, headers }, response) => {
      if (hangs) return
      const length = { 'content-length': bytes.length, etag: '"1"' }
      if (method === 'HEAD') return void response.writeHead(200, length).end()
      const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
      if (from + to === '') return void response.writeHead(200, length).end(bytes)
      const start = from === '' ? Math.max(0, bytes.length - Number(to)) : Number(from)
      const part = bytes.subarray(start, from === '' || to === '' ? undefined : Number(to) + 1)
      const range = `bytes ${start}-${start + part.length - 1}/${bytes.length}`
      response.writeHead(206, { ...length, 'content-range': range, 'content-length': part.length }).end(part)
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      site.closeAllConnections()
      site.close()
    })
    const { queue, workers, start } = queueOf(0, ['--max-lost', '2'])
    const file = `http://127.0.0.1:${(site.address() as AddressInfo).port}/x.af`
    const plan = await planOf('sum', { location: file, array: 'int32' })
    hangs = true
    let isOver = false
    const run = bullmq(queue)
      .run(plan)
      .catch((error: unknown) => error)
      .finally(() => {
        isOver = true
      })
    // Long enough to find the tasks of the one before silent, and to take them.
    while (!isOver) {
      workers.push(start())
      await Promise.race([run, pause(6000)])
      await workers.pop()!.kill()
    }
    expect(await run).toMatchObject({ tag: 'WorkerLostError', details: { file, array: 'int32', actual: 2 } })
    await expectNothingLeft(queue)
  })

  test.skipIf(!here)('Ctrl-C leaves the run going, and the same command joins it', async () => {
    const { queue } = queueOf(0)
    const args = ['reduce', NETCDF, 'tas', '--op', 'max', '--queue', queue.url, '--prefix', queue.prefix]
    const first = spawn(process.execPath, [COMMAND, ...args, '--progress', 'json'], { stdio: ['ignore', 'ignore', 'pipe'] })
    let stderr = ''
    first.stderr.on('data', (text) => {
      stderr += text
    })
    while (!stderr.includes('waiting')) await pause(50)
    first.kill('SIGINT')
    await once(first, 'close')
    expect(first.exitCode).toBe(130)
    expect(stderr).toContain('goes on')
    await using jobs = await openJobQueue(queue)
    expect(await jobs.list()).toMatchObject([{ state: 'waiting', done: 0, total: 1 }])
    const worker = new QueueWorker(['--queue', queue.url, '--prefix', queue.prefix, '--until-idle'])
    const alone = await hyperslab(sources.folder, ['reduce', NETCDF, 'tas', '--op', 'max'])
    expect((await hyperslab(sources.folder, args)).stdout).toBe(alone.stdout)
    expect(await worker.ended()).toBe(0)
  })
})
