import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { coarsen, slidingWindows } from '../../src/array/reductions/windows.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'

/** Returns the quantile of some numbers, as numpy computes it: linear between neighbours. */
function quantileOf(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  if (sorted.length === 0 || values.some(Number.isNaN)) return Number.NaN
  const low = Math.floor(q * (sorted.length - 1))
  const part = q * (sorted.length - 1) - low
  return part === 0 || sorted[low] === sorted[low + 1] ? sorted[low]! : sorted[low]! * (1 - part) + sorted[low + 1]! * part
}

const MISSING = 7

const cases = fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 6 })).chain(([rows, columns]) =>
  fc.record({
    shape: fc.constant([rows, columns] as const),
    chunks: fc.tuple(fc.integer({ min: 1, max: rows }), fc.integer({ min: 1, max: columns })),
    sizes: fc.tuple(fc.integer({ min: 1, max: rows }), fc.integer({ min: 1, max: columns })),
    values: fc.array(fc.constantFrom(0, 1, -3, MISSING, 2.5, Number.NaN), {
      minLength: rows * columns,
      maxLength: rows * columns,
    }),
    labels: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: rows, maxLength: rows }),
    q: fc.constantFrom(0, 0.3, 0.5, 1),
    skipMissing: fc.boolean(),
    skipNaN: fc.boolean(),
    isFloat: fc.boolean(),
  }),
)

type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never

/** Returns an array, and a function that computes the quantile of the elements at some positions. */
function given({ shape, chunks, values, q, skipMissing, skipNaN, isFloat }: Case) {
  const data = isFloat ? Float64Array.from(values) : Int32Array.from(values, (x) => (Number.isNaN(x) ? 5 : x))
  const source = new CountingSource(
    { dtype: isFloat ? 'float64' : 'int32', shape, data } as never,
    ChunkGrid.regular(shape, chunks),
  )
  const array = new DiskArray({ ...source, readBlock: source.readBlock.bind(source), fillValue: MISSING } as never) as DiskArray
  const isKept = (x: number): boolean => !(skipMissing && x === MISSING) && !(skipNaN && Number.isNaN(x))
  const of = (positions: readonly (readonly [number, number])[]): number =>
    quantileOf(positions.map(([i, j]) => data[i * shape[1] + j]!).filter(isKept), q)
  const kind = q === 0.5 ? ('median' as const) : ('quantile' as const)
  const options = { skipMissing, skipNaN, ...(q !== 0.5 && { q }) }
  return { source, array, of, kind, options }
}

const range = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
const product = (a: number[], b: number[]): [number, number][] => a.flatMap((i) => b.map((j): [number, number] => [i, j]))

describe('medians and quantiles', () => {
  test('of blocks and of sliding windows are those of their elements', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const { array, of, kind, options } = given(one)
        const [[rows, columns], [height, width]] = [one.shape, one.sizes]
        const blocks = await coarsen(array, { 0: height, 1: width }, kind, options).get()
        const tops = range(0, Math.ceil(rows / height)).map((i) => i * height)
        const lefts = range(0, Math.ceil(columns / width)).map((j) => j * width)
        const cellsOf = ([i, j]: [number, number]) =>
          product(range(i, Math.min(rows, i + height)), range(j, Math.min(columns, j + width)))
        expect(blocks.shape).toEqual([tops.length, lefts.length])
        expect([...blocks.data]).toEqual(product(tops, lefts).map((at) => of(cellsOf(at))))

        const windows = await slidingWindows(array, { 0: height, 1: width }, kind, options).get()
        const starts = product(range(0, rows - height + 1), range(0, columns - width + 1))
        expect([...windows.data]).toEqual(starts.map((at) => of(cellsOf(at))))
      }),
      { numRuns: runs(300) },
    )
  })

  test('of groups are those of their elements, and a chunk is read once for each group in it', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const { source, array, of, kind, options } = given(one)
        const { labels, values } = await array.groupBy(0, one.labels, kind, options)
        const names = [...new Set(one.labels)]
        expect(labels).toEqual(names)
        expect(values.shape).toEqual([names.length, one.shape[1]])
        const expected = names.flatMap((name) =>
          range(0, one.shape[1]).map((j) =>
            of(range(0, one.shape[0]).flatMap((i) => (one.labels[i] === name ? [[i, j] as const] : []))),
          ),
        )
        expect([...values.data]).toEqual(expected)
        const chunks = names.map((name) => new Set(range(0, one.shape[0]).filter((i) => one.labels[i] === name).map((i) => Math.floor(i / one.chunks[0]))).size) // biome-ignore format: one line
        const most = chunks.reduce((a, b) => a + b, 0) * Math.ceil(one.shape[1] / one.chunks[1])
        const read = source.reads.map((box) => box.reduce((n, { start, stop }, axis) => n * (Math.floor((stop - 1) / one.chunks[axis]!) - Math.floor(start / one.chunks[axis]!) + 1), 1)) // biome-ignore format: one line
        expect(read.reduce((a, b) => a + b, 0)).toBe(most)
      }),
      { numRuns: runs(300) },
    )
  })

  test('need a share that fits the kind', async () => {
    const array = given({ shape: [2, 1], chunks: [1, 1], values: [1, 2], q: 0.5 } as never).array
    const wrong = {
      tag: 'InvalidArgumentError',
      message: expect.stringContaining("q is a share from 0 to 1, for the kind 'quantile' alone"),
    }
    for (const [kind, options] of [
      ['quantile', {}],
      ['quantile', { q: 2 }],
      ['median', { q: 0.5 }],
      ['mean', { q: 0.5 }],
    ] as const) {
      // biome-ignore format: one line
      expect(() => coarsen(array, { 0: 2 }, kind, options)).toThrow("q is a share from 0 to 1")
      await expect(array.groupBy(0, ['a', 'b'], kind, options)).rejects.toMatchObject(wrong)
    }
  })

  test('no kind ignores a ddof', async () => {
    const array = given({ shape: [2, 1], chunks: [1, 1], values: [1, 2], q: 0.5 } as never).array
    expect((await coarsen(array, { 0: 2 }, 'std', { ddof: 1 }).toTensor()).data).toEqual(Float64Array.of(Math.SQRT1_2))
    for (const kind of ['mean', 'count', 'median'] as const) {
      const text = `ddof is for the kinds 'variance' and 'std', not for '${kind}'`
      expect(() => coarsen(array, { 0: 2 }, kind, { ddof: 1 })).toThrow(text)
      await expect(array.groupBy(0, ['a', 'b'], kind, { ddof: 1 })).rejects.toThrow(text)
    }
  })
})
