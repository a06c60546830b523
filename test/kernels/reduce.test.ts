import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allocate, elementBytes, NUMERIC_DTYPES, type NumericDType, type TypedArray } from '../../src/core/dtype.ts'
import { eachIndex } from '../../src/core/shape.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { compute } from '../../src/kernels/compute.ts'
import {
  accumulators,
  cellBytes,
  chunkStats,
  counters,
  type ReduceOp,
  reduceElements,
  results,
  type SkipRule,
} from '../../src/kernels/reduce.ts'
import { runs } from '../support/budget.ts'
import { boxes, exactSum, guarded, type Layout, layOut, placeOf, putAt, sample, take } from './support.ts'

const OPS: ReduceOp[] = ['sum', 'min', 'max']
const isFloat = (dtype: NumericDType) => dtype.startsWith('float')
const isWide = (dtype: NumericDType) => dtype === 'int64' || dtype === 'uint64'
const skipsOf = (dtype: NumericDType): SkipRule[] => [
  'none',
  'nan',
  { fill: isWide(dtype) ? 3n : 3 },
  { fill: isWide(dtype) ? 0n : 0 },
  ...(isFloat(dtype) ? [{ fill: NaN }, { fill: 3, nan: true }] : []),
]

function isSkipped(skip: SkipRule, value: number | bigint): boolean {
  if (skip === 'none') return false
  if (skip === 'nan') return Number.isNaN(value)
  return value === skip.fill || (Number.isNaN(value) && (skip.nan === true || Number.isNaN(skip.fill)))
}

/** Minimum or maximum as the kernels define it: NaN once there was one. */
function extreme(op: ReduceOp, values: readonly (number | bigint)[], identity: number | bigint): number | bigint {
  let found = identity
  for (const value of values) {
    if (Number.isNaN(value)) return NaN
    if (op === 'min' ? value < found : value > found) found = value
  }
  return found
}

/**
 * Checks one cell. Sums of integers must be exact; those of floats within `n` roundings of float64, n the
 * number of additions.
 */
function expectCell(
  op: ReduceOp,
  dtype: NumericDType,
  actual: number | bigint,
  values: readonly (number | bigint)[],
  identity: number | bigint,
): void {
  if (op !== 'sum') {
    const expected = extreme(op, values, identity)
    if (actual !== expected && !(Number.isNaN(actual) && Number.isNaN(expected)))
      expect.fail(`${op} of ${dtype} ${values.slice(0, 20)}: ${actual}, expected ${expected}`)
  } else if (!isFloat(dtype)) {
    const total = (values as bigint[]).reduce((sum, value) => sum + BigInt(value), 0n)
    if (actual !== (isWide(dtype) ? total : Number(total))) expect.fail(`sum of ${dtype}: ${actual}, expected ${total}`)
  } else {
    expectSum(actual as number, values as number[], values.length)
  }
}

function expectSum(actual: number, values: readonly number[] | TypedArray, roundings: number): void {
  let plain = 0
  let magnitude = 0
  for (const value of values as number[]) {
    plain += value
    magnitude += Math.abs(value)
  }
  if (!Number.isFinite(plain)) {
    expect(actual).toBe(plain)
    return
  }
  const error = Math.abs(exactSum([...(values as number[]), -actual]))
  const bound = roundings * 2 ** -53 * magnitude
  if (!(error <= bound)) expect.fail(`sum ${actual} is off by ${error}, more than ${bound}`)
}

interface Case {
  shape: number[]
  layout: Layout
  /** Layout of the cells: zero strides on reduced axes. */
  cells: Layout
  misalign: number
}

/** Reduces two boxes one after the other into the same cells, by kernel and by hand. */
function check(op: ReduceOp, dtype: NumericDType, skip: SkipRule, { shape, layout, cells, misalign }: Case): void {
  withArena((arena) => {
    const bytes = cellBytes(op, dtype)
    const expected = new Map<number, (number | bigint)[]>()
    const accumulated = guarded(arena, cells.places * bytes, 0)
    const counted = guarded(arena, cells.places * 8, 0)
    const fresh = accumulators(arena, op, dtype, cells.places)
    const identity = op === 'sum' ? 0 : results(arena, op, dtype, fresh, 1)[0]!
    arena.bytes(accumulated.pointer, cells.places * bytes).set(arena.bytes(fresh, cells.places * bytes))
    arena.bytes(counted.pointer, cells.places * 8).fill(0)
    for (const seed of [1, 2]) {
      const data = sample(dtype, layout.places, seed * 1000 + shape.length + layout.places)
      const src = putAt(arena, data as TypedArray, misalign)
      reduceElements(
        arena,
        op,
        dtype,
        skip,
        shape,
        src + layout.first * elementBytes(dtype),
        layout.stride,
        accumulated.pointer + cells.first * bytes,
        cells.stride,
        misalign === 0 && skip === 'none' ? 0 : counted.pointer + cells.first * 8,
      )
      eachIndex(shape, (index) => {
        const cell = placeOf(cells, index)
        const value = data[placeOf(layout, index)] as number | bigint
        if (!expected.has(cell)) expected.set(cell, [])
        if (!isSkipped(skip, value)) expected.get(cell)!.push(value)
      })
    }
    accumulated.check()
    counted.check()
    const found = results(arena, op, dtype, accumulated.pointer, cells.places)
    const counts = take(arena, 'float64', counted.pointer, cells.places)
    for (let cell = 0; cell < cells.places; cell++) {
      const values = expected.get(cell) ?? []
      expectCell(op, dtype, found[cell]!, values, isWide(dtype) && op === 'sum' ? 0n : identity)
      if ((misalign > 0 || skip !== 'none') && counts[cell] !== values.length)
        expect.fail(`${counts[cell]} elements counted, expected ${values.length}`)
    }
  })
}

/** Boxes of rank 0 to 5 with some axes reduced, cells in any layout. */
const cases = (most: number): fc.Arbitrary<Case> =>
  boxes(most, true).chain(({ shape, layout, other }) =>
    fc
      .tuple(fc.array(fc.boolean(), { minLength: shape.length, maxLength: shape.length }), fc.constantFrom(0, 0, 8, 1, 3))
      .map(([kept, misalign]) => {
        const stride = other.stride.map((step, axis) => (kept[axis] ? step : 0))
        const first = stride.reduce((sum, step, axis) => sum + (step < 0 ? -step * Math.max(shape[axis]! - 1, 0) : 0), 0)
        const last = stride.reduce((sum, step, axis) => sum + (step > 0 ? step * Math.max(shape[axis]! - 1, 0) : 0), first)
        return { shape, layout, cells: { stride, first, places: last + 1 }, misalign }
      }),
  )

describe.each(NUMERIC_DTYPES)('reduce %s', (dtype) => {
  test('whole arrays of every length from 0 to 300', () => {
    for (let length = 0; length <= 300; length++) {
      const op = OPS[length % 3]!
      for (const skip of skipsOf(dtype)) {
        check(op, dtype, skip, {
          shape: [length],
          layout: layOut([length], [0], [1], [false]),
          cells: { stride: [0], first: 0, places: 1 },
          misalign: length % 4,
        })
      }
    }
  })

  test.each([
    [9_001, 2],
    [70_001, 1],
  ])('arrays of many blocks: %i elements, %i apart', (length, step) => {
    const layout = layOut([length], [0], [step], [false])
    const cells = { stride: [0], first: 0, places: 1 }
    for (const [i, skip] of skipsOf(dtype).entries()) {
      for (const op of OPS.slice(i % 3)) check(op, dtype, skip, { shape: [length], layout, cells, misalign: 1 })
    }
  })

  test('elements kept along the inner axis, at every length from 0 to 70', () => {
    for (let length = 0; length <= 70; length++) {
      const shape = [3, length]
      const layout = layOut(shape, [1, 0], [1, 1], [false, false])
      const cells = { stride: [0, 1], first: 0, places: Math.max(length, 1) }
      for (const [i, skip] of skipsOf(dtype).entries())
        check(OPS[(length + i) % 3]!, dtype, skip, { shape, layout, cells, misalign: length % 2 })
    }
  })

  test('any box, any axes, any layout', () => {
    fc.assert(
      fc.property(cases(2000), fc.constantFrom(...OPS), fc.constantFrom(...skipsOf(dtype)), (box, op, skip) =>
        check(op, dtype, skip, box),
      ),
      { numRuns: runs(100) },
    )
  })

  test('long stretches with and without elements to skip', () => {
    withArena((arena) => {
      const data = (sample(dtype, 3000, 7) as TypedArray).slice()
      const fill = isWide(dtype) ? 3n : 3
      for (let i = 0; i < 3000; i++)
        if (i % 500 < 250 || data[i] === fill) data[i] = ((i >> 8) & 1 ? fill : isWide(dtype) ? 5n : 5) as never
      const taken = [...(data as Iterable<number | bigint>)].filter((value) => value !== fill)
      const src = putAt(arena, data, 1)
      for (const op of OPS) {
        const cell = accumulators(arena, op, dtype, 1)
        const count = counters(arena, 1)
        const identity = results(arena, op, dtype, cell, 1)[0]!
        reduceElements(arena, op, dtype, { fill }, [3000], src, [1], cell, [0], count)
        expectCell(op, dtype, results(arena, op, dtype, cell, 1)[0]!, taken, identity)
        expect(arena.view('float64', count, 1)[0]).toBe(taken.length)
      }
      expect(chunkStats(arena, dtype, src, 3000, fill).taken).toBe(taken.length)
    })
  })

  test('statistics of every length from 0 to 300, and of many blocks', () => {
    for (const length of [...Array(301).keys(), 70_001]) {
      for (const fill of [undefined, ...skipsOf(dtype).map((skip) => (typeof skip === 'object' ? skip.fill : undefined))]) {
        withArena((arena) => {
          const data = sample(dtype, length, length) as TypedArray
          const values = [...(data as Iterable<number | bigint>)].filter(
            (value) => fill === undefined || !isSkipped({ fill }, value),
          )
          const { min, max, taken } = chunkStats(arena, dtype, putAt(arena, data, length % 5), length, fill)
          expect(taken).toBe(values.length)
          if (taken === 0) return
          const ordered = values.sort(totalOrder)
          if (!Object.is(min, ordered[0]) || !Object.is(max, ordered.at(-1)))
            expect.fail(`${min} to ${max}, expected ${ordered[0]} to ${ordered.at(-1)}`)
        })
      }
    }
  })
})

describe.each(NUMERIC_DTYPES.filter((dtype) => !isFloat(dtype)))('%s', (dtype) => {
  test('integer extremes add up exactly', () => {
    const signed = dtype.startsWith('int')
    const bits = BigInt(8 * elementBytes(dtype))
    const ends = signed ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [2n ** bits - 1n]
    for (const end of ends) {
      withArena((arena) => {
        const count = 100_003
        const src = arena.alloc(count * elementBytes(dtype))
        arena.view(dtype, src, count).fill((isWide(dtype) ? end : Number(end)) as never)
        for (const skip of skipsOf(dtype)) {
          const cell = accumulators(arena, 'sum', dtype, 1)
          reduceElements(arena, 'sum', dtype, skip, [count], src, [1], cell, [0])
          const total = end * BigInt(count)
          expect(results(arena, 'sum', dtype, cell, 1)[0]).toBe(isWide(dtype) ? total : Number(total))
        }
      })
    }
  })
})

/** -0 before 0, NaN last (the samples hold positive NaNs only). */
function totalOrder(a: number | bigint, b: number | bigint): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  if (a === b) return Object.is(a, b) ? 0 : Object.is(a, -0) ? -1 : 1
  return a < b ? -1 : 1
}

describe.each(['float32', 'float64'] as const)('statistics of %s without NaN', (dtype) => {
  const SETS = [
    [-0, 0, 3],
    [0, -0, 3],
    [-3, -0, 0],
    [-3, 0, -0],
    [0, 3],
    [-3, -0],
    [Infinity, 2],
    [-Infinity, -2],
    [1, 2, -7],
  ]
  test.each(SETS.map((values) => ({ values, name: values.map((x) => (Object.is(x, -0) ? '-0' : x)).join(', ') })))(
    '$name, and over again',
    ({ values }) => {
      const ordered = [...values].sort(totalOrder)
      for (const length of [values.length, 13, 64, 20_000, 20_003]) {
        withArena((arena) => {
          const data = allocate(dtype, length) as Float64Array
          for (let i = 0; i < length; i++) data[i] = values[i % values.length]!
          const { min, max, taken } = chunkStats(arena, dtype, putAt(arena, data), length, undefined)
          expect([min, max, taken]).toEqual([ordered[0], ordered.at(-1), length])
        })
      }
    },
  )

  test('blocks of which nothing is taken', () => {
    withArena((arena) => {
      const data = (allocate(dtype, 40_000) as Float64Array).fill(-99)
      data.set([5, 7], 39_990)
      const { min, max, taken } = chunkStats(arena, dtype, putAt(arena, data), data.length, -99)
      expect([min, max, taken]).toEqual([5, 7, 2])
    })
  })
})

test.each(['float32', 'float64'] as const)('statistics of %s put negative NaNs first and give them back bit for bit', (dtype) => {
  withArena((arena) => {
    const bytes = elementBytes(dtype)
    const data = arena.view(dtype, arena.alloc(5 * bytes), 5)
    data.set([1, NaN, -Infinity, -0, NaN])
    const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    raw[2 * bytes - 1]! |= 0x80
    raw[bytes] = 7 // a payload
    raw[5 * bytes - 1]! &= 0x7f
    const payload = raw.slice(bytes, 2 * bytes)
    const out = arena.alloc(24)
    compute(arena).stats(dtype === 'float32' ? 8 : 9, 0, 0, data.byteOffset, 5, out)
    expect(arena.bytes(out, bytes)).toEqual(payload)
    expect(arena.view(dtype, out + 8, 1)[0]).toBe(NaN)
  })
})

describe('float sums', () => {
  // Blocks of 8 KiB in eight interleaved sums, then pairwise: at most 256 + 3 + log2(blocks) roundings,
  // whatever the length.
  const ROUNDINGS = 256 + 3 + 12

  test.each(['float32', 'float64'] as const)('of millions of %s stay within the bound', (dtype) => {
    const count = 3_000_001
    withArena((arena) => {
      const src = arena.alloc(count * elementBytes(dtype))
      const data = arena.view(dtype, src, count)
      // added one block after the other, the small ones would get lost beside the first
      data.fill(0.1)
      data[0] = 2 ** 60
      const cell = accumulators(arena, 'sum', dtype, 1)
      reduceElements(arena, 'sum', dtype, 'none', [count], src, [1], cell, [0])
      const sum = results(arena, 'sum', dtype, cell, 1)[0]!
      const exact = exactSum([2 ** 60, data[1]! * (count - 1)])
      expect(Math.abs(sum - exact)).toBeLessThanOrEqual(ROUNDINGS * 2 ** -53 * Math.abs(exact))
    })
  })

  test.each([
    [[Infinity, 1, -3], Infinity],
    [[1, -Infinity], -Infinity],
    [[Infinity, 1, -Infinity], NaN],
    [[1, NaN], NaN],
  ])('of %j', (values, expected) => {
    withArena((arena) => {
      for (const dtype of ['float32', 'float64'] as const) {
        const cell = accumulators(arena, 'sum', dtype, 1)
        const data = dtype === 'float32' ? Float32Array.from(values) : Float64Array.from(values)
        reduceElements(arena, 'sum', dtype, 'none', [values.length], putAt(arena, data), [1], cell, [0])
        expect(results(arena, 'sum', dtype, cell, 1)[0]).toBe(expected)
      }
    })
  })
})

test('NaN stays in a cell over later calls, wherever it was', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    for (const op of ['min', 'max'] as const) {
      for (let at = 0; at < 70; at++) {
        withArena((arena) => {
          const cell = accumulators(arena, op, dtype, 1)
          const data = (dtype === 'float32' ? new Float32Array(70) : new Float64Array(70)).map((_, i) => (i === at ? NaN : i))
          reduceElements(arena, op, dtype, 'none', [70], putAt(arena, data), [1], cell, [0])
          reduceElements(arena, op, dtype, 'none', [3], putAt(arena, data.fill(2)), [1], cell, [0])
          expect(results(arena, op, dtype, cell, 1)[0]).toBe(NaN)
        })
      }
    }
  }
})

test('bools count as uint8, timestamps as int64', () => {
  withArena((arena) => {
    const cell = accumulators(arena, 'sum', 'bool', 1)
    reduceElements(arena, 'sum', 'bool', 'none', [5], arena.put(Uint8Array.of(1, 0, 1, 1, 0)), [1], cell, [0])
    expect(results(arena, 'sum', 'bool', cell, 1)).toEqual([3])
    const times = BigInt64Array.of(5n, -7n, 9n)
    expect(chunkStats(arena, 'timestamp_ns', putAt(arena, times), 3, 9n)).toEqual({ min: -7n, max: 5n, taken: 2 })
  })
})

test('fill values that the type cannot hold are equal to nothing, those of floats are rounded', () => {
  withArena((arena) => {
    const taken = (dtype: NumericDType, value: number | bigint, fill: number | bigint) => {
      const data = arena.view(dtype, arena.alloc(8), 1) as TypedArray
      data.fill(value as never)
      return chunkStats(arena, dtype, data.byteOffset, 1, fill).taken
    }
    expect(taken('uint8', 44, 300)).toBe(1)
    expect(taken('int16', -1, 65535)).toBe(1)
    expect(taken('int16', 3, 3.5)).toBe(1)
    expect(taken('int32', 0, 1e20)).toBe(1)
    expect(taken('int32', 7, 7n)).toBe(0)
    expect(taken('uint64', 2n ** 64n - 1n, -1)).toBe(1)
    expect(taken('int64', 3n, 3.5)).toBe(1)
    expect(taken('int64', 3n, Infinity)).toBe(1)
    expect(taken('int64', 3n, 3)).toBe(0)
    expect(taken('int64', 3n, NaN)).toBe(1)
    expect(taken('float32', Math.fround(1e20), 1e20)).toBe(0)
    expect(taken('float64', -0, 0)).toBe(0)
  })
})

test('counters start at 0', () => {
  withArena((arena) => {
    arena.scratch(() => arena.bytes(arena.alloc(64), 64).fill(255))
    expect([...arena.view('float64', counters(arena, 3), 3)]).toEqual([0, 0, 0])
  })
})
