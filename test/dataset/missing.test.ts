import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { NumericDType } from '../../src/core/dtype.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { CountingSource } from '../support/counting-source.ts'

/** Values of a type, -1 of which are missing, along `x` with the labels 10, 20 and so on. */
async function dataset(dtype: NumericDType, values: readonly number[], attrs: Record<string, unknown> = {}): Promise<Dataset> {
  const own =
    dtype === 'int64'
      ? BigInt64Array.from(values, BigInt)
      : dtype === 'float32'
        ? Float32Array.from(values)
        : Int16Array.from(values)
  const grid = ChunkGrid.regular([values.length], [2])
  const missing = { _FillValue: dtype === 'int64' ? -1n : -1, ...attrs }
  const source = new CountingSource({ dtype, shape: [values.length], data: own as never }, grid, {
    attrs: new Map(Object.entries(missing)),
  })
  const labels = new Dataset({}, { coords: { x: values.map((_, i) => 10 * (i + 1)) } }).get('x').array
  const ds = await Dataset.from({
    variables: [
      { name: 't', array: new DiskArray(source) as DiskArray, dims: ['x'] },
      { name: 'x', array: labels, dims: ['x'] },
    ],
  })
  for (const problem of ds.decodeErrors.values()) throw problem
  return ds
}

const list = async (ds: { values(): Promise<ArrayLike<unknown>> }): Promise<number[]> => Array.from(await ds.values(), Number)
const none = Number.NaN
const flags = { flag_values: Int16Array.of(0, 1), flag_meanings: 'no yes' }

describe.each([
  ['int16', {}],
  ['int16', flags],
  ['int64', {}],
  ['float32', {}],
] as const)('missing %s values %j', (dtype, attrs) => {
  test('are missing in what is computed of them', async () => {
    const t = (await dataset(dtype, [4, -1, 6, 8, -1, -1], attrs)).get('t')
    expect(await list(t.add(1))).toEqual([5, Number.NaN, 7, 9, Number.NaN, Number.NaN])
    expect(await list(t.sub(t))).toEqual([0, Number.NaN, 0, 0, Number.NaN, Number.NaN])
    expect(await list(t.rolling({ x: 2 }).sum())).toEqual([Number.NaN, Number.NaN, Number.NaN, 14, Number.NaN, Number.NaN])
    expect(await list(t.rolling({ x: 2 }, { minPeriods: 1 }).sum())).toEqual([4, 4, 6, 14, 8, Number.NaN])
    expect(() => t.rolling({ x: 2 }, { minPeriods: 3 })).toThrow(
      '`minPeriods` is at most 2, the number of positions that are reduced together, got 3',
    )
    expect(() => t.rolling({ x: 2 }, { minPeriods: 1.5 })).toThrow(/minPeriods/)
    expect(await list(t.coarsen({ x: 2 }).mean())).toEqual([4, 7, Number.NaN])
  })

  test('are refused as weights, as by xarray', async () => {
    const ds = await dataset(dtype, [4, -1, 6, 8], attrs)
    const t = ds.get('t')
    for (const kind of ['sum', 'mean'] as const)
      await expect(t.weighted(t)[kind]().get()).rejects.toThrow("array 't': weights cannot be missing, as that at position 1 is")
    expect(
      await t
        .isel({ x: [0, 2, 3] })
        .weighted(t.isel({ x: [0, 2, 3] }))
        .sum()
        .get(),
    ).toBe(16 + 36 + 64)
  })

  test('windows say by their own option how many values they need', async () => {
    const t = (await dataset(dtype, [4, -1, 6, 8], attrs)).get('t')
    expect(await list(t.rolling({ x: 2 }).count())).toEqual([Number.NaN, Number.NaN, Number.NaN, 2])
    expect(() => t.rolling({ x: 2 }).mean({ skipMissing: false })).toThrow(/no option 'skipMissing': there is none$/)
  })

  test('are passed over by reductions, and are what is left of nothing', async () => {
    const ds = await dataset(dtype, [4, -1, 6, 8, -1, -1], attrs)
    const t = ds.get('t')
    expect(Number(await t.sum().get())).toBe(18)
    expect(await t.mean().get()).toBe(6)
    expect(await t.count().get()).toBe(3)
    const groups = t.groupBy({ x: [0, 20, 40, 60] })
    expect(await list(groups.count())).toEqual([1, 2, 0])
    expect(await list(groups.mean())).toEqual([4, 7, Number.NaN])
    // The last group has no valid elements: a sum with its result is missing, too.
    expect(await list(groups.max().add(0))).toEqual([4, 8, Number.NaN])
  })
})

test('extremes of groups over several dimensions pass over what is missing', async () => {
  const plain = { dtype: 'int64' as const, shape: [2, 2], data: BigInt64Array.of(-1n, 5n, 3n, -1n) }
  const source = new CountingSource(plain, ChunkGrid.regular([2, 2], [2, 2]), { fillValue: -1n })
  const ds = new Dataset(
    { t: { dims: ['y', 'x'], data: new DiskArray(source) as DiskArray } },
    { coords: { x: { dims: ['x'], data: [10, 20], attrs: { units: 'm' } } } },
  )
  const groups = ds.get('t').groupBy('x')
  const lows = groups.min({ axis: ['x', 'y'] })
  expect(await list(lows)).toEqual([3, 5])
  expect(await list(groups.sum({ axis: ['x', 'y'] }))).toEqual([3, 5])
  // Labels that are their own groups stay the coordinate they are.
  expect(lows.coords['x']!.attrs).toEqual({ units: 'm' })
  expect(await lows.sel({ x: 20 }).get()).toBe(5n)
})

test('values outside the valid range are missing, as packed', async () => {
  const attrs = { valid_range: Int16Array.of(0, 100), scale_factor: 0.5, add_offset: 10 }
  const t = (await dataset('int16', [0, 100, 101, -1, -2, 7], attrs)).get('t')
  expect(await list(t)).toEqual([10, 60, Number.NaN, Number.NaN, Number.NaN, 13.5])
  expect(await t.mean().get()).toBe((10 + 60 + 13.5) / 3)
  expect(t.attrs).toEqual({})
  expect(t.encoding).toMatchObject({ dtype: 'int16', scale_factor: 0.5, add_offset: 10, _FillValue: -1 })
})

test('valid ranges hold for flags, integers of 64 bits and unsigned ones', async () => {
  const range = { valid_min: 0, valid_max: 6 }
  expect(await list((await dataset('int16', [4, 7, -1], { ...flags, ...range })).get('t'))).toEqual([4, Number.NaN, Number.NaN])
  expect(await list((await dataset('int64', [4, 7, -1], range)).get('t'))).toEqual([4, Number.NaN, Number.NaN])
  const unsigned = { _Unsigned: 'true', _FillValue: 7, valid_range: Int16Array.of(1, -2) }
  expect(await list((await dataset('int16', [0, 1, -2, -1, 7], unsigned)).get('t'))).toEqual([Number.NaN, 1, 65534, Number.NaN, Number.NaN]) // biome-ignore format: one line
})

test.each([
  [{ valid_min: Int16Array.of(1, 2) }, /valid_min has 2 values instead of 1/],
  [{ valid_min: new Int16Array(0) }, /valid_min has 0 values instead of 1/],
  [{ valid_range: Int16Array.of(5) }, /valid_range has 1 value instead of 2/],
  [{ valid_range: Int16Array.of(1, 2, 3) }, /valid_range has 3 values instead of 2/],
])('bounds of another number of values bound nothing, with a warning: %o', async (attrs, warning) => {
  const ds = await dataset('int16', [0, 9], attrs)
  expect([await list(ds.get('t')), ds.warnings]).toEqual([[0, 9], [expect.stringMatching(warning)]])
})

test('bounds are rounded to the type of floats', async () => {
  const attrs = { valid_range: Float64Array.of(-90.3, 90.3), _FillValue: -999 }
  const values = [-90.3, 90.3, -90.4, 90.4, 0]
  expect(await list((await dataset('float32', values, attrs)).get('t'))).toEqual([Math.fround(-90.3), Math.fround(90.3), none, none, 0]) // biome-ignore format: one line
  const single = { valid_min: -90.3, valid_max: 90.3, _FillValue: -999 }
  expect(await list((await dataset('float32', values, single)).get('t'))).toEqual([Math.fround(-90.3), Math.fround(90.3), none, none, 0]) // biome-ignore format: one line
})

test('times are scaled, and missing where their attributes say so', async () => {
  const units = { units: 'days since 2000-01-01', scale_factor: 0.5 }
  const t = (await dataset('int16', [2, -1, 3], units)).get('t')
  expect(await t.dates()).toEqual([new Date('2000-01-02'), null, new Date('2000-01-02T12:00Z')])
})

test('integers that no float holds are refused, not rounded', async () => {
  const t = (await dataset('int64', [1, 2])).get('t')
  const large = new Dataset({ t: { dims: ['x'], data: BigInt64Array.of(2n ** 60n + 1n) } }).get('t')
  expect(await list(t.add(1))).toEqual([2, 3])
  await expect(large.add(1).get()).rejects.toMatchObject({ tag: 'OverflowError' })
})

test('positions without a time are in no group', async () => {
  const days = Float64Array.of(0, Number.NaN, 40)
  const grid = ChunkGrid.regular([3], [3])
  const attrs = new Map([['units', 'days since 2000-01-01']])
  const time = new CountingSource({ dtype: 'float64', shape: [3], data: days }, grid, { attrs })
  const values = new CountingSource({ dtype: 'float32', shape: [3], data: Float32Array.of(1, 2, 3) }, grid)
  const ds = await Dataset.from({
    variables: [
      { name: 't', array: new DiskArray(values) as DiskArray, dims: ['time'] },
      { name: 'time', array: new DiskArray(time) as DiskArray, dims: ['time'] },
    ],
  })
  const months = ds.get('t').groupBy('time.month').sum()
  expect(await list(months)).toEqual([1, 3])
  expect(await list(months.coords['month']!)).toEqual([1, 2])
})

test.each([
  ['bool', Uint8Array.of(0, 1, 1), [3, 4, 4]],
  ['uint8', Uint8Array.of(0, 1, 255), [3, 4, 258]],
  ['int16', Int16Array.of(-5, 0, 7), [-2, 3, 10]],
  ['float32', Float32Array.of(0.5, -0.5, Number.NaN), [3.5, 2.5, Number.NaN]],
  ['int64', BigInt64Array.of(-5n, 0n, 2n ** 53n), [-2, 3, 2 ** 53 + 4]],
] as const)('%s of which nothing is missing is computed with as floats', async (dtype, data, expected) => {
  const source = new CountingSource({ dtype, shape: [3], data } as never, ChunkGrid.regular([3], [2]))
  const sum = new Dataset({ t: { dims: ['x'], data: new DiskArray(source as never) as DiskArray } }).get('t').add(3)
  expect([sum.dtype, await list(sum)]).toEqual([dtype === 'float32' ? 'float32' : 'float64', expected])
  expect(source.reads).toHaveLength(1)
})

test('integers that no float holds are refused, and so is what is no number', async () => {
  const of = (dtype: 'int64' | 'string', data: unknown) => {
    const source = new CountingSource({ dtype, shape: [1], data } as never, ChunkGrid.regular([1], [1]))
    return new Dataset({ t: { dims: ['x'], data: new DiskArray(source as never) as DiskArray } }).get('t')
  }
  const large = of('int64', BigInt64Array.of(2n ** 53n + 1n)).add(1)
  await expect(large.values()).rejects.toMatchObject({ tag: 'OverflowError', details: { actual: 2n ** 53n + 1n } })
  expect(() => of('string', ['a']).mul(2)).toThrow("counting: array 't': there is no arithmetic of string values")
})

test('a product over no position of a group is 1, of integers as of floats', async () => {
  const time = [new Date(Date.UTC(2001, 0, 1)), new Date(Date.UTC(2001, 2, 12))]
  for (const [data, one] of [
    [BigInt64Array.of(3n, 5n), 1n],
    [Float64Array.of(3, 5), 1],
  ] as const) {
    const ds = new Dataset({ t: { dims: ['time'], data } }, { coords: { time } })
    const products = await ds.get('t').resample({ time: 'MS' }).prod().get()
    expect(Array.from((products as { data: ArrayLike<number | bigint> }).data)[1]).toBe(one)
  }
})

describe.each(['int16', 'int64', 'float32'] as const)('skipMissing of %s values', (dtype) => {
  const REDUCTIONS = ['sum', 'mean', 'min', 'max', 'prod', 'count', 'countNonzero', 'any', 'all', 'std', 'median'] as const
  test('skips the same elements of labelled data and of their array', async () => {
    const t = (await dataset(dtype, [4, -1, 0, 8, -1, 3])).get('t')
    // NaN is missing in the floats that decoding returns for named missing values.
    expect(t.array.missing).toEqual({ values: dtype === 'int64' ? [-1n] : [], nan: dtype !== 'int64' })
    for (const kind of REDUCTIONS) {
      const [labelled, plain] = [await t[kind]().get(), await t.array[kind as 'sum']()]
      expect([kind, labelled]).toEqual([kind, kind === 'mean' ? expect.closeTo(plain as number, 12) : plain])
    }
    expect([await t.count().get(), await t.countNonzero().get()]).toEqual([4, 3])
    expect([await t.array.count({ skipMissing: false }), await t.count({ skipMissing: false }).get()]).toEqual([6, 6])
  })

  test('if it is false, a missing value makes the result of labelled data missing', async () => {
    const t = (await dataset(dtype, [4, -1, 6])).get('t')
    for (const kind of ['sum', 'mean', 'min', 'std'] as const) expect(await t[kind]({ skipMissing: false }).get()).toBeNaN()
  })
})

test('NaN is missing in floats of labelled data, and in an array only where it says so', async () => {
  const t = new Dataset({ t: { dims: ['x'], data: [1, Number.NaN, 3] } }).get('t')
  expect([await t.sum().get(), await t.count().get(), await t.array.sum()]).toEqual([4, 2, Number.NaN])
  expect([await t.array.sum({ skipNaN: true }), await t.array.count(), await t.array.count({ skipNaN: true })]).toEqual([4, 3, 2])
  const said = new DiskArray({ ...t.array.source, readBlock: t.array.source.readBlock, missing: { values: [], nan: true } })
  expect([await said.sum(), await said.count(), await said.count({ skipMissing: false })]).toEqual([4, 2, 3])
})
