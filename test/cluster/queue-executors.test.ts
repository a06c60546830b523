import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFloat } from '../../src/core/dtype.ts'
import { type ArrayRecipe, bullmq, type Executor, local, planJob, type ReduceOperation, work } from '../../src/runtime/cluster.ts'
import { create } from '../../src/runtime/index.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { byBudget } from '../support/budget.ts'
import { haveQueue, type QueueKind, QueueServer } from '../support/queue-server.ts'
import { bitsOf, FILL, SHAPE, sourcesInMemory, valuesOf } from './support.ts'

const KINDS = process.env['HYPERSLAB_QUEUES']!.split(',') as QueueKind[]
const RUNS = byBudget({ quick: 8, full: 20, soak: 1000 })

/** An array in plain numbers, in C order. */
interface PlainArray {
  readonly shape: readonly number[]
  readonly values: readonly number[]
}

const indicesOf = (shape: readonly number[]): number[][] =>
  shape.reduce<number[][]>((all, length) => all.flatMap((at) => Array.from({ length }, (_, k) => [...at, k])), [[]])

const at = ({ shape, values }: PlainArray, index: readonly number[]): number =>
  values[index.reduce((flat, k, axis) => flat * shape[axis]! + k, 0)]!

/** The elements whose indices along each axis are listed, one after another. */
const taken = (array: PlainArray, lists: readonly (readonly number[])[]): PlainArray => {
  const shape = lists.map(({ length }) => length)
  return {
    shape,
    values: indicesOf(shape).map((index) =>
      at(
        array,
        index.map((k, axis) => lists[axis]![k]!),
      ),
    ),
  }
}

const permuted = (array: PlainArray, order: readonly number[]): PlainArray => {
  const shape = order.map((axis) => array.shape[axis]!)
  const back = (index: readonly number[]): number[] => array.shape.map((_, axis) => index[order.indexOf(axis)]!)
  return { shape, values: indicesOf(shape).map((index) => at(array, back(index))) }
}

const joined = (arrays: readonly PlainArray[]): PlainArray => ({
  shape: [arrays.reduce((sum, { shape }) => sum + shape[0]!, 0), ...arrays[0]!.shape.slice(1)],
  values: arrays.flatMap(({ values }) => values),
})

/** Reduces some elements without the missing ones; returns undefined if none is left. */
function reducedBy(method: string, elements: readonly number[], missing: number | undefined): number | undefined {
  const own = elements.filter((value) => value !== missing)
  const sum = own.reduce((a, b) => a + b, 0)
  if (method === 'count') return own.length
  if (method === 'countNonzero') return own.filter((value) => value !== 0).length
  if (method === 'sum') return sum
  if (own.length === 0) return undefined
  return method === 'mean' ? sum / own.length : method === 'min' ? Math.min(...own) : Math.max(...own)
}

const DTYPES = ['float32', 'float64', 'int16', 'int32', 'uint8'] as const
const storedAs = (dtype: (typeof DTYPES)[number]): PlainArray => ({
  shape: SHAPE,
  values: [...valuesOf(dtype, FILL)].map(Number),
})

interface Case {
  readonly recipe: ArrayRecipe
  /** A function, so that it is not printed when a test fails. */
  readonly plainOf: () => PlainArray
  readonly isExact: boolean
  /** Value of missing elements; undefined for Zarr, where unwritten elements are values. */
  readonly missing: number | undefined
  /** Names of its axes. */
  readonly dims: readonly string[]
}

const sources = sourcesInMemory('executors')

/**
 * An array of some format, of which some is taken along each axis, in another order of axes, once or several
 * times.
 */
const cases = (): fc.Arbitrary<Case> => {
  const axis = (length: number) =>
    fc.oneof(
      fc.constant({ select: null, list: Array.from({ length }, (_, k) => k) }),
      fc.tuple(fc.nat(length - 1), fc.integer({ min: 1, max: 4 })).map(([start, step]) => ({
        select: { start, step },
        list: Array.from({ length: Math.ceil((length - start) / step) }, (_, i) => start + i * step),
      })),
      fc.uniqueArray(fc.nat(length - 1), { minLength: 1, maxLength: 4 }).map((list) => ({ select: list, list })),
    )
  const names = [...sources.recipes.keys()].filter((name) => !name.endsWith('int64'))
  const order = fc.shuffledSubarray([0, 1, 2], { minLength: 3, maxLength: 3 })
  const axes = fc.tuple(...SHAPE.map(axis)) as fc.Arbitrary<{ select: unknown; list: number[] }[]>
  return fc
    .tuple(fc.constantFrom(...names), axes, order, fc.integer({ min: 1, max: 3 }))
    .map(([name, selected, axesInOrder, times]) => {
      const dtype = name.split(' ')[1] as (typeof DTYPES)[number]
      const views = [{ select: selected.map(({ select }) => select) }, { transpose: axesInOrder }]
      const one = { ...sources.recipes.get(name)!, views } as ArrayRecipe
      const lists = selected.map(({ list }) => list)
      const plainOf = (): PlainArray => joined(new Array(times).fill(permuted(taken(storedAs(dtype), lists), axesInOrder)))
      return {
        recipe: times === 1 ? one : { concat: new Array(times).fill(one) },
        plainOf,
        isExact: !isFloat(dtype),
        missing: name.startsWith('zarr') ? undefined : FILL,
        dims: axesInOrder.map((axis) => ['time', 'lat', 'lon'][axis]!),
      }
    })
}

const METHODS = ['sum', 'min', 'max', 'mean', 'count', 'countNonzero'] as const

/** Tests that every executor must pass. */
function conformance(executor: () => Executor): void {
  test('reduces what any recipe names as plain loops do', async () => {
    const axes = fc.option(fc.nat(2), { nil: undefined })
    const property = fc.asyncProperty(
      cases(),
      fc.constantFrom(...METHODS),
      axes,
      fc.nat(1),
      async (given, method, axis, level) => {
        const { recipe, isExact, missing } = given
        const plain = given.plainOf()
        const kept = plain.shape.map((_, k) => k).filter((k) => axis !== undefined && k !== axis)
        const cells = new Map(indicesOf(kept.map((k) => plain.shape[k]!)).map((cell) => [cell.join(), [] as number[]]))
        for (const index of indicesOf(plain.shape)) cells.get(kept.map((k) => index[k]!).join())!.push(at(plain, index))
        const expected = [...cells.values()].map((elements) => reducedBy(method, elements, missing))
        fc.pre(!expected.includes(undefined))
        const options = { ...(axis !== undefined && { axis }) }
        const operation: ReduceOperation = { method, source: recipe, options }
        const plan = await planJob(operation, { unitBytes: 1, taskBytes: 48 * 16 ** level })
        const result = (await executor().run(plan)) as number | { data: ArrayLike<number> }
        const found = typeof result === 'object' ? Array.from(result.data, Number) : [Number(result)]
        expect(found.length).toBe(expected.length)
        const sizes = [...cells.values()].map((elements) => elements.reduce((sum, value) => sum + Math.abs(value), 0))
        for (const [i, value] of found.entries()) {
          const isSame = isExact || ['min', 'max', 'count', 'countNonzero'].includes(method)
          expect(Math.abs(value - expected[i]!), `${method} ${i}`).toBeLessThanOrEqual(
            isSame && method !== 'mean' ? 0 : 1e-6 * sizes[i]!,
          )
        }
      },
    )
    await fc.assert(property, { numRuns: RUNS })
  }, 120_000)

  test('copies what any recipe names, in any chunks', async () => {
    let targets = 0
    const length = fc.integer({ min: 2, max: 12 })
    const lengths = fc.tuple(length, length, length)
    const bytes = fc.integer({ min: 200, max: 5000 })
    const property = fc.asyncProperty(cases(), lengths, bytes, async ({ recipe, plainOf, dims }, most, taskBytes) => {
      const target = join(sources.folder, `copy-${++targets}.zarr`)
      const { shape, values } = plainOf()
      const chunkShape = shape.map((length, k) => Math.min(length, most[k]!))
      const options = { chunks: Object.fromEntries(chunkShape.map((length, k) => [dims[k]!, length])) }
      const plan = await planJob({ method: 'copy', source: { arrays: { '': recipe } }, target, options }, { taskBytes })
      await executor().run(plan)
      const copied = await openZarr(target, { kind: 'array' })
      expect([copied.shape, copied.chunks.chunkShape]).toEqual([shape, chunkShape])
      expect(Array.from((await copied.get()).data as ArrayLike<number>, Number)).toEqual(values)
      rmSync(target, { recursive: true })
    })
    await fc.assert(property, { numRuns: RUNS })
  }, 120_000)

  test('counts its tasks, and ends with the reason of its signal', async () => {
    const source = sources.recipes.get('container int32')!
    const plan = await planJob({ method: 'sum', source, options: { axis: 1 } }, { unitBytes: 1, taskBytes: 48 * 16 })
    const seen: { done: number; total: number }[] = []
    await executor().run(plan, { onProgress: (progress) => seen.push(progress) })
    expect(seen.at(-1)).toMatchObject({ done: 18, total: 18, bytes: 47 * 33 * 4, totalBytes: 47 * 33 * 4 })
    expect(seen.map(({ done }) => done)).toEqual(seen.map(({ done }) => done).sort((a, b) => a - b))
    const other = await planJob({ method: 'max', source }, { unitBytes: 1, taskBytes: 1 })
    await expect(executor().run(other, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    await expect(executor().run({ ...plan, version: 99 })).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await expect(executor().run(plan, { onprogress: () => undefined } as never)).rejects.toThrow("did you mean 'onProgress'?")
  })

  test('throws what the array throws where there is nothing to reduce, each time', async () => {
    const source: ArrayRecipe = { ...sources.recipes.get('container int32')!, views: [{ select: [{ start: 0, stop: 0 }] }] }
    expect(await executor().run(await planJob({ method: 'sum', source }))).toBe(0)
    const plan = await planJob({ method: 'max', source })
    expect(plan).toMatchObject({ tasks: { count: 1 } })
    for (let i = 0; i < 2; i++)
      await expect(executor().run(plan)).rejects.toMatchObject({ tag: 'EmptyReductionError', details: { array: 'int32' } })
    const missing = join(sources.folder, 'missing.af')
    if (!existsSync(missing)) await writeMissing(missing)
    const parts = await planJob({ method: 'min', source: { location: missing, array: 'x' } }, { unitBytes: 1, taskBytes: 1 })
    expect(parts).toMatchObject({ tasks: { count: 300 } })
    for (let i = 0; i < 2; i++)
      await expect(executor().run(parts)).rejects.toMatchObject({ tag: 'EmptyReductionError', details: { array: 'x' } })
  })
}

/** Three hundred chunks of nothing but missing values. */
async function writeMissing(location: string): Promise<void> {
  const file = await create(location)
  const x = file.createArray('x', { dtype: 'float32', shape: [600], chunks: [2], fillValue: FILL })
  await x.set(null, new Float32Array(600).fill(FILL))
  await file.flush()
  await file.close()
}

describe('local', () => conformance(() => local({ concurrency: 3 })))

describe.each(KINDS)('bullmq on %s', (kind) => {
  if (!haveQueue(kind)) return void test.skip(`needs a server: ${kind}`)
  let server: QueueServer
  let ended: Promise<unknown>
  const ending = new AbortController()
  beforeAll(async () => {
    server = await QueueServer.start(kind)
    ended = work({ url: server.url, concurrency: 4, signal: ending.signal, graceSeconds: 0 })
  })
  afterAll(async () => {
    ending.abort()
    await ended
    await server.stop()
  })
  conformance(() => bullmq({ url: server.url }))

  test('answers again what is done without a source', async () => {
    const location = join(sources.folder, `${kind}.af`)
    copyFileSync(join(sources.folder, 'x.af'), location)
    const plan = await planJob({ method: 'std', source: { location, array: 'float32' } }, { unitBytes: 1, taskBytes: 48 })
    const result = await bullmq({ url: server.url }).run(plan)
    expect(bitsOf(result)).toBe(bitsOf(await local().run(plan)))
    rmSync(location)
    await expect(local().run(plan)).rejects.toMatchObject({ tag: 'NotFoundError' })
    expect(bitsOf(await bullmq({ url: server.url }).run(plan))).toBe(bitsOf(result))
  })
})
