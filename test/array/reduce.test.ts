import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { allocate, type DType, isBigInt, isFloat, type NumericDType } from '../../src/core/dtype.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { grids, numbered, numericDTypes, plains, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { cells, type Plain } from '../support/oracle.ts'

type Kind = 'sum' | 'min' | 'max' | 'mean'
const KINDS: Kind[] = ['sum', 'min', 'max', 'mean']

/** The reduction of some elements with plain arithmetic; 'throws' where there is none. */
function reduced(kind: Kind, dtype: DType, elements: (number | bigint)[]): number | bigint | 'throws' {
  if (kind === 'sum' || kind === 'mean') {
    const sum = isFloat(dtype)
      ? elements.reduce<number>((a, b) => a + (b as number), 0)
      : elements.reduce<bigint>((a, b) => a + BigInt(b), 0n)
    if (kind === 'mean') return Number(sum) / elements.length
    if (typeof sum === 'number' || !isBigInt(dtype)) return Number(sum)
    const fits = dtype === 'uint64' ? BigInt.asUintN(64, sum) === sum : BigInt.asIntN(64, sum) === sum
    return fits ? sum : 'throws'
  }
  if (elements.length === 0) return 'throws'
  if (elements.some((element) => Number.isNaN(element))) return Number.NaN
  return elements.reduce((a, b) => ((kind === 'min' ? b < a : b > a) ? b : a))
}

/** Equal; sums of floats up to the stated bound, rounding once per addition of the sum of magnitudes. */
function expectClose(kind: Kind, dtype: DType, actual: unknown, expected: unknown, elements: (number | bigint)[]): void {
  if (!isFloat(dtype) || kind === 'min' || kind === 'max' || elements.length === 0) {
    expect(Object.is(actual, expected) || actual === expected, `${actual} for ${expected}`).toBe(true)
    return
  }
  if (!elements.every((element) => Number.isFinite(element))) {
    // Infinities of both signs give NaN in any order.
    expect(Object.is(actual, expected) || !Number.isFinite(expected as number)).toBe(true)
    expect(Number.isFinite(actual as number)).toBe(false)
    return
  }
  const magnitude = elements.reduce<number>((a, b) => a + Math.abs(Number(b)), 0)
  // If the magnitudes overflow, the order of additions decides whether the sum overflows.
  if (!Number.isFinite(magnitude)) return
  const bound = (magnitude / (kind === 'mean' ? elements.length : 1)) * (elements.length + 1) * 2 ** -52
  expect(Math.abs((actual as number) - (expected as number))).toBeLessThanOrEqual(bound)
}

const cases = shapes.chain((shape) =>
  numericDTypes.chain((dtype) =>
    fc.record({
      plain: plains(dtype, shape) as fc.Arbitrary<Plain<NumericDType>>,
      grid: grids(shape),
      kind: fc.constantFrom(...KINDS),
      axes: fc.option(fc.uniqueArray(fc.integer({ min: 0, max: Math.max(0, shape.length - 1) }), { maxLength: shape.length })),
      keepDims: fc.boolean(),
      /** Position of the element whose value is the fill value; none when beyond the end. */
      fillAt: fc.integer({ min: 0, max: 12 }),
      skipMissing: fc.boolean(),
    }),
  ),
)

describe('reductions', () => {
  test('equal the oracle and read each chunk once', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ plain, grid, kind, axes, keepDims, fillAt, skipMissing }) => {
        const { shape, dtype, data } = plain
        const fillValue = (data as ArrayLike<number | bigint>)[fillAt]
        const source = new CountingSource(plain as Plain, grid, fillValue === undefined ? {} : { fillValue: fillValue as never })
        const options = {
          skipMissing,
          keepDims,
          ...(axes === null ? {} : { axis: axes.map((axis, i) => (i % 2 ? axis - shape.length : axis)) }),
        }
        const isFill = (value: unknown): boolean => value === fillValue || (Number.isNaN(value) && Number.isNaN(fillValue))
        const { shape: cellShape, members } = cells(shape, new Set(axes ?? shape.keys()))
        const taken = members.map((flat) =>
          flat.map((i) => data[i] as number | bigint).filter((value) => !(skipMissing && isFill(value))),
        )
        const expected = taken.map((elements) => {
          const value = reduced(kind, dtype, elements)
          // Along axes a cell of which everything was skipped is missing itself.
          const missing = elements.length === 0 && axes !== null && skipMissing && fillValue !== undefined
          return value === 'throws' && missing ? (isFloat(dtype) ? Number.NaN : fillValue) : value
        })
        const work = (new DiskArray(source)[kind] as (o: object) => Promise<unknown>).call(new DiskArray(source), options)
        if (expected.includes('throws')) {
          await expect(work).rejects.toMatchObject({
            tag: kind === 'sum' ? 'OverflowError' : 'EmptyReductionError',
            details: { array: 'plain' },
          })
          return
        }
        const result = (await work) as { data: ArrayLike<unknown>; shape: number[] } | number | bigint
        if (axes === null) expectClose(kind, dtype, result, expected[0], taken[0]!)
        else {
          const { data: values, shape: resultShape } = result as { data: ArrayLike<unknown>; shape: number[] }
          expect(resultShape).toEqual(keepDims ? shape.map((length, axis) => (axes.includes(axis) ? 1 : length)) : cellShape)
          expect(values.length).toBe(expected.length)
          expected.forEach((value, cell) => {
            expectClose(kind, dtype, values[cell], value, taken[cell]!)
          })
        }
        const volumes = source.reads.map((box) => box.reduce((n, { start, stop }) => n * (stop - start), 1))
        expect(volumes.reduce((a, b) => a + b, 0)).toBe(data.length)
        expect(source.reads.length).toBeLessThanOrEqual(grid.count)
      }),
      { numRuns: runs(1000) },
    )
  })

  test('sums of small integers stay exact', async () => {
    const data = new Int32Array(100_000).fill(2 ** 31 - 1)
    const source = new CountingSource({ dtype: 'int32', shape: [100_000], data }, ChunkGrid.regular([100_000], [999]))
    expect(await new DiskArray(source).sum()).toBe(100_000 * (2 ** 31 - 1))
  })

  test('a sum over many blocks keeps its accuracy', async () => {
    const length = 1_000_000
    const data = new Float64Array(length).fill(0.1)
    const source = new CountingSource({ dtype: 'float64', shape: [length], data }, ChunkGrid.regular([length], [1000]))
    // Added one after another the error would be near 1e-6; the nearest double to the exact sum of a million
    // doubles 0.1 is this.
    expect(Math.abs((await new DiskArray(source).sum()) - 100_000)).toBeLessThan(1e-9)
  })

  test('bool counts, and its extremes are bools', async () => {
    const plain = { dtype: 'bool' as const, shape: [4], data: Uint8Array.of(0, 1, 1, 0) }
    const array = new DiskArray(new CountingSource(plain, ChunkGrid.regular([4], [3])))
    expect([await array.sum(), await array.mean(), await array.min(), await array.max()]).toEqual([2, 0.5, false, true])
  })

  test('axes by name', async () => {
    const source = new CountingSource(numbered('int16', [2, 3]), ChunkGrid.regular([2, 3], [1, 2]), {
      dimensionNames: ['time', 'x'],
    })
    const array = new DiskArray(source)
    expect((await array.sum({ axis: 'time' })).data).toEqual(Float64Array.of(3, 5, 7))
    expect((await array.max({ axis: ['x', 'time'] })).data).toEqual(Int16Array.of(5))
    for (const axis of ['lat', 2, -3, 0.5, ['x', 1]]) {
      await expect(array.sum({ axis } as never)).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        details: { array: 'plain' },
      })
    }
  })

  test.each([
    ['string', 'min'],
    ['binary', 'sum'],
    ['timestamp_ns', 'sum'],
    ['timestamp_ns', 'mean'],
  ] as const)('there is no reduction of %s by %s', async (dtype, kind) => {
    const source = new CountingSource({ dtype, shape: [2], data: allocate(dtype, 2) } as Plain, ChunkGrid.regular([2], [1]))
    await expect((new DiskArray(source) as DiskArray)[kind]()).rejects.toMatchObject({
      tag: 'UnsupportedError',
      details: { actual: dtype },
    })
    expect(source.reads).toEqual([])
  })

  test('blocks come in C order, one read each', async () => {
    const plain = numbered('uint16', [3, 5])
    const source = new CountingSource(plain, ChunkGrid.regular([3, 5], [2, 3]))
    const seen: unknown[] = []
    for await (const { index, box, data } of new DiskArray(source).blocks())
      seen.push([index, box.map(({ start }) => start), [...data.data]])
    expect(seen).toEqual([
      [
        [0, 0],
        [0, 0],
        [0, 1, 2, 5, 6, 7],
      ],
      [
        [0, 1],
        [0, 3],
        [3, 4, 8, 9],
      ],
      [
        [1, 0],
        [2, 0],
        [10, 11, 12],
      ],
      [
        [1, 1],
        [2, 3],
        [13, 14],
      ],
    ])
    expect(source.reads.length).toBe(4)
  })
})
