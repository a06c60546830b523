import { describe, expect, test } from 'vitest'
import { broadcast, concat, roll, scaled } from '../../../src/array/combine.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { promote } from '../../../src/array/lazy/astype.ts'
import { coarsen, slidingWindows } from '../../../src/array/reductions/windows.ts'
import { allocate, DTYPES, type DType } from '../../../src/core/dtype.ts'
import { MemoryBudget } from '../../../src/core/memory-budget.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { slice } from '../../../src/grid/slice.ts'
import { create, MemoryStore } from '../../../src/runtime/index.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { all, counted, refused } from './support.ts'

const of = <D extends DType>(dtype: D, values: unknown[], fillValue?: unknown, attributes?: Record<string, unknown>) => {
  const data = allocate(dtype, values.length)
  values.forEach((value, i) => {
    data[i] = value as never
  })
  const source = new CountingSource({ dtype, shape: [values.length], data }, ChunkGrid.regular([values.length], [2]), {
    fillValue: fillValue as never,
    ...(attributes && { attrs: new Map(Object.entries(attributes)) }),
  })
  return { array: new DiskArray(source), data, reads: source.reads }
}

describe('astype', () => {
  test.each<[DType, unknown[], DType, unknown[]]>([
    ['float64', [1.9, -1.9, -0.5], 'int8', [1, -1, 0]],
    ['float64', [1.9, -1.9, 2 ** 60], 'int64', [1n, -1n, 2n ** 60n]],
    ['int64', [-(2n ** 62n), 3n], 'float64', [-(2 ** 62), 3]],
    ['uint8', [0, 200], 'int16', [0, 200]],
    ['int32', [7, 0, -1], 'bool', [1, 0, 1]],
    ['bool', [1, 0], 'uint64', [1n, 0n]],
    ['uint32', [4294967295], 'int64', [4294967295n]],
    ['float64', [0.1], 'float32', [Math.fround(0.1)]],
  ])('case %# from %s', async (from, values, to, expected) => {
    expect(await all(of(from, values).array.astype(to))).toEqual(expected)
  })

  test.each<[DType, unknown, DType]>([
    ['float64', Number.NaN, 'int32'],
    ['float64', Number.POSITIVE_INFINITY, 'int64'],
    ['float64', 300, 'uint8'],
    ['int16', -1, 'uint64'],
    ['uint64', 2n ** 63n, 'int64'],
    ['int64', 1000n, 'int8'],
  ])('case %# of %s', async (from, value, to) => {
    await expect(of(from, [value]).array.astype(to).get()).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      details: { file: 'counting', expected: to },
    })
  })

  test('it is written where nothing can get lost', async () => {
    const { array, data } = of('int8', [1, 2, 3])
    const wide = array.astype('float64')
    await wide.set([slice(null, null, 2)], [-7, 100])
    expect([...data]).toEqual([-7, 2, 100])
    await expect(wide.set([0], 1.5)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(wide.set([0], 128)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(of('float64', [1]).array.astype('int8').set([0], 1)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('the fill value goes along', async () => {
    const { array } = of('int16', [5, -99, 7], -99)
    expect(array.astype('float32').fillValue).toBe(-99)
    expect(await array.astype('float64').sum()).toBe(12)
  })
})

test('promotion is that of numpy', () => {
  const table: [DType, DType, DType][] = [
    ['int8', 'uint8', 'int16'],
    ['int8', 'int32', 'int32'],
    ['uint32', 'int32', 'int64'],
    ['uint64', 'int8', 'float64'],
    ['uint8', 'int16', 'int16'],
    ['uint16', 'int16', 'int32'],
    ['uint16', 'uint64', 'uint64'],
    ['float32', 'int16', 'float32'],
    ['float32', 'int32', 'float64'],
    ['float32', 'int64', 'float64'],
    ['float32', 'float64', 'float64'],
    ['float64', 'uint8', 'float64'],
    ['bool', 'int8', 'int8'],
  ]
  for (const [a, b, both] of table) expect([promote([a, b]), promote([b, a])], `${a}, ${b}`).toEqual([both, both])
  for (const dtype of DTYPES) expect(promote([dtype, dtype])).toBe(dtype)
  expect(() => promote(['timestamp_ns', 'int64'])).toThrow(refused('InvalidArgumentError'))
  expect(() => promote(['bool', 'string'])).toThrow(refused('InvalidArgumentError'))
})

describe('map', () => {
  test('values as users see them, results that are values', async () => {
    const { array, data } = of('bool', [1, 0])
    const not = array.map((value) => !value, { inverse: (value) => !value })
    expect(await not.get([0])).toBe(false)
    await not.set([1], false)
    expect([...data]).toEqual([1, 1])
    const named = of('int32', [1, 2, 3]).array.map((value) => `no. ${value}`, { dtype: 'string', fillValue: '' })
    expect([await named.get([2]), named.fillValue]).toEqual(['no. 3', ''])
    await expect(named.set([0], 'x')).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    await expect(
      of('int32', [1])
        .array.map((x) => x / 2)
        .get(),
    ).rejects.toThrow("array 'plain': 0.5 is not a int32 value")
  })

  test('what lies between written elements stays as it is', async () => {
    const { array, data, reads } = of('float64', [0.1, 0.2, 0.3])
    const lossy = array.map((x) => Math.round(x), { inverse: (x) => x })
    await lossy.set([slice(null, null, 2)], [5, 6])
    expect([...data]).toEqual([5, 0.2, 6])
    expect(reads.length).toBe(1)
  })
})

describe('scaled', () => {
  test('packed values, and back', async () => {
    const { array, data } = of('int16', [0, 100, -32767, -5], -32767)
    const values = scaled(array, { scaleFactor: 0.01, addOffset: 10, missingValues: [-5] })
    expect([values.dtype, values.fillValue]).toEqual(['float64', Number.NaN])
    expect(await all(values)).toEqual([10, 11, Number.NaN, Number.NaN])
    expect(await values.mean()).toBe(10.5)
    await values.set(null, [9.996, Number.NaN, 12.3449, -10])
    expect([...data]).toEqual([0, -32767, 234, -2000])
    await expect(values.set([0], 1e6)).rejects.toThrow("counting: array 'plain': 99999000 is not a int16 value")
  })

  test('64-bit integers, floats, no fill value', async () => {
    const wide = of('int64', [3n, -4n])
    expect(await all(scaled(wide.array, { scaleFactor: 0.5, dtype: 'float32' }))).toEqual([1.5, -2])
    await scaled(wide.array, { scaleFactor: 0.5 }).set([1], 8)
    expect([...wide.data]).toEqual([3n, 16n])
    await expect(scaled(wide.array, { scaleFactor: 1 }).set([0], Number.NaN)).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
    })
    const floats = of('float32', [1.5, -1], -1)
    await scaled(floats.array, { addOffset: 1 }).set([0], 3.25)
    expect([...floats.data]).toEqual([2.25, -1])
    expect(() => scaled(floats.array, { scaleFactor: 0 })).toThrow(refused('InvalidArgumentError'))
    expect(() => scaled(of('string', ['a']).array, { scaleFactor: 2 })).toThrow(refused('UnsupportedError'))
  })
})

test('chunks are those below', () => {
  const { array } = counted([5, 4], [2, 3])
  expect(
    scaled(
      array
        .map((x) => x)
        .astype('float32')
        .cache(),
      { scaleFactor: 2 },
    ).chunks,
  ).toBe(array.chunks)
})

describe('scaled without options', () => {
  const packed = (
    attributes: Record<string, unknown>,
    dtype: 'int8' | 'int16' | 'int64' | 'float32' = 'int16',
    fillValue = -32767,
  ) => {
    const values = dtype === 'int64' ? [0n, 100n, -1n] : [0, 100, -1]
    return of(dtype, values, dtype === 'int16' ? fillValue : undefined, attributes)
  }

  test('reads the attributes of the array', async () => {
    const { array, data } = packed({ scale_factor: 0.5, add_offset: 10, missing_value: Int16Array.of(-1, -2), units: 'K' })
    const values = scaled(array)
    expect(await all(values)).toEqual([10, 60, Number.NaN])
    expect(await all(scaled(array, { dtype: 'float32' }))).toEqual([10, 60, Number.NaN])
    await values.set([0], 11)
    expect(data[0]).toBe(2)
  })

  test('explicit options stand alone', async () => {
    const { array } = packed({ scale_factor: 0.5, add_offset: 10 })
    expect(await all(scaled(array, { scaleFactor: 2 }))).toEqual([0, 200, -2])
  })

  test('both fill values are missing, that of the array and that of the attribute', async () => {
    expect(await all(scaled(packed({ _FillValue: -1 }, 'int16', 100).array))).toEqual([0, Number.NaN, Number.NaN])
  })

  test('reads signed integers as unsigned, and writes them', async () => {
    const { array, data } = packed({ _Unsigned: 'true', scale_factor: 2 }, 'int8')
    const values = scaled(array)
    expect(await all(values)).toEqual([0, 200, 510])
    await values.set([0], 300)
    expect(data[0]).toBe(150 - 256)
    await expect(values.set([0], -2)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(values.set([0], 512)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test.each([
    [{ scale_factor: '0.5' }, "attribute 'scale_factor' must be numbers, got the text '0.5'"],
    [{ add_offset: Float64Array.of(1, 2) }, "attribute 'add_offset' must be one number, got 1,2"],
    [
      { missing_value: 1e20 },
      "attribute 'missing_value' must be a int16 value, as the packed ones are, got 100000000000000000000",
    ],
    [{ _FillValue: 'x' }, "attribute '_FillValue' must be numbers, got the text 'x'"],
    [{ _Unsigned: 1 }, "attribute '_Unsigned' must be 'true' or 'false', got 1"],
    [{ scale_factor: 0 }, 'cannot scale by 0 and 0'],
    [{ scale_factor: Number.POSITIVE_INFINITY }, 'cannot scale by Infinity and 0'],
  ])('refuses %j', (attributes, message) => {
    expect(() => scaled(packed(attributes).array)).toThrow(message)
    expect(() => scaled(packed(attributes).array)).toThrow(refused('InvalidArgumentError'))
  })

  test('is refused where there are no attributes', () => {
    expect(() => scaled(of('int16', [1]).array)).toThrow('pass `scaleFactor`, `addOffset` or `missingValues`')
  })

  test('goes through arrays of the same elements', async () => {
    const { array } = packed({ scale_factor: 0.5, missing_value: Int16Array.of(-1) })
    const same: [DiskArray, unknown[]][] = [
      [array.view([slice(1, 3)]), [50, Number.NaN]],
      [array.view([[2, 0]]), [Number.NaN, 0]],
      [array.view([slice(1, 3)]).flip(), [Number.NaN, 50]],
      [array.transpose(), [0, 50, Number.NaN]],
      [array.reshape([1, 3]), [0, 50, Number.NaN]],
      [array.expandDims(0).squeeze(), [0, 50, Number.NaN]],
      [array.rechunk([3]), [0, 50, Number.NaN]],
      [array.cache(), [0, 50, Number.NaN]],
      [array.pad(1), [Number.NaN, 0, 50, Number.NaN, Number.NaN]],
      [roll(array, 1, 0), [Number.NaN, 0, 50]],
      [array.astype('int16'), [0, 50, Number.NaN]],
    ]
    for (const [made, expected] of same) {
      expect(made.attrs!.get('scale_factor')).toBe(0.5)
      expect(await all(scaled(made))).toEqual(expected)
    }
  })

  test('is refused of arrays of other elements', () => {
    const { array } = packed({ scale_factor: 0.5 })
    const other = [
      array.map((x) => x),
      array.astype('float64'),
      broadcast((x) => x, array),
      scaled(array),
      coarsen(array, { 0: 2 }, 'mean'),
      slidingWindows(array, { 0: 2 }, 'max'),
    ] as unknown as DiskArray[]
    for (const made of other) {
      expect(made.attrs).toBeUndefined()
      expect(() => scaled(made)).toThrow('pass `scaleFactor`, `addOffset` or `missingValues`')
    }
  })

  test('of arrays put together, where all are packed alike', async () => {
    const attributes = { scale_factor: 0.5, missing_value: Int16Array.of(-1), units: 'K' }
    const one = packed(attributes).array
    const alike = packed({ ...attributes, missing_value: Int16Array.of(-1) }).array
    expect(await all(scaled(concat([one, alike])))).toEqual([0, 50, Number.NaN, 0, 50, Number.NaN])
    const others: DiskArray<'int16'>[] = [
      packed({ ...attributes, scale_factor: 2 }).array,
      packed({ ...attributes, missing_value: Int16Array.of(-1, -2) }).array,
      packed({ ...attributes, more: 1 }).array,
      packed({ scale_factor: 0.5 }).array,
      of('int16', [1], -32767).array,
      // Its missing elements have another value in the whole.
      packed(attributes, 'int16', -5).array,
    ] as never
    for (const other of others)
      for (const tiles of [
        [one, other],
        [other, one],
      ])
        expect(concat(tiles as never).attrs).toBeUndefined()
  })

  test('of a container, attributes that are set later count', async () => {
    await using file = await create({ store: new MemoryStore(), path: 'a.af' })
    const array = file.createArray('x', { dtype: 'int16', shape: [3], fillValue: -9 })
    await array.set(null, [1, -9, 3])
    const view = array.view([slice(null, null, -1)])
    array.attrs.set('scale_factor', 0.5)
    expect(view.attrs).toBe(array.attrs)
    expect(await all(scaled(view))).toEqual([1.5, Number.NaN, 0.5])
    array.attrs.delete('scale_factor')
    expect(await all(scaled(view))).toEqual([3, Number.NaN, 1])
  })

  test('a source whose chunks are estimated keeps what it says of itself', () => {
    const { array } = packed({ scale_factor: 0.5 })
    const { dtype, shape, attrs } = array.source
    const budget = new MemoryBudget(1000)
    const readBlock = array.source.readBlock.bind(array.source)
    expect(new DiskArray({ dtype, shape, attrs, budget, maxElements: 2, readBlock }).source).toMatchObject({
      attrs,
      budget,
      maxElements: 2,
    })
  })
})
