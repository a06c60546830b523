import { describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { Dataset } from '../../src/runtime/dataset.ts'

const { NaN: nan } = Number
const time = [new Date('1999-11-30'), new Date('2000-01-10')]

const timed = (data: Int16Array | BigInt64Array | Date[], attrs = {}) =>
  new Dataset({ v: { dims: ['time'], data, attrs } as never }, { coords: { time } }).get('v')

describe('extremes of groups without positions', () => {
  test.each(['min', 'max'] as const)('%s of integers in an empty month is NaN, as in xarray', async (kind) => {
    const array = timed(Int16Array.of(3, 5))
    const months = array.resample({ time: 'MS' })[kind]()
    expect(months.dtype).toBe('float64')
    expect(await months.values()).toEqual(Float64Array.of(3, nan, 5))
    expect(await array.resample({ time: 'MS' }, { minPeriods: 1 })[kind]().values()).toEqual(Float64Array.of(3, nan, 5))
    expect(await months.count().get()).toBe(2)
    const years = array.resample({ time: 'YS' })[kind]()
    expect(years.dtype).toBe('int16')
    expect(await years.values()).toEqual(Int16Array.of(3, 5))
    const byMonth = array.groupBy('time.month')[kind]()
    expect(await byMonth.values()).toEqual(Int16Array.of(5, 3))
  })

  test('reduce other dimensions, too, and skip positions in no group', async () => {
    const data = Int16Array.of(1, 2, 3, 40, 50, 60, 7, 8, 9)
    const array = new Dataset(
      { v: { dims: ['lat', 'lon'], data: { data, shape: [3, 3] } } },
      { coords: { lat: Float64Array.of(-20, -5, -1), lon: Float64Array.of(0, 1, 2) } },
    ).get('v')
    const bins = array.groupBy({ lat: [-10, 0, 10] })
    expect(await bins.max().values()).toEqual(Float64Array.of(40, 50, 60, nan, nan, nan))
    expect(await bins.min({ axis: ['lat', 'lon'] }).values()).toEqual(Float64Array.of(7, nan))
    expect(await bins.max({ axis: ['lat', 'lon'], skipMissing: false }).values()).toEqual(Float64Array.of(60, nan))
    expect(await bins.sum({ axis: ['lat', 'lon'] }).values()).toEqual(Float64Array.of(174, 0))
    const full = array.groupBy({ lat: [-30, -10, 0] }).max()
    expect(await full.values()).toEqual(Int16Array.of(1, 2, 3, 40, 50, 60))
    expect(full.dtype).toBe('int16')
  })

  test('64-bit integers are floats only if a float represents them', async () => {
    const months = (value: bigint) => timed(BigInt64Array.of(value, 5n)).resample({ time: 'MS' })
    expect(await months(3n).max().values()).toEqual(Float64Array.of(3, nan, 5))
    expect(await months(3n).prod().values()).toEqual(BigInt64Array.of(3n, 1n, 5n))
    await expect(
      months(2n ** 53n + 1n)
        .max()
        .values(),
    ).rejects.toMatchObject({ tag: 'OverflowError' })
  })

  test('times stay times, and an empty month has none', async () => {
    const months = timed(time).resample({ time: 'MS' }).max()
    expect(months.dtype).toBe('timestamp_ns')
    expect(await months.dates()).toEqual([time[0], null, time[1]])
    expect(await months.count().get()).toBe(2)
  })

  test('integers with a missing value keep their type', async () => {
    const data = generate((i) => BigInt(i), { dtype: 'int64', shape: [2], fillValue: -9n })
    const months = new Dataset({ v: { dims: ['time'], data } }, { coords: { time } }).get('v').resample({ time: 'MS' })
    expect(await months.max().values()).toEqual(BigInt64Array.of(0n, -9n, 1n))
    expect(await months.max().count().get()).toBe(2)
    expect(await months.max({ skipMissing: false }).values()).toEqual(Float64Array.of(0, nan, 1))
  })

  test('flags become floats', async () => {
    const flags = timed(Int16Array.of(0, 7)).astype('bool').resample({ time: 'MS' }).max()
    expect(await flags.values()).toEqual(Float64Array.of(0, nan, 1))
  })

  test('datasets contain the same results', async () => {
    const ds = new Dataset({ v: { dims: ['time'], data: Int16Array.of(3, 5) } }, { coords: { time } })
    expect(await ds.resample({ time: 'MS' }).max().get('v').values()).toEqual(Float64Array.of(3, nan, 5))
  })
})
