import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { elementBytes, isBigInt, isFloat, NUMERIC_DTYPES, type NumericDType, type TypedArray } from '../../src/core/dtype.ts'
import { eachIndex } from '../../src/core/shape.ts'
import { type Arena, withArena } from '../../src/kernels/arena.ts'
import { counters, reduceElements, type SkipRule } from '../../src/kernels/reduce.ts'
import { runs } from '../support/budget.ts'
import { boxes, exactSum, guarded, type Layout, layOut, placeOf, putAt, sample, take } from './support.ts'

const skipsOf = (dtype: NumericDType): SkipRule[] => [
  'none',
  'nan',
  { fill: isBigInt(dtype) ? 3n : 3 },
  { fill: isBigInt(dtype) ? 0n : 0 },
  { fill: isBigInt(dtype) ? -1n : -1 },
  ...(isFloat(dtype) ? [{ fill: NaN }, { fill: 3, nan: true }, { fill: 0.1 }] : []),
]

function isSkipped(dtype: NumericDType, skip: SkipRule, value: number | bigint): boolean {
  if (skip === 'none') return false
  if (skip === 'nan') return Number.isNaN(value)
  const fill = dtype === 'float32' ? Math.fround(skip.fill as number) : skip.fill
  return value === fill || (Number.isNaN(value) && (skip.nan === true || Number.isNaN(skip.fill)))
}

/** Fails unless the sum of these squares, which are exact in what they round, is as near as promised. */
function expectSquares(actual: number, values: readonly number[], shift: number, roundings: number): void {
  const squares = values.map((value) => (value - shift) * (value - shift))
  const plain = squares.reduce((a, b) => a + b, 0)
  if (!Number.isFinite(plain) || !Number.isFinite(actual)) {
    expect(actual).toBe(plain)
    return
  }
  const error = Math.abs(exactSum([...squares, -actual]))
  const bound = roundings * 2 ** -53 * plain * (1 + 2 ** -40)
  const told =
    error <= bound ? 'near' : `squares about ${shift} of ${values.slice(0, 9)}: ${actual} is off by ${error}, more than ${bound}`
  expect(told).toBe('near')
}

interface Case {
  shape: number[]
  layout: Layout
  /** Layout of cells and shifts: zero strides on reduced axes. */
  cells: Layout
  misalign: number
}

const SHIFTS = [0, 0.1, -3, 100.25, 2 ** 31, -(2 ** 40), NaN, Infinity, 1e-300]

/** Adds the squares of two boxes to the same cells, by kernel and by hand. */
function check(dtype: NumericDType, skip: SkipRule, { shape, layout, cells, misalign }: Case): void {
  withArena((arena) => {
    const added = guarded(arena, 8 * cells.places, 0)
    const about = guarded(arena, 8 * cells.places, 0)
    const shifts = Float64Array.from({ length: cells.places }, (_, i) => SHIFTS[(i + layout.places) % SHIFTS.length]!)
    arena.bytes(added.pointer, 8 * cells.places).fill(0)
    arena.view('float64', about.pointer, cells.places).set(shifts)
    const expected = new Map<number, number[]>()
    for (const seed of [1, 2]) {
      const data = sample(dtype, layout.places, seed * 1000 + shape.length + layout.places) as TypedArray
      const src = putAt(arena, data, misalign) + layout.first * elementBytes(dtype)
      const [to, from] = [added.pointer + 8 * cells.first, about.pointer + 8 * cells.first]
      reduceElements(arena, 'squares', dtype, skip, shape, src, layout.stride, to, cells.stride, from)
      eachIndex(shape, (index) => {
        const cell = placeOf(cells, index)
        const value = data[placeOf(layout, index)]!
        if (!expected.has(cell)) expected.set(cell, [])
        if (!isSkipped(dtype, skip, value)) expected.get(cell)!.push(Number(value))
      })
    }
    added.check()
    about.check()
    expect(take(arena, 'float64', about.pointer, cells.places)).toEqual(shifts)
    const found = take(arena, 'float64', added.pointer, cells.places)
    for (const [cell, values] of expected) expectSquares(found[cell]!, values, shifts[cell]!, values.length + 1)
  })
}

const cases = boxes(2000, true).chain(({ shape, layout, other }) =>
  fc
    .tuple(fc.array(fc.boolean(), { minLength: shape.length, maxLength: shape.length }), fc.constantFrom(0, 0, 8, 1, 3))
    .map(([kept, misalign]) => {
      const stride = other.stride.map((step, axis) => (kept[axis] ? step : 0))
      const reach = (sign: number) =>
        stride.reduce((sum, step, axis) => sum + (step * sign > 0 ? step * sign * Math.max(shape[axis]! - 1, 0) : 0), 0)
      return { shape, layout, cells: { stride, first: reach(-1), places: reach(-1) + reach(1) + 1 }, misalign }
    }),
)

/** One cell for all elements of a row. */
const run = (length: number, step = 1, misalign = 0): Case => ({
  shape: [length],
  layout: layOut([length], [0], [step], [false]),
  cells: { stride: [0], first: 0, places: 1 },
  misalign,
})

describe.each(NUMERIC_DTYPES)('squares of %s', (dtype) => {
  test('runs of every length from 0 to 300', () => {
    for (let length = 0; length <= 300; length++)
      for (const skip of skipsOf(dtype)) check(dtype, skip, run(length, 1, length % 4))
  })

  test.each([
    [1_025, 2],
    [2_063, 3],
  ])('runs of %i elements, %i apart', (length, step) => {
    for (const skip of skipsOf(dtype)) check(dtype, skip, run(length, step, 1))
  })

  test('elements kept along the inner axis, at every length from 0 to 70, and of many pieces', () => {
    for (const length of [...Array(71).keys(), 1_100]) {
      const layout = layOut([3, length], [1, 0], [1, 1], [false, false])
      const cells = { stride: [0, 1], first: 0, places: Math.max(length, 1) }
      for (const skip of skipsOf(dtype)) check(dtype, skip, { shape: [3, length], layout, cells, misalign: length % 2 })
    }
  })

  test('any box, any axes, any layout', () => {
    fc.assert(
      fc.property(cases, fc.constantFrom(...skipsOf(dtype)), (box, skip) => check(dtype, skip, box)),
      { numRuns: runs(100) },
    )
  })

  test('long runs stay within the bound', () => {
    withArena((arena) => {
      const length = 200_001
      const values = sample(dtype, length, 5) as TypedArray
      const data = isFloat(dtype) ? (values as Float64Array).map((_, i) => 280 + Math.sin(i)) : values
      const shift = isFloat(dtype) ? 280 : 2 ** 30 + 0.3
      const squares = squaresOf(arena, dtype, putAt(arena, data as TypedArray, 1), length, shift)
      expectSquares(squares, Array.from(data as Iterable<number | bigint>, Number), shift, 580 + length / 32768)
    })
  })
})

describe.each(NUMERIC_DTYPES.filter((dtype) => !isFloat(dtype)))('squares of %s', (dtype) => {
  test('ends of the range are exact', () => {
    const bits = 8 * elementBytes(dtype)
    const [low, high] = dtype.startsWith('int')
      ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
      : [0n, 2n ** BigInt(bits) - 1n]
    withArena((arena) => {
      for (const end of [low, high, low + 1n, high - 1n]) {
        const src = arena.alloc(3 * elementBytes(dtype))
        arena.view(dtype, src, 3).fill((isBigInt(dtype) ? end : Number(end)) as never)
        expect(squaresOf(arena, dtype, src, 3, Number(end))).toBe(0)
        if (bits <= 32) expect(squaresOf(arena, dtype, src, 3, Number(end) - 0.5)).toBe(0.75)
      }
    })
  })
})

function squaresOf(
  arena: Arena,
  dtype: NumericDType,
  src: number,
  length: number,
  shift: number,
  skip: SkipRule = 'none',
): number {
  const cell = counters(arena, 2)
  arena.view('float64', cell + 8, 1)[0] = shift
  reduceElements(arena, 'squares', dtype, skip, [length], src, [1], cell, [0], cell + 8)
  return arena.view('float64', cell, 1)[0]!
}

test('64-bit integers are compared with the fill value before they are rounded', () => {
  withArena((arena) => {
    for (const dtype of ['int64', 'uint64'] as const) {
      const data = (dtype === 'int64' ? BigInt64Array : BigUint64Array).of(2n ** 60n + 1n, 2n ** 60n)
      expect(squaresOf(arena, dtype, putAt(arena, data), 2, 2 ** 60 + 256, { fill: 2n ** 60n + 1n })).toBe(65536)
    }
  })
})

test.each([
  [[Infinity, 1], 0, 'none', Infinity],
  [[Infinity, 1], Infinity, 'none', NaN],
  [[Infinity, 1], Infinity, 'nan', NaN],
  [[NaN, 1], 0, 'none', NaN],
  [[NaN, 3], 1, 'nan', 4],
  [[NaN, NaN], NaN, 'nan', 0],
] as const)('squares of %j about %d, skipping %s', (values, shift, skip, expected) => {
  withArena((arena) => {
    for (const dtype of ['float32', 'float64'] as const) {
      const data = dtype === 'float32' ? Float32Array.from(values) : Float64Array.from(values)
      expect(squaresOf(arena, dtype, putAt(arena, data), values.length, shift, skip)).toBe(expected)
    }
  })
})
