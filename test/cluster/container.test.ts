import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { treeOfJob } from '../../src/cluster/job-plan.ts'
import {
  type CopyOperation,
  type CopySettings,
  local,
  nodeCounts,
  openJob,
  type PartialResult,
  planJob,
} from '../../src/runtime/cluster.ts'
import { openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { create, open } from '../../src/runtime/index.ts'
import { FILL, inTurn, runNodes, SHAPE, sourcesInMemory, valuesOf, writeMonths } from './support.ts'

const sources = sourcesInMemory('container')
const DTYPES = ['float32', 'float64', 'int16', 'int32', 'int64', 'uint8'] as const
const NAMES = ['time', 'lat', 'lon']

let folder: string
/** Container with an array of texts, an array without elements and an unwritten one. */
let mixed: string
beforeAll(async () => {
  folder = join(sources.folder, 'out')
  mkdirSync(folder)
  mixed = join(sources.folder, 'mixed.af')
  await using file = await create(mixed)
  const words = Array.from({ length: 30 }, (_, i) => 'ä'.repeat(i % 7) + i)
  await file.createArray('words', { dtype: 'string', shape: [5, 6], chunks: [2, 6], fillValue: '' }).set(null, words)
  file.createArray('nothing', { dtype: 'int16', shape: [0, 4] })
  file.createArray('unwritten', { dtype: 'float32', shape: [9], chunks: [2], fillValue: Number.NaN })
  await file.flush()
})
afterAll(() => rmSync(folder, { recursive: true }))

let targets = 0
const newTarget = (): string => join(folder, `out-${++targets}.af`)

const copied = (target: string, names: readonly string[], options: CopySettings): CopyOperation => ({
  method: 'copy',
  source: {
    arrays: Object.fromEntries(names.map((name) => [name, sources.recipes.get(`container ${name}`)!])),
    groups: { '': { title: 'copied', levels: [1, 2.5] } },
  },
  target,
  options,
})

/** Lists the files beside a container that begin with its name. */
const besides = (target: string): string[] =>
  readdirSync(folder).filter((name) => join(folder, name).startsWith(target.slice(0, -2)) && join(folder, name) !== target)

describe.each([
  ['a container', {}],
  ['a file of footer version 6', { immutable: true }],
] as const)('%s by tasks', (_, kind) => {
  const copyOf = (target: string, names: readonly string[], options: CopyOperation['options'] = {}): CopyOperation =>
    copied(target, names, { ...kind, ...options })

  test('has the elements, whoever packs them, in whatever chunks, order and number of times', async () => {
    const length = fc.integer({ min: 1, max: 50 })
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          chunks: fc.tuple(length, length, length),
          taskBytes: fc.integer({ min: 1, max: 20_000 }),
          codec: fc.constantFrom('lz4', 'zstd', 'none'),
          blockBytes: fc.integer({ min: 1, max: 4000 }),
          names: fc.subarray([...DTYPES], { minLength: 1, maxLength: 2 }),
          twice: fc.boolean(),
          seed: fc.integer(),
        }),
        async ({ chunks, taskBytes, codec, blockBytes, names, twice, seed }) => {
          const target = newTarget()
          const lengths = chunks.map((each, axis) => Math.min(each, SHAPE[axis]!))
          const options = { codec, blockBytes, chunks: Object.fromEntries(NAMES.map((name, axis) => [name, lengths[axis]!])) }
          const plan = await planJob(copyOf(target, names, options), { taskBytes })
          fc.pre(nodeCounts(plan)[0]! <= 300)
          const shuffled = (nodes: number[]): number[] =>
            [...nodes, ...(twice ? nodes : [])].sort((a, b) => Math.sin(a + seed) - Math.sin(b + seed))
          await runNodes(plan, shuffled)
          await using job = await openJob(plan)
          await job.clean()
          const bytes = readFileSync(target)
          const file = await open(target)
          expect(file.arrays()).toEqual(names)
          expect(file.attrs.get('title')).toBe('copied')
          for (const name of names) {
            const array = file.array(name)
            expect(array.chunks.chunkShape).toEqual(lengths)
            expect(array.dimensionNames).toEqual(NAMES)
            const fill = name === 'int64' ? BigInt(FILL) * 2_000_003n : FILL
            expect(array.fillValue).toBe(fill)
            expect((await array.get(null)).data).toEqual(valuesOf(name, FILL))
          }
          expect(await file.verify({ deep: true })).toMatchObject({ ok: true, checked: { blocksWithoutChecksum: 0 } })
          expect(file.layers()).toMatchObject([{ version: 'immutable' in kind ? 6 : 5 }])
          await file.close()
          // The same plan gives the same bytes wherever it is run.
          rmSync(target)
          await local({ concurrency: 3 }).run(plan)
          expect(readFileSync(target).equals(bytes)).toBe(true)
          expect(besides(target)).toEqual([])
          rmSync(target)
        },
      ),
      { numRuns: 12 },
    )
  })

  test('reads no block of another chunk than is asked for, and knows statistics of its chunks', async () => {
    const target = newTarget()
    const options = { chunks: { time: 1, lat: 3, lon: 11 }, blockBytes: 1 }
    await local().run(await planJob(copyOf(target, ['float64'], options), { taskBytes: 47 * 33 * 2 }))
    await using file = await open(target)
    const array = file.array('float64')
    expect((await array.get([5, 0, null])).data).toEqual(valuesOf('float64', FILL).subarray(5 * 33, 5 * 33 + 11))
    expect(file.readCost.blocks).toBe(1)
    const numbers = [...valuesOf('float64', FILL)].filter((value) => value !== FILL)
    expect(await array.max({ skipMissing: true })).toBe(Math.max(...numbers))
    expect(file.readCost.blocks).toBe(1)
  })

  test.each(['lz4', 'none'])('has blocks of segments, of which those are read that are wanted: %s', async (codec) => {
    const location = join(folder, `wide-${codec}.af`)
    // So that LZ4 leaves most of it.
    const data = Float64Array.from({ length: 32 * 16_384 }, (_, i) => Math.sin(i))
    const file = await create(location, { overwrite: true })
    const dimensionNames = ['y', 'x']
    await file.createArray('wide', { dtype: 'float64', shape: [32, 16_384], chunks: [1, 16_384], dimensionNames }).set(null, data)
    await file.flush()
    await file.close()
    const target = newTarget()
    const options = { ...kind, codec, chunks: { y: 1, x: 16_384 }, blockBytes: 2 ** 20 }
    const operation: CopyOperation = {
      method: 'copy',
      source: { arrays: { wide: { location, array: 'wide' } } },
      target,
      options,
    }
    const plan = await planJob(operation, { taskBytes: 2 ** 20 })
    expect(nodeCounts(plan)[0]).toBe(4)
    await runNodes(plan, inTurn)
    const copy = await open(target)
    for (const row of [3, 12, 31]) {
      const before = copy.readCost.bytes
      expect((await copy.array('wide').get([row, null])).data).toEqual(data.subarray(row * 16_384, (row + 1) * 16_384))
      expect(copy.readCost.bytes - before).toBeLessThan(2 ** 19)
    }
    await copy.close()
    await using again = await open(target)
    expect(await again.verify({ deep: true })).toMatchObject({ ok: true, checked: { blocks: expect.any(Number) } })
  })

  test('that is removed while a task finds it complete is not made anew without that part', async () => {
    const target = newTarget()
    const plan = await planJob(copyOf(target, ['float32'], { chunks: { time: 4 } }), { taskBytes: 600 })
    await local().run(plan)
    await using late = await openJob(plan)
    const parts = [await late.runTask(0)]
    rmSync(target)
    await using job = await openJob(plan)
    for (let i = 1; i < nodeCounts(plan)[0]!; i++) parts.push(await job.runTask(i))
    await expect(job.merge(1, 0, parts)).rejects.toMatchObject({ tag: 'FormatError', message: expect.stringContaining('parts') })
    expect(existsSync(target)).toBe(false)
    await job.clean()
  })

  test('takes texts, arrays of nothing, and those that nobody wrote to', async () => {
    const target = newTarget()
    const arrays = Object.fromEntries(['words', 'nothing', 'unwritten'].map((array) => [array, { location: mixed, array }]))
    const plan = await planJob({ method: 'copy', source: { arrays }, target, options: kind }, { taskBytes: 1 })
    await runNodes(plan, inTurn)
    await using file = await open(target)
    await using from = await open(mixed)
    for (const name of from.arrays()) {
      expect((await file.array(name).get(null)).data).toEqual((await from.array(name).get(null)).data)
      expect(file.array(name).fillValue).toEqual(from.array(name).fillValue)
    }
    expect((await file.verify({ deep: true })).ok).toBe(true)
    const [first, second] = [newTarget(), newTarget()]
    const source = { arrays: { nothing: arrays['nothing']! } }
    const plans = [first, second].map((target) => planJob({ method: 'copy', source, target, options: kind }))
    await local().run(await plans[0]!)
    await runNodes(await plans[1]!, inTurn)
    for (const each of [first, second]) expect((await open(each)).array('nothing').shape).toEqual([0, 4])
  })

  test('of many files is what they are together, packed as they were', async () => {
    const own = join(folder, 'months')
    mkdirSync(own, { recursive: true })
    const { files } = writeMonths(own, 4)
    const [target, alone] = [newTarget(), newTarget()]
    const plan = await planJob(
      { method: 'copy', source: { dataset: files }, target, options: { ...kind, chunks: { time: 3 } } },
      { taskBytes: 200 },
    )
    expect(nodeCounts(plan)[0]).toBeGreaterThan(4)
    await runNodes(plan, inTurn)
    await using joined = await openDatasets(files)
    await joined.write(alone, { chunks: { time: 3 } })
    await using written = await openDataset(target)
    await using expected = await openDataset(alone)
    expect((await written.get('tas').array.get(null)).data).toEqual((await expected.get('tas').array.get(null)).data)
    expect(written.get('tas').attrs).toEqual(expected.get('tas').attrs)
    expect(written.attrs).toEqual(expected.attrs)
    await using a = await open(target)
    await using b = await open(alone)
    for (const name of ['tas', 'time', 'lat'])
      expect((await a.array(name).get(null)).data).toEqual((await b.array(name).get(null)).data)
  })

  test('is not there before the last merge, of hundreds of tasks in three levels', async () => {
    const target = newTarget()
    const options = { chunks: { time: 1, lat: 1, lon: 3 } }
    const plan = await planJob(copyOf(target, ['uint8'], options), { taskBytes: 3 })
    expect(treeOfJob(plan).counts).toEqual([564, 3, 1])
    await using job = await openJob(plan)
    const parts: PartialResult[] = []
    for (let i = 0; i < 564; i++) parts.push(await job.runTask(i))
    const merged = [0, 1, 2].map((i) => job.merge(1, i, parts.slice(i * 256, (i + 1) * 256)))
    const children = await Promise.all(merged)
    expect(existsSync(target)).toBe(false)
    await job.merge(2, 0, children)
    expect((await (await open(target)).array('uint8').get(null)).data).toEqual(valuesOf('uint8', FILL))
    // A worker that was thought dead does the same once more.
    const { mtimeMs } = statSync(target)
    await job.merge(2, 0, children)
    await job.runTask(3)
    expect(statSync(target).mtimeMs).toBe(mtimeMs)
    await job.clean()
    expect(besides(target)).toEqual([])
  })

  test('of a source that changes ends with an error, publishes nothing and leaves nothing', async () => {
    const location = join(folder, 'changing.af')
    copyFileSync(join(sources.folder, 'x.af'), location)
    const target = newTarget()
    const source = { arrays: { x: { location, array: 'int32' } } }
    const plan = await planJob({ method: 'copy', source, target, options: { ...kind, chunks: { time: 4 } } }, { taskBytes: 600 })
    let done = 0
    const onProgress = (): void => {
      if (++done === 2) appendFileSync(location, ' ')
    }
    await expect(local({ concurrency: 1 }).run(plan, { onProgress })).rejects.toMatchObject({
      tag: 'ConflictError',
      details: { file: location },
    })
    expect(done).toBeGreaterThan(2)
    expect([existsSync(target), ...besides(target)]).toEqual([false])
  })

  test('removes what workers have left that died in the middle of a write, and nothing of others', async () => {
    const target = newTarget()
    const plan = await planJob(copyOf(target, ['float32'], { chunks: { time: 4 } }), { taskBytes: 600 })
    await using job = await openJob(plan)
    await job.runTask(0)
    const temporary = `.4711-${'0123456789ab'.repeat(2)}.tmp`
    const other = join(folder, `another.af${temporary}`)
    const left = [target, join(plan.scratch!, plan.id, 'part-2-ab'), join(plan.scratch!, plan.id, 'upload')]
    for (const name of [...left.map((name) => name + temporary), other]) writeFileSync(name, 'half')
    await local().run(plan)
    expect(besides(target)).toEqual([])
    expect(existsSync(other)).toBe(true)
    rmSync(other)
  })

  test('that is aborted leaves nothing', async () => {
    const target = newTarget()
    const controller = new AbortController()
    const plan = await planJob(copyOf(target, ['float32'], { chunks: { time: 4 } }), { taskBytes: 600 })
    const run = local().run(plan, { signal: controller.signal, onProgress: () => controller.abort(new Error('enough')) })
    await expect(run).rejects.toThrow('enough')
    expect([existsSync(target), ...besides(target)]).toEqual([false])
  })

  test('takes the place of nothing: neither a file, nor sidecars, nor what another job has made', async () => {
    const target = newTarget()
    const plan = await planJob(copyOf(target, ['int16']))
    const places = [target, target.replace('.af', '.3.af'), ...('immutable' in kind ? [target.replace('.af', '.stats')] : [])]
    for (const name of places) {
      const bytes = 'no container'
      writeFileSync(name, bytes)
      await expect(local().run(plan)).rejects.toMatchObject({ tag: expect.stringMatching(/AlreadyExists|Format/) })
      expect(readFileSync(name, 'utf8')).toBe(bytes)
      expect(besides(target)).toEqual(name === target ? [] : [basename(name)])
      rmSync(name)
    }
    await local().run(plan)
    const { mtimeMs } = statSync(target)
    // The same job is done.
    await local().run(plan)
    expect(statSync(target).mtimeMs).toBe(mtimeMs)
    await expect(local().run(await planJob(copyOf(target, ['int32'])))).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect((await open(target)).arrays()).toEqual(['int16'])
    expect(besides(target)).toEqual([])
  })

  test('is made by the first of two jobs that publish at once, and the other one is told', async () => {
    const target = newTarget()
    const jobs = await Promise.all(['int16', 'int32'].map(async (name) => openJob(await planJob(copyOf(target, [name])))))
    const parts = await Promise.all(jobs.map((job) => job.runTask(0)))
    const ends = await Promise.allSettled(jobs.map((job, i) => job.merge(1, 0, [parts[i]!])))
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const winner = ends[0]!.status === 'fulfilled' ? 'int16' : 'int32'
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { tag: 'AlreadyExistsError' } })
    expect((await open(target)).arrays()).toEqual([winner])
    expect((await (await open(target)).array(winner).get(null)).data).toEqual(valuesOf(winner, FILL))
    await Promise.all(jobs.map((job) => job.close()))
  })

  test('of parts that are not those of the plan is refused', async () => {
    const target = newTarget()
    const plan = await planJob(copyOf(target, ['float32'], { chunks: { time: 4 } }), { taskBytes: 600 })
    await using job = await openJob(plan)
    const count = nodeCounts(plan)[0]!
    const parts = await Promise.all(Array.from({ length: count }, (_, i) => job.runTask(i)))
    await expect(job.merge(1, 0, [parts[1]!, ...parts.slice(1)])).rejects.toMatchObject({ tag: 'FormatError' })
    await expect(job.merge(1, 0, parts.slice(1))).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    // A file of the scratch folder that was cut short.
    const scratch = join(plan.scratch!, plan.id)
    const cut = readdirSync(scratch).find((name) => name.startsWith('part-'))!
    const bytes = readFileSync(join(scratch, cut))
    writeFileSync(join(scratch, cut), bytes.subarray(1))
    await expect(job.merge(1, 0, parts)).rejects.toMatchObject({ tag: 'FormatError' })
    expect(existsSync(target)).toBe(false)
    writeFileSync(join(scratch, cut), bytes)
    await job.merge(1, 0, parts)
    expect(existsSync(target)).toBe(true)
  })

  test('has no shards, levels, groups, nor codecs of Zarr, and Zarr has no blocks', async () => {
    const refused = (operation: CopyOperation) => expect(planJob(operation)).rejects
    for (const options of [{ shards: { time: 2 } }, { levels: 2 }, { codec: 'gzip' }, { blockBytes: 0 }, { chunkz: {} }])
      await refused(copyOf('x.af', ['int16'], options as never)).toMatchObject({ tag: 'InvalidArgumentError' })
    for (const options of [{ blockBytes: 4096 }, { immutable: true }])
      await refused(copied('x.zarr', ['int16'], options)).toMatchObject({ tag: 'InvalidArgumentError' })
    await refused(copyOf('x.af', ['int16'], { chunks: { depth: 3 } })).toMatchObject({ tag: 'InvalidArgumentError' })
    await refused(copyOf('x.7.af', ['int16'])).toMatchObject({ tag: 'InvalidArgumentError' })
    const { arrays } = copyOf('x.af', ['int16']).source as { arrays: object }
    const groups = { sub: { a: 1 } }
    await refused({ method: 'copy', source: { arrays, groups } as never, target: 'x.af' }).toMatchObject({
      tag: 'InvalidArgumentError',
    })
    const unnamed = { arrays: { '': Object.values(arrays)[0] } }
    await refused({ method: 'copy', source: unnamed as never, target: 'x.af' }).toMatchObject({ tag: 'InvalidArgumentError' })
    expect((await planJob(copyOf('/tmp/x.af', ['int16']))).scratch).toBe('/tmp/x.af.parts')
  })
})

test('a container by tasks has the statistics of its own elements, whatever an earlier container of its name has left', async () => {
  const target = newTarget()
  copyFileSync(join(sources.folder, 'x.stats'), target.replace('.af', '.stats'))
  const plan = await planJob(copied(target, ['float32'], { chunks: { time: 4 } }), { taskBytes: 600 })
  await local().run(plan)
  expect(besides(target)).toEqual([])
  await using file = await open(target)
  const { min, nullCount } = await file.stats('float32')
  const numbers = [...valuesOf('float32', FILL)]
  expect(min).toBe(Math.min(...numbers.filter((value) => value !== FILL)))
  expect(nullCount).toBe(numbers.filter((value) => value === FILL).length)
})
