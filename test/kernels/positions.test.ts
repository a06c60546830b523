import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { elementBytes, NUMERIC_DTYPES, type NumericDType, type TypedArray, toBytes } from '../../src/core/dtype.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { compute } from '../../src/kernels/compute.ts'
import { find, firstRows } from '../../src/kernels/positions.ts'
import { typeCode } from '../../src/kernels/reduce.ts'
import { runs } from '../support/budget.ts'
import { expectSameBytes, extremesOf, guarded, putAt, sample } from './support.ts'

type Value = number | bigint

const same = (a: Value, b: Value): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b))
const typed = (dtype: NumericDType, values: readonly Value[]): TypedArray => {
  const data = sample(dtype, values.length, 0).slice() as TypedArray
  values.forEach((value, i) => {
    data[i] = value as never
  })
  return data
}

/** Finds the first place of `value` among elements. The bytes around them hold it too and must not count. */
function found(dtype: NumericDType, data: TypedArray, value: Value, misalign: number): number {
  const size = elementBytes(dtype)
  const around = typed(dtype, new Array<Value>(64 / size).fill(value))
  return withArena((arena) => {
    const whole = new Uint8Array(128 + data.byteLength)
    whole.set(toBytes(around))
    whole.set(toBytes(data), 64)
    whole.set(toBytes(around), 64 + data.byteLength)
    const start = putAt(arena, whole, misalign)
    const address = arena.put(toBytes(typed(dtype, [value])))
    const index = find(arena, dtype, address, Number.isNaN(value), start + 64, data.length)
    expectSameBytes(arena.bytes(start, whole.length), whole)
    return index < data.length ? index : -1
  })
}

describe.each(NUMERIC_DTYPES)('%s', (dtype) => {
  test('the first of equal elements, of any length from anywhere', () => {
    for (let length = 0; length <= 300; length++) {
      const data = sample(dtype, length, length + 1) as TypedArray
      const ends = [...(data as Float64Array).subarray(0, 2), ...(data as Float64Array).subarray(-3)]
      const values = new Set<Value>(typed(dtype, [...extremesOf(dtype), ...ends]) as Float64Array)
      for (const value of values) {
        const expected = (data as Float64Array).findIndex((each) => same(each, value as number))
        for (const misalign of [0, elementBytes(dtype), 15]) expect(found(dtype, data, value, misalign)).toBe(expected)
      }
    }
  })

  test('the first at every place', () => {
    const [one, other] = dtype.endsWith('int64') ? [1n, 2n] : [1, 2]
    for (const length of [1, 15, 16, 17, 63, 64, 65, 130])
      for (let at = 0; at < length; at++) {
        const data = typed(
          dtype,
          Array.from({ length }, (_, i) => (i < at ? other : one)),
        )
        expect(found(dtype, data, one, at % 4)).toBe(at)
      }
  })

  test('places are written, and nothing else', () => {
    const size = elementBytes(dtype)
    for (let columns = 16 / size; columns <= 16 / size + 40; columns++)
      withArena((arena) => {
        const bytes = columns * size
        const src = arena.alloc(2 * bytes)
        // The bytes behind the rows and the values are equal, too.
        arena.bytes(src, 2 * bytes + 32).fill(0)
        const values = arena.alloc(bytes)
        arena.bytes(values, bytes + 32).fill(0)
        const places = guarded(arena, bytes, columns % 16)
        compute(arena).firstRows(typeCode(dtype), src, bytes, 2, bytes, values, places.pointer)
        places.check()
        expectSameBytes(arena.bytes(places.pointer, bytes), new Uint8Array(bytes))
      })
  })

  test('the first row of each column', () => {
    const size = elementBytes(dtype)
    const tables = fc.record({
      columns: fc.integer({ min: 16 / size, max: 70 }),
      rows: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(254, 255, 256, 600)),
      distinct: fc.integer({ min: 1, max: 400 }),
      misalign: fc.constantFrom(0, 1, size, 15),
      seed: fc.nat(1000),
    })
    const check = ({
      columns,
      rows,
      distinct,
      misalign,
      seed,
    }: typeof tables extends fc.Arbitrary<infer T> ? T : never): void => {
      const palette = [...(sample(dtype, distinct, seed) as Float64Array)]
      const data = typed(
        dtype,
        Array.from({ length: rows * columns }, (_, i) => palette[(i * 7919 + seed * i * i) % distinct]!),
      ) as Float64Array
      const values = typed(
        dtype,
        Array.from({ length: columns }, (_, i) => palette[(i + seed) % distinct]!),
      ) as Float64Array
      let first: ArrayLike<number> = []
      withArena((arena) => {
        const src = putAt(arena, data, misalign)
        const cells = guarded(arena, values.byteLength, misalign)
        arena.bytes(cells.pointer, values.byteLength).set(toBytes(values))
        first = firstRows(arena, dtype, src, rows, columns, cells.pointer)
        cells.check()
        expectSameBytes(arena.bytes(cells.pointer, values.byteLength), toBytes(values))
        expectSameBytes(arena.bytes(src, data.byteLength), toBytes(data))
      })
      for (let i = 0; i < columns; i++) {
        const column = Array.from({ length: rows }, (_, row) => data[row * columns + i]!)
        expect(first[i]).toBe(column.findIndex((value) => same(value, values[i]!)))
      }
    }
    fc.assert(fc.property(tables, check), { numRuns: runs(150) })
  })
})

test.each(['float32', 'float64'] as const)('zeros of %s are equal, and so are NaNs of any bits', (dtype) => {
  expect(found(dtype, typed(dtype, [1, 0, -0]), -0, 0)).toBe(1)
  expect(found(dtype, typed(dtype, [1, -0, 0]), 0, 0)).toBe(1)
  const data = typed(dtype, [1, 2, 3])
  toBytes(data).set(dtype === 'float32' ? [1, 0, 128, 255] : [1, 0, 0, 0, 0, 0, 240, 255], elementBytes(dtype))
  expect(found(dtype, data, Number.NaN, 0)).toBe(1)
})

test('rows beyond what places of 16 bits tell apart', () => {
  const rows = 2 ** 16 + 5
  const data = new Int16Array(rows * 8)
  data.fill(7, 8 * 65_535)
  data.fill(9, 8 * 65_536 + 4)
  const first = withArena((arena) => {
    const values = arena.put(toBytes(Int16Array.of(7, 7, 7, 7, 9, 9, 9, 8)))
    return firstRows(arena, 'int16', arena.put(toBytes(data)), rows, 8, values)
  })
  expect([...first]).toEqual([65_535, 65_535, 65_535, 65_535, 65_536, 65_536, 65_536, -1])
})
