import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  concat,
  create,
  type DiskArray,
  findWhere,
  MemoryStore,
  mosaic,
  open,
  scaled,
  slice,
} from '../../../src/runtime/index.ts'

const SHAPE = [24, 16]
type Numbers = DiskArray<'float64', 2>

/**
 * A container of which some chunks are written, with values around the number of their chunk, opened so that
 * nothing is cached.
 */
async function container(path: string, written: readonly boolean[], blockBytes: number, fillValue?: number) {
  const place = { store: new MemoryStore(), path }
  await using writer = await create(place, { blockBytes, codec: 'lz4' })
  const array = writer.createArray('x', { dtype: 'float64', shape: SHAPE, chunks: [4, 4], ...(fillValue !== undefined && { fillValue }) }) // biome-ignore format: one line
  for (const [number, isWritten] of written.entries()) {
    if (!isWritten) continue
    const box = array.chunks.box(array.chunks.index(number))
    await array.set(box, Float64Array.from({ length: 16 }, (_, i) => number + (i % 4) / 4) as never)
  }
  await writer.flush()
  return open(place, { cacheBytes: 0 })
}

const LAZY: Record<string, (array: Numbers, other: Numbers) => DiskArray> = {
  'a full view': (x) => x.view([null, null]),
  'a part': (x) => x.view([slice(3, 21), slice(1, null, 3)]),
  'a row': (x) => x.view([5]),
  'a list': (x) => x.view([[1, 17, 2], null]),
  'a permutation': (x) => x.transpose([1, 0]),
  'a reversed one': (x) => x.flip(),
  'a part of a permutation': (x) => x.transpose().view([slice(2, 11), slice(null, null, -2)]),
  'other chunks': (x) => x.rechunk([2, 4]),
  'larger chunks': (x) => x.rechunk([8, 8]),
  'smaller chunks': (x) => x.rechunk([3, 5]),
  'a concatenation': (x, y) => concat([x, y], { axis: 1 }),
  'a part of a concatenation': (x, y) => concat([x, y], { axis: 0 }).view([slice(2, 40, 5)]),
  'an array twice': (x) => concat([x, x]),
  'a cast': (x) => x.astype('float32'),
  unpacked: (x) => scaled(x, { scaleFactor: 2, addOffset: 1 }),
  'a cache': (x) => x.cache(),
  'a padded one': (x) => x.pad(2),
}

/** Whatever their chunks are, these read as few blocks as the container does. */
const ALIKE = ['a full view', 'a permutation', 'a reversed one', 'other chunks', 'larger chunks', 'smaller chunks', 'unpacked']

const cases = fc.record({
  written: fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }),
  fills: fc.tuple(fc.constantFrom(undefined, -1, 100, Number.NaN), fc.constantFrom(undefined, -1, 100)),
  low: fc.integer({ min: -2, max: 30 }),
  width: fc.integer({ min: 0, max: 12 }),
  skipMissing: fc.boolean(),
})

describe.each(Object.entries(LAZY))('%s of containers', (name, make) => {
  test('finds what comparing finds, counts it, and tells what reading costs', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ written, fills, low, width, skipMissing }) => {
        await using one = await container('one.af', written, 1, fills[0])
        await using other = await container('other.af', [...written].reverse(), 1, fills[1])
        const blocks = () => one.readCost.blocks + other.readCost.blocks
        const [x, y] = [one.array('x'), other.array('x')] as DiskArray[] as [Numbers, Numbers]
        const array = make(x, y)
        let before = blocks()
        const { requests } = await array.plan()
        expect(blocks()).toBe(before)
        const { data } = (await array.get()) as { data: Float64Array }
        if (requests !== undefined) expect(blocks() - before).toBe(requests)
        const { values, nan } = array.missing
        const isFound = (value: number): boolean =>
          value >= low &&
          value <= low + width &&
          !(skipMissing && (values.some((each) => each === value) || (nan && Number.isNaN(value))))
        const expected = [...data.keys()].filter((at) => isFound(data[at]!))
        const query = (of: DiskArray) => findWhere(of, { min: low, max: low + width }, { skipMissing })
        before = blocks()
        const { positions } = await query(array).all()
        const cost = blocks() - before
        expect([...positions].sort((a, b) => a - b)).toEqual(expected)
        before = blocks()
        expect(await query(array).count()).toBe(expected.length)
        const countCost = blocks() - before
        const alone = async (of: Numbers, range: object = {}): Promise<[number, number]> => {
          const own = findWhere(of, { min: low, max: low + width, ...range }, { skipMissing })
          before = blocks()
          await own.all()
          const all = blocks() - before
          before = blocks()
          await own.count()
          return [all, blocks() - before]
        }
        if (ALIKE.includes(name)) {
          const packed = name === 'unpacked' ? { min: (low - 1) / 2, max: (low + width - 1) / 2 } : {}
          expect([cost, countCost]).toEqual(await alone(x, packed))
        }
        if (name === 'a concatenation' && fills[0] === fills[1]) {
          const [first, second] = [await alone(x), await alone(y)]
          expect([cost, countCost]).toEqual([first[0] + second[0], first[1] + second[1]])
        }
      }),
      { numRuns: 12 },
    )
  })
})

test('chunks of one block are read together by a view of more chunks than blocks', async () => {
  await using file = await container('a.af', new Array(24).fill(true), 1 << 20)
  const x = file.array('x') as DiskArray as Numbers
  for (const array of [x, x.view([null, null]), x.rechunk([3, 5]), x.transpose([1, 0])] as DiskArray[]) {
    const before = file.readCost.blocks
    await findWhere(array, { min: 3, max: 9 }).all()
    expect(file.readCost.blocks - before).toBe(1)
  }
})

test('an exact cast and a scaled array keep what statistics rule out, a part of a mosaic nobody covers is not read', async () => {
  const place = { store: new MemoryStore(), path: 'packed.af' }
  await using writer = await create(place, { blockBytes: 1 })
  const packed = writer.createArray('packed', { dtype: 'int16', shape: [40], chunks: [4], fillValue: -999 })
  const values = Int16Array.from({ length: 40 }, (_, i) => (i % 9 === 0 ? -999 : i - 20))
  await packed.set(null, values)
  await writer.flush()
  await using file = await open(place, { cacheBytes: 0 })
  const x = file.array('packed', 'int16', 1)
  const cost = async (array: DiskArray, range: object, skipMissing = true): Promise<[number[], number]> => {
    const before = file.readCost.blocks
    const { positions } = await findWhere(array, range, { skipMissing }).all()
    return [[...positions], file.readCost.blocks - before]
  }
  const at = (holds: (value: number) => boolean) => [...values.keys()].filter((i) => values[i] !== -999 && holds(values[i]!))
  for (const dtype of ['int32', 'int64', 'float64'] as const)
    expect(await cost(x.astype(dtype), { min: 17 })).toEqual([at((value) => value >= 17), 1])
  // Backwards, with values that only the options call missing; what is missing is in no range.
  const scaledDown = scaled(x, { scaleFactor: -0.5, addOffset: 1, missingValues: [18] })
  expect(await cost(scaledDown, { max: -7.5 }, false)).toEqual([at((value) => value >= 17 && value !== 18), 1])
  expect(await findWhere(scaledDown, { max: -6.5 }).count()).toBe(at((value) => value >= 15 && value !== 18).length)
  const unsigned = scaled(x, { unsigned: true })
  expect(await cost(unsigned, { min: 1, max: 3 })).toEqual([[21, 22, 23], 1])
  const sparse = mosaic([{ origin: [5], array: x }, { origin: [60], array: x.view([slice(0, 8)]) }], { shape: [100] }) // biome-ignore format: one line
  expect(await cost(sparse, { min: 17 })).toEqual([at((value) => value >= 17).map((i) => i + 5), 1])
  expect((await cost(sparse, { max: -900 }, false))[0].length).toBe(100 - values.filter((value) => value !== -999).length - 7)
})
