import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArrayFile } from '../../../src/af/file.ts'
import { scaled } from '../../../src/array/combine.ts'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import type { ScaledOptions } from '../../../src/array/lazy/scaled.ts'
import { slice } from '../../../src/grid/slice.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { all, counted } from './support.ts'

const SHAPE = [5, 6, 7]
const FILL = -9
const KINDS = ['sum', 'mean', 'min', 'max', 'variance', 'std'] as const

/** Returns an array of integers of which some are missing, with one unwritten chunk. */
async function container(values: readonly number[]) {
  const file = await ArrayFile.create(new MemoryStore(), 'a.af')
  const array = file.createArray('x', { dtype: 'int16', shape: SHAPE, chunks: [2, 3, 7], fillValue: FILL })
  await array.set([slice(0, 4)], Int16Array.from(values.slice(0, 4 * 6 * 7)))
  await file.flush()
  return { array, file }
}

/** Reduces numbers in order. Without numbers, all results but the sum are NaN. */
function naive(kind: (typeof KINDS)[number], all: readonly number[]): number {
  const values = all.filter((value) => !Number.isNaN(value))
  const sum = values.reduce((a, b) => a + b, 0)
  const mean = sum / values.length
  if (kind === 'sum') return sum
  if (kind === 'mean') return mean
  if (kind === 'min' || kind === 'max') return values.length === 0 ? Number.NaN : Math[kind](...values)
  const variance = values.reduce((squares, value) => squares + (value - mean) ** 2, 0) / values.length
  return kind === 'std' ? Math.sqrt(variance) : variance
}

/** The elements of each cell of a reduction along some axes. */
function cells(values: readonly number[], shape: readonly number[], axes: readonly number[]): number[][] {
  const kept = [...shape.keys()].filter((axis) => !axes.includes(axis))
  const result = Array.from({ length: kept.reduce((size, axis) => size * shape[axis]!, 1) }, (): number[] => [])
  values.forEach((value, i) => {
    const index = shape.map((length, axis) => Math.floor(i / shape.slice(axis + 1).reduce((a, b) => a * b, 1)) % length)
    result[kept.reduce((cell, axis) => cell * shape[axis]! + index[axis]!, 0)]!.push(value)
  })
  return result
}

const numbers = (result: unknown): number[] =>
  typeof result === 'object' ? [...(result as { data: Float64Array }).data] : [result as number]

function expectClose(got: readonly number[], wanted: readonly number[], tolerance: number): void {
  expect(got.length).toBe(wanted.length)
  got.forEach((value, i) => {
    if (Number.isNaN(wanted[i]!)) expect(value).toBeNaN()
    else expect(Math.abs(value - wanted[i]!)).toBeLessThanOrEqual(tolerance)
  })
}

test('reductions of packed values are those of the unpacked ones', async () => {
  const packed = fc.array(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: -3000, max: 3000 }) }, fc.constant(FILL)), {
    minLength: 210,
    maxLength: 210,
  })
  const options = fc.record({
    scaleFactor: fc.constantFrom(0.01, -0.25, 3, 1),
    addOffset: fc.constantFrom(0, 273.15, -7),
    dtype: fc.constantFrom('float32' as const, 'float64' as const),
  })
  const axes = fc.subarray([0, 1, 2], { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(packed, options, axes, fc.boolean(), fc.boolean(), async (values, scaling, axis, isCut, skipMissing) => {
      const { array } = await container(values)
      const whole = scaled(array, scaling) as unknown as DiskArray
      const view = isCut ? whole.view([slice(1, 5, 2), null, slice(6, null, -1)]) : whole
      const unpacked = (await all(view)) as number[]
      for (const kind of KINDS) {
        const got = numbers(await view[kind]({ axis, skipMissing }))
        const wanted = cells(unpacked, view.shape, axis).map((cell) =>
          !skipMissing && cell.some(Number.isNaN) ? Number.NaN : naive(kind, cell),
        )
        // Elements in float32 are rounded one by one, to 2^-24 of up to 10^4.
        const rounding = scaling.dtype === 'float32' ? 1e-3 : 1e-9
        const scale = kind === 'sum' ? unpacked.length : kind === 'variance' ? 1e4 : 1
        expectClose(got, wanted, kind === 'min' || kind === 'max' ? 0 : rounding * scale)
      }
    }),
    { numRuns: 60 },
  )
})

test('what packed values do not say is not asked of them', async () => {
  const data = [3, -1, 250, 4, 5, 7]
  const { array } = counted([6], [2], { dtype: 'int16' })
  await array.set(null, Int16Array.from(data))
  const cases: [ScaledOptions, number[]][] = [
    [{ scaleFactor: 2, fillValue: 3, missingValues: [7] }, [-2, 500, 8, 10]],
    [{ scaleFactor: 2, validRange: [0, 100] }, [6, 8, 10, 14]],
    [{ scaleFactor: 2, unsigned: true }, [6, 2 * 65535, 500, 8, 10, 14]],
    [{ scaleFactor: -2, addOffset: 1 }, data.map((value) => value * -2 + 1)],
  ]
  for (const [options, values] of cases)
    for (const kind of KINDS) expectClose(numbers(await scaled(array, options)[kind]()), [naive(kind, values)], 1e-6)
})

test('NaN that is packed is missing only where that is said', async () => {
  const { array } = counted([4], [2], { dtype: 'float32' })
  await array.set(null, Float32Array.of(1, Number.NaN, 3, 5))
  expect(await scaled(array, { scaleFactor: 2 }).sum()).toBeNaN()
  expect(await scaled(array, { scaleFactor: 2 }).sum({ skipNaN: true })).toBe(18)
  expect(await scaled(array, { scaleFactor: 2, fillValue: 3 }).sum({ skipMissing: false })).toBeNaN()
  expect(await scaled(array, { scaleFactor: 2, fillValue: Number.NaN }).sum()).toBe(18)
  expect(await scaled(array, { scaleFactor: 2, fillValue: Number.NaN }).sum({ skipMissing: false })).toBeNaN()
})

test('chunks that are said to be this or that are not read', async () => {
  const { array, file } = await container(Array.from({ length: 210 }, (_, i) => (i % 11 === 0 ? FILL : i)))
  const unpacked = scaled(array, { scaleFactor: 0.5, addOffset: 1 })
  const cost = () => file.readCost.blocks
  const before = cost()
  const known = [await unpacked.sum(), await unpacked.min(), await unpacked.max(), await unpacked.mean()]
  expect(cost()).toBe(before)
  const read = [await unpacked.sum({ ignoreStats: true }), await unpacked.min({ ignoreStats: true })]
  expect(cost()).toBeGreaterThan(before)
  expectClose(known.slice(0, 2) as number[], read as number[], 1e-9)
})
