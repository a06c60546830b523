import { describe, expect, test } from 'vitest'
import { floatFill } from '../../src/af/footer.js'
import { DiskArray, slice, where } from '../../src/runtime/index.js'
import { claim, givenUp } from '../support/hostile.js'

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

  test('is reduced without going through what nobody wrote', async () => {
    expect(await x.sum(keep)).toBe(2 * (ELEMENTS - 3) + 21)
    expect(await x.sum({ skipMissing: true })).toBe(21)
    expect(await x.mean(keep)).toBeCloseTo(2)
    expect(await x.min(keep)).toBe(2)
    expect(await x.max(keep)).toBe(7)
    expect(await x.argMax(keep)).toEqual([0, 0])
    expect(await x.argMin(keep)).toEqual([0, 1])
    expect(await x.variance(keep)).toBeCloseTo(75 / ELEMENTS)
  })

  test('is searched without going through what nobody wrote', async () => {
    expect(await where(x, { min: 1 }, keep).count()).toBe(ELEMENTS)
    expect(await where(x, { min: 1 }, { skipMissing: true }).count()).toBe(3)
    const { indices } = await where(x, { min: 3 }, keep).all()
    expect(indices.map((each) => [...each])).toEqual([
      [0, 5, 2 ** 26 - 1],
      [0, 3, 2 ** 26 - 1],
    ])
    expect((await where(x, { max: 2 }, keep).all({ limit: 4 })).indices[1]).toEqual(Float64Array.of(1, 2, 3, 4))
    expect(await where(x, { min: 9, max: 1 }).count()).toBe(0)
  })

  test('is sliced, planned and looked at by views', async () => {
    expect(x.plan(null)).toMatchObject({ chunks: ELEMENTS, elements: ELEMENTS, requests: 1 })
    expect(await x.get([5, slice(2, 5)])).toMatchObject({ data: Float64Array.of(2, 7, 2) })
    expect(await x.get([slice(0, 10, 5), slice(0, null, 2 ** 25)])).toMatchObject({ data: Float64Array.of(7, 2, 2, 2) })
    const view = x.view([slice(0, null, 5), slice(0, null, 3)])
    expect(await view.max(keep)).toBe(7)
    expect(await view.sum({ skipMissing: true })).toBe(14)
    const mapped = new DiskArray({ ...HUGE, chunks: HUGE.chunkShape, dtype: 'int8', readBlock: () => undefined })
    for (const strategy of ['ranges', 'chunk'] as const)
      expect(() => mapped.plan([slice(0, null, 2), slice(0, null, 2)], { strategy })).toThrow(/more than 1048576 reads/)
    expect(x.chunks.toString()).toContain('in chunks of 1')
  })

  test('gives up what goes through each element at once', async () => {
    const tooLarge = { tag: 'TooLargeError', details: { array: 'x', actual: ELEMENTS, expected: 2 ** 40 } }
    await expect(x.unique()).rejects.toMatchObject(tooLarge)
    await expect(x.median()).rejects.toMatchObject(tooLarge)
    await expect(x.histogram({ bins: [0, 1] } as never)).rejects.toMatchObject(tooLarge)
    await expect(x.count()).rejects.toMatchObject(tooLarge)
    await expect(x.prod()).rejects.toMatchObject(tooLarge)
    await expect(x.reduce((a) => a, 0)).rejects.toMatchObject(tooLarge)
    await expect(x.view([slice(1, null)]).unique()).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.get()).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.toTensor()).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.cumulativeSum(0)).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(x.map((value) => value).median()).rejects.toMatchObject({ tag: 'TooLargeError' })
  })
})

describe('an operation that takes for ever gives way to others and ends when its signal is aborted', async () => {
  const file = await claim({ ...HUGE, stored: [[0, 0]] }, { limits: { elements: Number.MAX_SAFE_INTEGER } })
  const x = file.array('x', 'float64')
  const wide = (await claim({ shape: [2 ** 26, 2 ** 13], chunkShape: [1, 1] })).array('x', 'float64')
  const drain = async (items: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of items);
  }
  const operations: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    unique: (signal) => x.unique({ signal }),
    median: (signal) => x.median({ signal }),
    'count of a truth': (signal) => x.count({ signal }),
    product: (signal) => x.prod({ signal }),
    'mean by axis': (signal) => wide.mean({ axis: 1, signal, skipMissing: false }),
    where: (signal) => drain(where(x, { max: 0 }, { signal, skipMissing: false })),
    'where of a map': (signal) => where(x.map((value) => value + 1) as typeof x, { min: 5 }, { signal }).count(),
    blocks: (signal) => drain(x.blocks({ signal })),
    values: (signal) => drain(x.values({ signal })),
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
  await expect(x.unique()).rejects.toMatchObject(tooLarge)
  await expect(where(x, { min: 1 }).count()).rejects.toMatchObject(tooLarge)
  expect(await x.sum()).toBe(0)
  expect(await x.get([2 ** 31])).toBe(0)
})
