import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Box } from '../../src/grid/range.ts'
import { create, DiskArray, type DType, MemoryStore, slice, type Tensor } from '../../src/runtime/index.ts'
import { ChunkGrid } from '../../src/runtime/plan.ts'

/** A grid whose runs are its chunks, so that small arrays have several. */
class SingleChunks extends ChunkGrid {
  override coarsen(): ChunkGrid {
    return this
  }
}

const SHAPE = [6, 10]
const CHUNK = [2, 3]

/** An array of 3 x 4 chunks, of which some are written, and the same for who does not know that. */
async function sparse<D extends DType>(
  dtype: D,
  fillValue: unknown,
  value: (i: number) => unknown,
  picks: readonly number[] = [1, 8],
) {
  const file = await create({ store: new MemoryStore(), path: 'x.af' }, { codec: 'none' })
  const x = file.createArray('x', {
    dtype,
    shape: SHAPE,
    chunks: CHUNK,
    ...(fillValue !== undefined && { fillValue }),
  } as never) as unknown as DiskArray<D>
  for (const number of picks) {
    const box = x.chunks.box(x.chunks.index(number))
    const size = box.reduce((product, { start, stop }) => product * (stop - start), 1)
    await x.set(box.map(({ start, stop }) => slice(start, stop)), Array.from({ length: size }, (_, i) => value(i)) as never) // biome-ignore format: one line
  }
  await file.flush()
  const { source } = x
  let reads = 0
  const known = {
    dtype,
    shape: SHAPE,
    chunks: new SingleChunks(source.chunks.axes),
    fillValue: source.fillValue,
    readBlock: (box: Box, out: Tensor<D>, options?: object) => {
      reads++
      return source.readBlock(box, out, options)
    },
  }
  const written = (grid: ChunkGrid, options?: object) => source.bulk!.written!(grid, options)
  return { x: new DiskArray<D>({ ...known, bulk: { written } }), plain: new DiskArray<D>(known), reads: () => reads }
}

type Reduced = (array: DiskArray<'float64'>, keep: { skipMissing: boolean; skipNaN?: boolean }) => Promise<unknown>

const labels = Array.from({ length: SHAPE[0]! }, (_, i) => (i === 1 ? 'b' : 'a'))
const columns = Array.from({ length: SHAPE[1]! }, (_, i) => i % 3)
const weights = Float64Array.from({ length: SHAPE[1]! }, (_, i) => i % 4)

const REDUCTIONS: Record<string, Reduced> = {
  count: (x, keep) => x.count(keep),
  countNonzero: (x, keep) => x.countNonzero(keep),
  'count by axis': (x, keep) => x.count({ ...keep, axis: 1 }),
  'count of a condition': (x, keep) => x.count({ ...keep, where: (value) => value < 3 }),
  any: (x, keep) => x.any({ ...keep, where: (value) => value > 1e9 }),
  'all by axis': (x, keep) => x.all({ ...keep, axis: 1 }),
  prod: (x, keep) => x.prod(keep),
  'prod by axis': (x, keep) => x.prod({ ...keep, axis: 0 }),
  unique: (x, keep) => x.unique(keep),
  histogram: (x, keep) => x.histogram({ ...keep, bins: 7, range: [0, 6] }),
  'histogram of edges': (x, keep) => x.histogram({ ...keep, bins: [-1, 1, 3, 100] }),
  median: (x, keep) => x.median({ ...keep, maxBytes: 64 }),
  'quantiles by axis': (x, keep) => x.quantile([0.2, 0.9], { ...keep, axis: 0 }),
  'weighted mean': (x, keep) => x.weightedMean({ '0': [1, 2, 3, 0, 2, 1], '1': weights }, keep),
  'weighted mean by an axis': (x, keep) => x.weightedMean({ '0': [1, 2, 3, 0, 2, 1], '1': weights }, { ...keep, axis: 0 }),
  ...Object.fromEntries(
    (['sum', 'mean', 'min', 'max', 'count', 'countNonzero', 'variance', 'prod'] as const).map((kind): [string, Reduced] => [
      `groups: ${kind}`,
      async (x, keep) => [await x.groupBy(0, labels, kind, keep)],
    ]),
  ),
  'groups of the longest axis': (x, keep) => x.groupBy(1, columns, 'sum', keep),
}

/** The same but for what adding in another order rounds. */
function expectAlike(actual: unknown, expected: unknown): void {
  if (typeof expected === 'number' && Number.isFinite(expected)) {
    expect(Math.abs((actual as number) - expected)).toBeLessThanOrEqual(1e-12 * Math.abs(expected))
  } else if (ArrayBuffer.isView(expected)) {
    const [a, b] = [actual as Float64Array, expected as Float64Array]
    expect(a.length).toBe(b.length)
    const differs = (x: number, y: number): boolean => !Object.is(x, y) && !(Math.abs(x - y) <= 1e-12 * Math.abs(y))
    expect(a.findIndex((each, i) => differs(each, b[i]!))).toBe(-1)
  } else if (typeof expected === 'object' && expected !== null) {
    for (const key of Object.keys(expected)) expectAlike(actual![key as never], expected[key as never])
  } else expect(actual).toEqual(expected)
}

describe.each([
  ['none', undefined],
  ['2', 2],
  ['NaN', Number.NaN],
  ['an infinity', Number.NEGATIVE_INFINITY],
])('what nobody wrote, of the fill value %s', async (_, fillValue) => {
  const { x, plain, reads } = await sparse('float64', fillValue, (i) => 1 + (i % 5))
  test.each(Object.keys(REDUCTIONS))('%s', async (name) => {
    for (const keep of [{ skipMissing: false }, { skipMissing: true }, { skipMissing: false, skipNaN: true }]) {
      const run = (array: DiskArray<'float64'>): Promise<unknown> => REDUCTIONS[name]!(array, keep).catch((error) => error.tag)
      const before = reads()
      const actual = await run(x as DiskArray<'float64'>)
      const took = reads() - before
      expectAlike(actual, await run(plain as DiskArray<'float64'>))
      // The weighted result of infinities is unknown without a read, so that these reductions may read more.
      if (Number.isFinite(fillValue ?? 0) || !name.startsWith('weighted')) expect(took).toBeLessThanOrEqual(2)
    }
  })
})

test('of 64-bit integers and strings, too', async () => {
  const wide = await sparse('int64', -1n, (i) => BigInt(i === 3 ? -3 : 1))
  for (const keep of [{ skipMissing: false }, { skipMissing: true }]) {
    for (const kind of ['sum', 'prod', 'mean', 'max'] as const)
      expect(await wide.x.groupBy(0, labels, kind, keep)).toEqual(await wide.plain.groupBy(0, labels, kind, keep))
    expect(await wide.x.prod(keep)).toBe(await wide.plain.prod(keep))
    expect(await wide.x.unique(keep)).toEqual(await wide.plain.unique(keep))
    expect(await wide.x.median({ ...keep, maxBytes: 8 })).toEqual(await wide.plain.median({ ...keep, maxBytes: 8 }))
  }
  const texts = await sparse('string', 'none', (i) => `${i % 3}`)
  expect(await texts.x.unique({ skipMissing: false })).toEqual(await texts.plain.unique({ skipMissing: false }))
  expect(await texts.x.count()).toBe(12)
  expect(await texts.x.count({ skipMissing: false })).toBe(60)
})

test('what functions of the user get is not put together for them', async () => {
  const { x, plain } = await sparse('float64', 2, () => 3)
  for (const skipMissing of [false, true]) {
    // In any order the same, but not of parts of it.
    const squares = (array: DiskArray<'float64'>): Promise<number> =>
      array.mapReduce((value) => value, (a, b) => a + b * b, 0, { skipMissing }) // biome-ignore format: one line
    expect(await squares(x)).toBe(await squares(plain))
    const list = (array: DiskArray<'float64'>): Promise<string> => array.reduce((all, value) => all + value, '', { skipMissing })
    expect(await list(x)).toBe(await list(plain))
  }
})

test('products of what nobody wrote do not leave the range of numbers on the way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, -0, 1, -1, 0.5, -3, 1e10, 1e-10, -1e200, Number.POSITIVE_INFINITY, Number.NaN, 1 + 2 ** -50),
      fc.constantFrom(0, 1e-300, -1e300, 1, Number.NEGATIVE_INFINITY, Number.NaN),
      fc.integer({ min: 1, max: 200 }),
      async (fillValue, first, length) => {
        const { createFold } = await import('../../src/array/reductions/fold.ts')
        const setup = { dtype: 'float64', cells: 1, skipped: { fill: undefined, nan: false } } as const
        const [one, all] = [createFold('prod', setup), createFold('prod', setup)]
        for (const fold of [one, all]) fold.row(Float64Array.of(first) as never, 0, 1, 0, 0, 0, 0)
        one.row(new Float64Array(length).fill(fillValue) as never, 0, length, 0, 0, 0, 0)
        all.repeat(fillValue as never, length, 0)
        const [expected, actual] = [Number(one.finish()[0]), Number(all.finish()[0])]
        if (Number.isFinite(expected) && Math.abs(expected) > 1e-290) expect(Math.abs(actual / expected - 1)).toBeLessThan(1e-12)
        else if (expected === 0 || !Number.isFinite(expected)) expect(actual).toBe(expected)
      },
    ),
  )
})

test('the chunks that hold something written are those that a box of it touches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          length: fc.integer({ min: 1, max: 9 }),
          own: fc.integer({ min: 1, max: 4 }),
          other: fc.integer({ min: 1, max: 4 }),
        }),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
      fc.array(fc.array(fc.nat(8), { minLength: 3, maxLength: 3 }), { maxLength: 6 }),
      fc.boolean(),
      async (axes, picks, flushes) => {
        const shape = axes.map(({ length }) => length)
        const file = await create({ store: new MemoryStore(), path: 'x.af' })
        const x = file.createArray('x', { dtype: 'int8', shape, chunks: axes.map(({ own }) => own) })
        const touched = new Set<number>()
        const grid = ChunkGrid.regular(shape, axes.map(({ other }) => other)) // biome-ignore format: one line
        for (const pick of picks) {
          const index = shape.map((length, axis) => pick[axis]! % length)
          await x.set(index, 1)
          if (flushes) await file.flush()
          const chunk = x.chunks.box(x.chunks.find(index))
          grid.each((each) => {
            const box = grid.box(each)
            if (box.every(({ start, stop }, axis) => start < chunk[axis]!.stop && stop > chunk[axis]!.start))
              touched.add(grid.chunkIndex(each))
          })
        }
        const found = await x.source.bulk!.written!(grid)
        expect(found === undefined ? [...Array(grid.count).keys()] : [...found]).toEqual([...touched].sort((a, b) => a - b))
      },
    ),
    { numRuns: 60 },
  )
})
