import { describe, expect, test } from 'vitest'
import { floatFill } from '../../src/af/format/footer.ts'
import { coarsen, DiskArray, findWhere, isHyperslabError, slice, slidingWindows } from '../../src/runtime/index.ts'
import { zipBlocks } from '../../src/runtime/plan.ts'
import { claim, givenUp } from '../support/hostile.ts'

const HUGE = { shape: [2 ** 26, 2 ** 26], chunkShape: [1, 1] }
const ELEMENTS = 2 ** 52

describe('an array of 2^52 elements in as many chunks, of which three are stored', async () => {
  const stored = [
    [0, 0],
    [5, 3],
    [2 ** 26 - 1, 2 ** 26 - 1],
  ]
  const file = await claim({ ...HUGE, fillValue: floatFill(2), stored })
  const x = file.array('x', 'float64')
  const keep = { skipMissing: false }

  test('an array is reduced without visiting unwritten elements', async () => {
    expect(await x.sum(keep)).toBe(2 * (ELEMENTS - 3) + 21)
    expect(await x.sum({ skipMissing: true })).toBe(21)
    expect(await x.mean(keep)).toBeCloseTo(2)
    expect(await x.min(keep)).toBe(2)
    expect(await x.max(keep)).toBe(7)
    expect(await x.argMax(keep)).toBe(0)
    expect(await x.argMin(keep)).toBe(1)
    expect(await x.variance(keep)).toBeCloseTo(75 / ELEMENTS)
  })

  test('is searched without going through what nobody wrote', async () => {
    expect(await findWhere(x, { min: 1 }, keep).count()).toBe(ELEMENTS)
    expect(await findWhere(x, { min: 1 }, { skipMissing: true }).count()).toBe(3)
    const { indices } = await findWhere(x, { min: 3 }, keep).all()
    expect(indices.map((each) => [...each])).toEqual([
      [0, 5, 2 ** 26 - 1],
      [0, 3, 2 ** 26 - 1],
    ])
    expect((await findWhere(x, { max: 2 }, keep).all({ limit: 4 })).indices[1]).toEqual(Float64Array.of(1, 2, 3, 4))
    expect(await findWhere(x, { min: 9, max: 1 }).count()).toBe(0)
  })

  test('is sliced, planned and looked at by views', async () => {
    expect(await x.plan(null)).toMatchObject({ chunks: ELEMENTS, elements: ELEMENTS, requests: 1 })
    expect(await x.get([5, slice(2, 5)])).toMatchObject({ data: Float64Array.of(2, 7, 2) })
    expect(await x.get([slice(0, 10, 5), slice(0, null, 2 ** 25)])).toMatchObject({ data: Float64Array.of(7, 2, 2, 2) })
    const view = x.view([slice(0, null, 5), slice(0, null, 3)])
    expect(await view.max(keep)).toBe(7)
    expect(await view.sum({ skipMissing: true })).toBe(14)
    const mapped = new DiskArray({ ...HUGE, chunks: HUGE.chunkShape, dtype: 'int8', readBlock: () => undefined })
    for (const strategy of ['ranges', 'chunk'] as const)
      await expect(mapped.plan([slice(0, null, 2), slice(0, null, 2)], { strategy })).rejects.toThrow(/more than 1048576 reads/)
    expect(x.chunks.toString()).toContain('in chunks of 1')
  })

  /** With gaps, of ever other lengths: each is a read of its own. */
  const scattered = (count: number) => Array.from({ length: count }, (_, i) => 3 * i + (i % 3 === 2 ? 1 : 0))

  test('is planned with as many requests as could be where finding out would take long', async () => {
    const pairs = scattered(600).flatMap((i) => [2 * i, 2 * i + 1])
    const { chunks, requests } = await x.plan([pairs, pairs])
    expect({ chunks, requests }).toEqual({ chunks: 1200 ** 2, requests: 3 })
    expect((await x.plan([pairs.slice(0, 4), pairs])).requests).toBe(1)
  })

  test('an array is folded without visiting unwritten elements', async () => {
    expect(await x.unique(keep)).toMatchObject({
      values: { data: Float64Array.of(2, 7) },
      counts: { data: Float64Array.of(ELEMENTS - 3, 3) },
    })
    expect(await x.unique()).toMatchObject({ values: { data: Float64Array.of(7) }, counts: { data: Float64Array.of(3) } })
    expect(await x.view([slice(null, 0, -1)]).unique()).toMatchObject({
      values: { data: Float64Array.of(7) },
      counts: { data: Float64Array.of(2) },
    })
    expect(await x.median(keep)).toBeCloseTo(2, 3)
    expect(await x.median()).toBe(7)
    expect(await x.histogram({ ...keep, bins: [0, 3, 9] })).toMatchObject({ counts: { data: Float64Array.of(ELEMENTS - 3, 3) } })
    expect(await x.count(keep)).toBe(ELEMENTS)
    expect(await x.count()).toBe(3)
    expect(await x.any({ ...keep, where: (value) => value === 7 })).toBe(true)
    expect(await x.all({ ...keep, where: (value) => value === 2 })).toBe(false)
    expect(await x.prod()).toBe(343)
    expect(await x.prod(keep)).toBe(Number.POSITIVE_INFINITY)
    expect(await x.extrema(keep)).toEqual({ min: 2, max: 7 })
    expect(await x.reduce((sum, value) => sum + value, 0)).toBe(21)
    expect(await x.mapReduce((value) => value, (a, b) => a + b, 0)).toBe(21) // biome-ignore format: one line
    const ends = { '0': new Float64Array(2 ** 26).fill(1) }
    expect(await x.weightedMean(ends)).toBe(7)
  })

  test('operations that visit every element are refused at once', async () => {
    const tooLarge = { tag: 'TooLargeError', details: { array: 'x', actual: ELEMENTS, expected: 2 ** 40 } }
    await expect(x.reduce((a) => a, 0, keep)).rejects.toMatchObject(tooLarge)
    await expect(x.equals(x)).rejects.toMatchObject(tooLarge)
    await expect(x.get()).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.toTensor()).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.cumsum(0)).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.map((value) => value).median()).rejects.toMatchObject({ tag: 'TooLargeError' })
  })
})

describe('a file of 1 kB that claims 2^52 elements: each answers, refuses with a tag, or ends within turns of an abort', async () => {
  const stored = [[0, 0]]
  const labels = ['a', 'b']
  const x = (await claim({ ...HUGE, stored })).array('x', 'float64')
  const y = (await claim({ shape: [2, 2 ** 31, 2 ** 20], chunkShape: [1, 1, 1] })).array('x', 'float64')
  const raised = x.map((value) => value + 1)
  const arrays = [[x, false], [x, true], [y, true], [y, false], [raised, true]] as [typeof x, boolean][] // biome-ignore format: one line
  const drain = async (items: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of items);
  }
  const all = (array: DiskArray<'float64'>, skipMissing: boolean, signal: AbortSignal) => {
    const keep = { skipMissing, signal }
    const last = { ...keep, axis: [-2, -1] }
    return {
      sum: () => array.sum(keep),
      'product by axis': () => array.prod(last),
      'count by axis': () => array.count(last),
      'extrema by axis': () => array.extrema(last),
      'sum by axis': () => array.sum(last),
      min: () => array.min(keep),
      'max by axis': () => array.max(last),
      mean: () => array.mean(keep),
      extrema: () => array.extrema(keep),
      prod: () => array.prod(keep),
      variance: () => array.variance(keep),
      std: () => array.std(keep),
      count: () => array.count(keep),
      any: () => array.any({ ...keep, where: (value) => value === 9 }),
      all: () => array.all({ ...keep, where: (value) => value !== 9 }),
      argMin: () => array.argMin(keep),
      argMax: () => array.argMax(keep),
      unique: () => array.unique(keep),
      histogram: () => array.histogram(keep),
      median: () => array.median(keep),
      'median by axis': () => array.median(last),
      reduce: () => array.reduce((sum, value) => sum + value, 0, keep),
      mapReduce: () => array.mapReduce((value) => value, (a, b) => a + b, 0, keep), // biome-ignore format: one line
      weightedMean: () => array.weightedMean({ '0': new Float64Array(array.shape[0]!) }, keep),
      cumsum: () => array.cumsum(0, keep),
      groupBy: () => array.groupBy(0, labels, 'mean', keep),
      rolling: () => slidingWindows(array, { '0': 2 }, 'mean', { skipMissing }).sum(keep),
      coarsen: () => coarsen(array, { '0': 2 }, 'max', { skipMissing }).get(null, { signal }),
      where: () => findWhere(array, { min: 0, max: 5 }, keep).count(),
      'all of where': () => findWhere(array, { max: 0 }, keep).all(),
      equals: () => array.equals(array, { signal }),
      elements: () => drain(array.elements({ signal })),
      values: () => array.values({ signal }),
      blocks: () => drain(array.blocks({ signal })),
      zip: () => drain(zipBlocks([array, array], { signal })),
      toTensor: () => array.toTensor({ signal }),
      get: () => array.get(null, { signal }),
      'get of a list': () => array.get([[0, 1]], { signal }),
      plan: () => array.plan(null),
      'plan of a list': () => array.plan([[0, 1], null]),
    }
  }
  const small = (await claim({ shape: [2, 2], chunkShape: [1, 1], stored })).array('x', 'float64')
  const never = new AbortController().signal
  const names = Object.keys(all(small, true, never))
  test.each(names)(
    '%s',
    async (name) => {
      const call = (array: DiskArray<'float64'>, skipMissing: boolean, signal: AbortSignal): Promise<unknown> =>
        all(array, skipMissing, signal)[name as keyof ReturnType<typeof all>]()
      // The first calls load the code that the operation needs.
      for (const array of [small, small.map((value) => value + 1)]) await call(array, false, never)
      for (const [array, skipMissing] of arrays) {
        const { after, error } = await givenUp((signal) => call(array, skipMissing, signal), 2)
        expect(error === undefined || error === 'enough' || isHyperslabError(error), `${error}`).toBe(true)
        // Requests under way end, and no new one starts.
        expect(after).toBeLessThanOrEqual(10)
      }
    },
    60_000,
  )
})

describe('an endless operation yields to other work, and ends when its signal is aborted', async () => {
  const file = await claim({ ...HUGE, stored: [[0, 0]] }, { limits: { elements: Number.MAX_SAFE_INTEGER } })
  const x = file.array('x', 'float64')
  const mapped = x.map((value) => value + 1)
  const wide = (await claim({ shape: [2 ** 26, 2 ** 13], chunkShape: [1, 1] })).array('x', 'float64')
  const drain = async (items: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of items);
  }
  const operations: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    unique: (signal) => mapped.unique({ signal }),
    median: (signal) => mapped.median({ signal }),
    'count of a truth': (signal) => mapped.count({ signal }),
    product: (signal) => mapped.prod({ signal }),
    'mean by axis': (signal) => wide.mean({ axis: 1, signal, skipMissing: false }),
    'product by axis': (signal) => wide.prod({ axis: 1, signal, skipMissing: false }),
    where: (signal) => drain(findWhere(x, { max: 0 }, { signal, skipMissing: false })),
    'where of a map': (signal) => findWhere(x.map((value) => value + 1) as typeof x, { min: 5 }, { signal }).count(),
    blocks: (signal) => drain(x.blocks({ signal })),
    elements: (signal) => drain(x.elements({ signal })),
    equals: (signal) => x.equals(x, { signal }),
    'reduction of a map': (signal) => x.map((value) => value + 1).sum({ signal }),
    rolling: (signal) => x.reduce((a) => a, 0, { signal }),
  }
  test.each(Object.keys(operations))(
    '%s',
    async (name) => {
      const { turns, error } = await givenUp(operations[name]!)
      expect(error).toBe('enough')
      expect(turns).toBeGreaterThanOrEqual(5)
    },
    60_000,
  )
})

test('chunks that do not fit in memory are refused before they are allocated', async () => {
  const x = (await claim({ shape: [2 ** 32 - 1], chunkShape: [2 ** 32 - 1] })).array('x', 'float64')
  const tooLarge = { tag: 'TooLargeError', details: { array: 'x', expected: 2 ** 31 } }
  await expect(x.blocks().next()).rejects.toMatchObject(tooLarge)
  await expect(x.map((value) => value).unique()).rejects.toMatchObject({ tag: 'TooLargeError' })
  expect((await x.unique()).counts.data).toEqual(Float64Array.of(2 ** 32 - 1))
  await expect(findWhere(x, { min: 1 }).count()).rejects.toMatchObject(tooLarge)
  expect(await x.sum()).toBe(0)
  expect(await x.get([2 ** 31])).toBe(0)
})
