import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { treeOfJob } from '../../src/cluster/job-plan.ts'
import { hashJson } from '../../src/cluster/plan-parts.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { arrayAsStored } from '../../src/copy/stored-arrays.ts'
import {
  type CopyOperation,
  type CopyPlan,
  type Job,
  local,
  nodeCounts,
  openJob,
  type PartialResult,
  planJob,
} from '../../src/runtime/cluster.ts'
import { openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { create, open } from '../../src/runtime/index.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { folderInMemory } from '../support/folder.ts'
import { inTurn, objectsOf, runNodes, writeMonths } from './support.ts'

let folder: string
let location: string
const SHAPE = [12, 10, 9]
const LARGE = [128, 128, 128]
const data = Float32Array.from({ length: 12 * 10 * 9 }, (_, i) => (i % 7 === 0 ? -999 : Math.sin(i)))
beforeAll(async () => {
  folder = await folderInMemory('copy')
  location = join(folder, 'x.af')
  const file = await create(location)
  const dimensionNames = ['time', 'lat', 'lon']
  const options = { shape: SHAPE, chunks: [1, 10, 9], dimensionNames }
  const array = file.createArray('tas', { ...options, dtype: 'float32', fillValue: -999 })
  await array.set(null, data)
  await file.createArray('n', { ...options, dtype: 'int32' }).set(null, Int32Array.from(data.keys()))
  // So large that to read it often takes longer than to write it twice.
  const large = { dtype: 'int32', shape: LARGE, chunks: [1, 128, 128], dimensionNames: ['t', 'y', 'x'] } as const
  await file.createArray('large', large).set(
    null,
    Int32Array.from({ length: 128 ** 3 }, (_, i) => i),
  )
  await file.flush()
  await file.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

let targets = 0
const newTarget = (): string => join(folder, `out-${++targets}.zarr`)

const copyOf = (target: string, options: CopyOperation['options'] = {}): CopyOperation => ({
  method: 'copy',
  source: { arrays: { tas: { location, array: 'tas' }, 'sub/n': { location, array: 'n' } }, groups: { '': { title: 'both' } } },
  target,
  options,
})

/** Chunks of series take two passes where little is held. */
const SERIES = { chunks: { t: 128, y: 8, x: 8 }, codec: 'none' }
const toSeries = (target: string): Promise<CopyPlan> =>
  planJob(
    { method: 'copy', source: { arrays: { large: { location, array: 'large' } } }, target, options: SERIES },
    { taskBytes: 512 * 1024 },
  )

/** Copies arrays in one process; returns the objects written. */
async function writtenHere(names: Record<string, string>, options: CopyOperation['options'] = {}): Promise<Map<string, string>> {
  const target = newTarget()
  const file = await open(location)
  const arrays = Object.entries(names).map(([path, name]) => arrayAsStored(path, file.array(name) as never))
  await exportZarr({ attributes: new Map([['title', 'both']]), arrays }, target, options)
  await file.close()
  return objectsOf(target)
}

const phasesOf = (plan: CopyPlan): unknown => treeOfJob(plan).phases?.map((levels) => levels[0])

const SHARDED = { chunks: { time: 3, lat: 5, lon: 3 }, shards: { time: 6, lat: 5, lon: 9 }, codec: 'gzip', level: 2 }

describe('a copy by tasks', () => {
  test.each([
    ['as it is', {}, 1e9, [2]],
    ['in shards', SHARDED, 1100, [8]],
  ] as const)('writes what one process writes: %s', async (_, options, taskBytes, phases) => {
    const expected = await writtenHere({ tas: 'tas', 'sub/n': 'n' }, options)
    const here = newTarget()
    const plan = await planJob(copyOf(here, options), { taskBytes })
    expect(phasesOf(plan)).toEqual(phases)
    const seen: number[] = []
    const onProgress = ({ done }: { done: number }): void => void seen.push(done)
    expect(await local({ concurrency: 3 }).run(plan, { onProgress })).toEqual({ target: here, arrays: ['tas', 'sub/n'] })
    expect(seen).toEqual(Array.from({ length: phases[0] }, (_, i) => i + 1))
    expect(objectsOf(here)).toEqual(expected)
    const there = newTarget()
    await runNodes(await planJob(copyOf(there, options), { taskBytes }), (nodes) => nodes.reverse())
    expect(objectsOf(there)).toEqual(expected)
  })

  test('keeps whole floats and long integers of group attributes that the recipe has as text', async () => {
    const text = '{"scale":10.0,"list":[1.0,2],"long":9007199254740993,"inner":{"x":2.0}}'
    const target = newTarget()
    const arrays = { tas: { location, array: 'tas' } }
    const operation = { method: 'copy', source: { arrays, groups: { '': text, sub: '{"level":1.0}' } }, target } as const
    await local().run(await planJob(operation))
    const written = (path: string): string => readFileSync(join(target, path, 'zarr.json'), 'utf8').replace(/\s/g, '')
    expect(written('')).toContain(`"attributes":${text}`)
    expect(written('sub')).toContain('"attributes":{"level":1.0}')
    const refused = planJob({ ...operation, source: { arrays, groups: { '': '[1]' } }, target: newTarget() })
    await expect(refused).rejects.toMatchObject({ tag: 'InvalidArgumentError', message: /group ''/ })
  })

  test('in two passes reads all before it writes any, and writes what one process writes', async () => {
    const target = newTarget()
    const plan = await toSeries(target)
    expect(phasesOf(plan)).toEqual([16, 16])
    await runNodes(plan, (nodes) => nodes.reverse())
    const copied = await openZarr(`${target}/large`, { kind: 'array' })
    const { data: series } = await copied.get([null, 5, 7])
    expect([...(series as Int32Array)]).toEqual(Array.from({ length: 128 }, (_, t) => (t * 128 + 5) * 128 + 7))
    const here = newTarget()
    await local({ concurrency: 3 }).run(await toSeries(here))
    expect(objectsOf(here)).toEqual(objectsOf(target))
    const file = await open(location)
    const alone = newTarget()
    await exportZarr({ attributes: new Map(), arrays: [arrayAsStored('large', file.array('large') as never)] }, alone, SERIES)
    await file.close()
    expect(objectsOf(alone)).toEqual(objectsOf(target))
  })

  test('of any array, in any chunks and order, twice where it likes, has the elements of the array', async () => {
    const length = fc.integer({ min: 1, max: 12 })
    const lengths = fc.tuple(length, length, length)
    await fc.assert(
      fc.asyncProperty(
        lengths,
        fc.integer({ min: 16, max: 4000 }),
        fc.boolean(),
        fc.integer(),
        async (chunks, taskBytes, twice, seed) => {
          const [time, lat, lon] = chunks.map((each, axis) => Math.min(each, SHAPE[axis]!)) as [number, number, number]
          const target = newTarget()
          const source = { arrays: { '': { location, array: 'tas', views: [{ select: [{ start: 1 }, null, null] }] } } }
          const plan = await planJob(
            { method: 'copy', source, target, options: { chunks: { time: Math.min(time, 11), lat, lon } } },
            { taskBytes },
          )
          const shuffled = (nodes: number[]): number[] =>
            [...nodes, ...(twice ? nodes : [])].sort((a, b) => Math.sin(a + seed) - Math.sin(b + seed))
          await runNodes(plan, shuffled)
          const copied = await openZarr(target, { kind: 'array' })
          expect(copied.chunks.chunkShape).toEqual([Math.min(time, 11), lat, lon])
          expect((await copied.get()).data).toEqual(data.subarray(90))
          expect(readdirSync(target)).not.toContain('.hyperslab-scratch')
          rmSync(target, { recursive: true })
        },
      ),
      { numRuns: 8 },
    )
  })

  test('of a dataset writes what export writes', async () => {
    const target = newTarget()
    const here = newTarget()
    const ds = await openDataset(location)
    await ds.write(here, { chunks: { lat: 5 } })
    await ds.close()
    await local().run(await planJob({ method: 'copy', source: { dataset: location }, target, options: { chunks: { lat: 5 } } }))
    expect(objectsOf(target)).toEqual(objectsOf(here))
  })

  test('with levels writes each when the one before is written, as one process does', async () => {
    const pyramid = { levels: 3, chunks: { time: 12, lat: 4, lon: 4 } }
    const [here, there, alone] = [newTarget(), newTarget(), newTarget()]
    const ds = await openDataset(location)
    const two = ds.drop('large')
    await two.write(alone, pyramid)
    await ds.close()
    const planTo = (target: string) =>
      planJob(
        { method: 'copy', source: { dataset: location, variables: ['tas', 'n'] }, target, options: pyramid },
        { taskBytes: 4000 },
      )
    const plan = await planTo(here)
    expect((phasesOf(plan) as number[]).length).toBe(3)
    await local({ concurrency: 3 }).run(plan)
    expect(objectsOf(here)).toEqual(objectsOf(alone))
    await runNodes(await planTo(there), (nodes) => nodes.reverse())
    expect(objectsOf(there)).toEqual(objectsOf(alone))
    await expect(planJob({ ...plan.operation, options: { levels: 0 } })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('of many files writes what they are together, in whole shards, as one process does', async () => {
    const { files, values } = writeMonths(folder, 5)
    const [here, there, alone] = [newTarget(), newTarget(), newTarget()]
    const options = { chunks: { time: 2, lat: 3 }, shards: { time: 8, lat: 6 } }
    const importTo = (target: string) =>
      planJob({ method: 'copy', source: { dataset: files.toReversed(), dim: 'time' }, target, options }, { taskBytes: 400 })
    const ds = await openDatasets(files)
    await ds.write(alone, options)
    await ds.close()
    const plan = await importTo(here)
    expect([plan.arrays['tas']!.shape, Object.keys(plan.pins).length, plan.leftOut]).toEqual([[20, 6], 5, []])
    // Three shards of temperatures; times and latitudes are one each.
    expect(phasesOf(plan)).toEqual([5])
    await local().run(plan)
    await runNodes(await importTo(there), (nodes) => nodes.reverse())
    expect(objectsOf(here)).toEqual(objectsOf(alone))
    expect(objectsOf(there)).toEqual(objectsOf(alone))
    const written = await openDataset(here)
    expect([...((await written.get('tas').values()) as Float64Array)]).toEqual(values)
    await written.close()
    appendFileSync(files[3]!, ' ')
    await expect(local().run(plan)).rejects.toMatchObject({ tag: 'ConflictError', details: { file: files[3] } })
  })

  test.each(['rewritten in place', 'replaced'])(
    'of a file that is %s while tasks run ends with an error, and shows nothing',
    async (how) => {
      const own = join(folder, how)
      mkdirSync(own)
      const { files } = writeMonths(own, 3)
      const target = newTarget()
      const operation = { method: 'copy', source: { dataset: files }, target, options: { chunks: { time: 4 } } } as const
      await using job = await openJob(await planJob(operation, { taskBytes: 48 }))
      const refusal = { tag: 'ConflictError', details: { file: files[1] } }
      const count = nodeCounts(job.plan)[0]!
      const results = [await job.runTask(0)]
      if (how === 'replaced') {
        copyFileSync(files[1]!, join(own, 'other'))
        renameSync(join(own, 'other'), files[1]!)
        // A process that has the file open continues to read the old one.
        for (let i = 1; i < count; i++) results.push(await job.runTask(i))
        await expect(job.merge(1, 0, results)).rejects.toMatchObject(refusal)
      } else {
        appendFileSync(files[1]!, ' ')
        for (let i = 1; i < count; i++) {
          const result = await job.runTask(i).catch((error: unknown) => error)
          if (result instanceof Error) expect(result).toMatchObject(refusal)
          else results.push(result as (typeof results)[0])
        }
        expect(results.length).toBeLessThan(count)
      }
      expect(readdirSync(target)).not.toContain('zarr.json')
    },
  )

  test('shows nothing before all is there, goes on where it was, and is left as it is when it is complete', async () => {
    const target = newTarget()
    const plan = await toSeries(target)
    let tasks = 0
    const stopped = runNodes(plan, inTurn, () => {
      if (tasks++ === 20) throw new Error('killed')
    })
    await expect(stopped).rejects.toThrow('killed')
    expect(readdirSync(target).sort()).toEqual(['.hyperslab-plan.json', '.hyperslab-scratch', 'large'])
    await local().run(plan)
    expect(readdirSync(target).sort()).toEqual(['large', 'zarr.json'])
    const written = join(target, 'large/c/0/0/0')
    utimesSync(written, 1, 1)
    await runNodes(plan, inTurn)
    expect(statSync(written).mtimeMs).toBe(1000)
    expect(readdirSync(target)).not.toContain('.hyperslab-scratch')
  })

  test('that another worker has ended meanwhile is left as it is, whatever became of the source', async () => {
    const changing = join(folder, 'ended.af')
    copyFileSync(location, changing)
    const target = newTarget()
    const source = { arrays: { tas: { location: changing, array: 'tas' } } }
    await using job = await openJob(await planJob({ method: 'copy', source, target }))
    await using late = await openJob(job.plan)
    const parts: PartialResult[] = []
    for (let i = 0; i < nodeCounts(job.plan)[0]!; i++) parts.push(await job.runTask(i))
    await job.merge(1, 0, parts)
    const before = objectsOf(target)
    appendFileSync(changing, ' ')
    await late.merge(1, 0, parts)
    expect(objectsOf(target)).toEqual(before)
  })

  test('removes what workers have left that died in the middle of a write', async () => {
    const target = newTarget()
    const plan = await toSeries(target)
    await using job = await openJob(plan)
    await job.runTask(0)
    const temporary = `.4711-${'0123456789ab'.repeat(2)}.tmp`
    const left = ['.hyperslab-scratch/0/c.0.0.0', 'large/c/0/3/zarr', 'large/zarr.json'].map((name) =>
      join(target, name + temporary),
    )
    for (const name of left) {
      mkdirSync(dirname(name), { recursive: true })
      writeFileSync(name, 'half')
    }
    await local().run(plan)
    expect(readdirSync(target).sort()).toEqual(['large', 'zarr.json'])
    expect(readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test('of which a task comes late leaves no intermediate array behind', async () => {
    const target = newTarget()
    const plan = await toSeries(target)
    await using late = await openJob(plan)
    await late.runTask(0)
    await local().run(plan)
    await late.runTask(0)
    expect(readdirSync(target).sort()).toEqual(['large', 'zarr.json'])
  })

  test('of many tasks shows nothing before the last merge', async () => {
    const target = newTarget()
    const source = { arrays: { '': { location, array: 'n' } } }
    const chunks = { time: 1, lat: 1, lon: 3 }
    const plan = await planJob({ method: 'copy', source, target, options: { chunks, codec: 'none' } }, { taskBytes: 12 })
    expect(treeOfJob(plan).counts).toEqual([360, 2, 1])
    await using job = await openJob(plan)
    const parts = await Promise.all(Array.from({ length: 360 }, (_, i) => job.runTask(i)))
    const merged = [await job.merge(1, 0, parts.slice(0, 256)), await job.merge(1, 1, parts.slice(256))]
    expect(readdirSync(target)).not.toContain('zarr.json')
    await job.merge(2, 0, merged)
    expect((await (await openZarr(target, { kind: 'array' })).get()).data).toEqual(Int32Array.from(data.keys()))
    // The metadata of an array of its own name the write, too.
    expect(readdirSync(target).sort()).toEqual(['c', 'zarr.json'])
    const before = statSync(join(target, 'zarr.json')).mtimeMs
    await local().run(plan)
    expect(statSync(join(target, 'zarr.json')).mtimeMs).toBe(before)
    expect(readdirSync(target).sort()).toEqual(['c', 'zarr.json'])
  })

  test('takes no place where there is something, and none that another copy has', async () => {
    const target = newTarget()
    const plan = await planJob(copyOf(target))
    await local().run(plan)
    const before = objectsOf(target)
    const exists = { tag: 'AlreadyExistsError', details: { file: target } }
    await expect(local().run(await planJob(copyOf(target, SHARDED)))).rejects.toMatchObject(exists)
    expect(objectsOf(target)).toEqual(before)
    await expect(local().run(await planJob(copyOf(folder)))).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect(readdirSync(folder)).not.toContain('.hyperslab-plan.json')
    const [one, two] = [newTarget(), newTarget()]
    const both = await Promise.allSettled(
      [copyOf(one), copyOf(one, SHARDED)].map(async (each) => local().run(await planJob(each))),
    )
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await local().run(await planJob(copyOf(two, both[0]!.status === 'fulfilled' ? {} : SHARDED)))
    expect(objectsOf(one)).toEqual(objectsOf(two))
  })

  test('of a source that changes ends with an error, and shows nothing', async () => {
    const changing = join(folder, 'changing.af')
    copyFileSync(location, changing)
    const target = newTarget()
    const source = { arrays: { tas: { location: changing, array: 'tas' } } }
    const plan = await planJob({ method: 'copy', source, target })
    utimesSync(changing, 1, 1)
    await expect(local().run(plan)).rejects.toMatchObject({ tag: 'ConflictError', details: { file: changing } })
    expect(readdirSync(folder)).not.toContain(target.split('/').at(-1))
  })

  test('takes a part of the intermediate array that is gone for an error', async () => {
    const target = newTarget()
    let tasks = 0
    const run = runNodes(await toSeries(target), inTurn, () => {
      const scratch = join(target, '.hyperslab-scratch/0')
      if (tasks++ === 16) rmSync(join(scratch, readdirSync(scratch)[0]!))
    })
    await expect(run).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(readdirSync(target)).not.toContain('zarr.json')
  })

  test('is refused where paths lead elsewhere, options are misspelt, or regions are not those of the array', async () => {
    const target = newTarget()
    const refused = { tag: 'InvalidArgumentError' }
    const array = { location, array: 'tas' }
    for (const operation of [
      { ...copyOf(target), source: { arrays: { '../x': array } } },
      { ...copyOf(target), source: { arrays: { '': array, n: array } } },
      { ...copyOf(target), source: { arrays: { a: array, 'a/b': array } } },
      { ...copyOf(target), source: { arrays: {} } },
      { ...copyOf(target), source: { dataset: location, variable: 'tas' } },
      { ...copyOf(target), source: { dataset: location, dim: 'time' } },
      { ...copyOf(target), source: { dataset: [] } },
      { ...copyOf(target), source: { dataset: [location], gaps: 'fill' } },
      { ...copyOf(target), source: { dataset: [location, 's3://key:secret@bucket/x.nc'] } },
      { ...copyOf(target), target: 's3://key:secret@bucket/x.zarr' },
      { ...copyOf(target), taget: '' },
      copyOf(target, { chunk: { time: 1 } } as never),
      copyOf(target, { chunks: { time: 0 } }),
      copyOf(target, { chunks: { depth: 1 } }),
    ])
      await expect(planJob(operation as never), JSON.stringify(operation)).rejects.toMatchObject(refused)
    const { id: _, ...facts } = await planJob(copyOf(target))
    const openWith = async (
      change: (plan: { arrays: Record<string, { regions: unknown; shape: unknown }> }) => void,
    ): Promise<Job> => {
      const plan = structuredClone(facts) as never as Parameters<typeof change>[0]
      change(plan)
      return openJob({ ...plan, id: await hashJson(plan) } as never)
    }
    const format = { tag: 'FormatError' }
    await expect(
      openWith(({ arrays }) => void Object.assign(arrays['tas']!, { regions: { write: [[1, 5, 0]] } })),
    ).rejects.toMatchObject(format)
    await expect(
      openWith(({ arrays }) => void Object.assign(arrays['tas']!, { regions: { write: 'all' } })),
    ).rejects.toMatchObject(format)
    const shorter = { regions: { write: SHAPE.map((length) => [length, length - 1, 0]) } }
    await expect(openWith(({ arrays }) => void Object.assign(arrays['tas']!, shorter))).rejects.toMatchObject(format)
    await expect(openWith(({ arrays }) => void delete arrays['tas'])).rejects.toMatchObject({ tag: 'ConflictError' })
  })
})
