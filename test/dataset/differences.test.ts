import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { DType } from '../../src/core/dtype.ts'
import { toTimestamp } from '../../src/core/timestamp.ts'
import { between } from '../../src/dataset/between.ts'
import type { RawVariable } from '../../src/dataset/cf/decode.ts'
import { concatDatasets } from '../../src/dataset/concat-datasets.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { openZarr, type ZarrArray } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { CountingSource } from '../support/counting-source.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

const page = readFileSync(new URL('../../docs/xarray.md', import.meta.url), 'utf8')
const lines = [...page.matchAll(/^- \*\*(.*?)\*\*/gm)].map(([, title]) => title!)

/** An array along `x` as a file has it. */
function raw(
  name: string,
  dtype: DType,
  data: ArrayLike<unknown>,
  attrs: Record<string, unknown> = {},
  dims = ['x'],
): RawVariable {
  const shape = dims.map((_, axis) => (axis === 0 ? data.length / 2 ** (dims.length - 1) : 2))
  const source = new CountingSource({ dtype, shape, data } as never, ChunkGrid.regular(shape, shape), {
    attrs: new Map(Object.entries(attrs)),
  })
  return { name, array: new DiskArray(source as never), dims }
}

const from = (...variables: RawVariable[]): Promise<Dataset> => Dataset.from({ variables })
const along = (lat: number[], t = lat): Dataset => new Dataset({ t: { dims: ['lat'], data: t } }, { coords: { lat } })

/** Checks of this package's behaviour, by the title of the line. */
const TESTS: Record<string, () => Promise<void>> = {
  'values outside of the valid range are missing': async () => {
    const ds = await from(raw('t', 'int16', Int16Array.of(1, 100, 3), { valid_range: Int16Array.of(0, 10) }))
    expect(await ds.get('t').mean().get()).toBe(2)
  },
  'a range of the type of the factor bounds unpacked values': async () => {
    const attrs = { scale_factor: Float32Array.of(0.5), valid_range: Float32Array.of(1.25, 4.25) }
    expect(await (await from(raw('t', 'int16', Int16Array.of(1, 5, 9), attrs))).get('t').values()).toEqual(
      Float64Array.of(Number.NaN, 2.5, Number.NaN),
    )
    const unclear = { ...attrs, valid_range: Float64Array.of(1.25, 4.25) }
    expect((await from(raw('t', 'int16', Int16Array.of(1, 5, 9), unclear))).decodeErrors.get('t')?.message).toMatch(/not clear/)
  },
  'bytes whose range is beyond their type are unsigned': async () => {
    const ds = await from(raw('t', 'int8', Int8Array.of(-56, 1), { valid_range: Int16Array.of(0, 254) }))
    expect(await ds.get('t').max().get()).toBe(200)
  },
  'characters of records stay single': async () => {
    const variables = [{ name: 't', type: 'char' as const, dimensions: ['x'], values: [65, 68] }]
    const file = writeNetcdf({ dimensions: [['x', 0]], records: 2, variables })
    expect(Array.from((await (await openDataset(new Blob([file as never]))).get('t').values()) as never)).toEqual(['A', 'D'])
  },
  'a dimension that is there twice has a suffix': async () => {
    expect((await from(raw('t', 'int16', Int16Array.of(1, 2, 3, 4), {}, ['x', 'x']))).get('t').dims).toEqual(['x', 'x_2'])
  },
  'a date whose year comes last needs equal day and month': async () => {
    const of = (units: string) => from(raw('t', 'int16', Int16Array.of(1), { units }))
    expect(await (await of('days since 1-1-1970')).get('t').dates()).toEqual([new Date('1970-01-02')])
    expect((await of('days since 2-1-1970')).decodeErrors.get('t')?.message).toMatch(/1970-01-02 .* or 1970-02-01/)
  },
  'unwritten elements of NetCDF files are missing': async () => {
    const variables = [{ name: 't', type: 'short' as const, dimensions: ['x'], values: [1, -32767, 3] }]
    const ds = await openDataset(new Blob([writeNetcdf({ dimensions: [['x', 3]], variables }) as never]))
    expect(await ds.get('t').values()).toEqual(Float32Array.of(1, Number.NaN, 3))
  },
  'flags and integers of 64 bits stay integers': async () => {
    const big = await from(raw('t', 'int64', BigInt64Array.of(2n ** 62n + 1n, -1n), { _FillValue: -1n }))
    expect([big.get('t').dtype, await big.get('t').max().get()]).toEqual(['int64', 2n ** 62n + 1n])
    const flags = { _FillValue: -1, flag_values: Int8Array.of(0, 1), flag_meanings: 'a b' }
    expect((await from(raw('t', 'int8', Int8Array.of(0, -1), flags))).get('t').dtype).toBe('int8')
  },
  'packed values are float32 where every factor is': async () => {
    const packed = async (type: 'short' | 'int', factor: 'float' | 'double') => {
      const attributes = [{ name: 'add_offset', type: factor, value: [0.5] }]
      const variables = [{ name: 't', type, dimensions: ['x'], attributes, values: [1] }]
      return (await openDataset(new Blob([writeNetcdf({ dimensions: [['x', 1]], variables }) as never]))).get('t').dtype
    }
    expect([await packed('short', 'float'), await packed('int', 'float')]).toEqual(['float32', 'float64'])
    expect(await packed('short', 'double')).toBe('float64')
  },
  'integer factors give floats': async () => {
    const attrs = { scale_factor: Int16Array.of(1000), _FillValue: -1 }
    const ds = await from(raw('t', 'int16', Int16Array.of(100, -1), attrs))
    expect(await ds.get('t').values()).toEqual(Float64Array.of(100_000, Number.NaN))
  },
  'durations are numbers of their units': async () => {
    const ds = await from(raw('t', 'int64', BigInt64Array.of(3n), { units: 'hours', dtype: 'timedelta64[ns]' }))
    expect(await ds.get('t').values()).toEqual(BigInt64Array.of(3n))
    expect(ds.get('t').attrs['units']).toBe('hours')
  },
  'times of variables that 64 bits do not hold are refused': async () => {
    const units = { units: 'days since 0001-01-01' }
    const ds = await from(raw('t', 'int32', Int32Array.of(0), units), raw('x', 'int32', Int32Array.of(0), units))
    await expect(ds.get('t').values()).rejects.toThrow(/beyond 64 bits of nanoseconds/)
    expect(String((await ds.get('x').dates())[0])).toBe('0001-01-01T00:00')
  },
  'a missing time is missing in every calendar': async () => {
    const attrs = { units: 'days since 2000-01-01', calendar: 'noleap', _FillValue: -1 }
    const ds = await from(
      raw('t', 'int32', Int32Array.of(59, -1), attrs),
      raw('u', 'float64', Float64Array.of(59, Number.NaN), { ...attrs, _FillValue: -2 }),
    )
    for (const name of ['t', 'u']) expect((await ds.get(name).dates()).map(String)).toEqual(['2000-03-01T00:00', 'null'])
  },
  'a time with a fraction is rounded to the microsecond': async () => {
    const units = 'microseconds since 2000-01-01'
    const ds = await from(
      raw('t', 'float64', Float64Array.of(0.4, 1.6), { units }),
      raw('u', 'int64', BigInt64Array.of(0n, 1n), { units: 'nanoseconds since 2000-01-01' }),
    )
    const start = toTimestamp('2000-01-01T00:00Z')
    expect(await ds.get('t').values()).toEqual(BigInt64Array.of(start, start + 2000n))
    expect(await ds.get('u').values()).toEqual(BigInt64Array.of(start, start + 1n))
  },
  'medians and quantiles of times are times': async () => {
    const times = Int32Array.of(10, 0, 4)
    const t = (await from(raw('t', 'int32', times, { units: 'seconds since 2000-01-01' }))).get('t')
    const start = toTimestamp('2000-01-01T00:00Z')
    expect(await t.median().get()).toBe(start + 4_000_000_000n)
    expect(await t.quantile([0, 1]).values()).toEqual(BigInt64Array.of(start, start + 10_000_000_000n))
  },
  'attributes that decoding uses are in the encoding': async () => {
    const t = (await from(raw('t', 'int16', Int16Array.of(1), { valid_min: 0, units: 'K' }))).get('t')
    expect([t.attrs, t.encoding['valid_min']]).toEqual([{ units: 'K' }, 0])
  },
  'text is never missing': async () => {
    const attributes = [{ name: '_FillValue', type: 'char' as const, value: ' ' }]
    const variables = [{ name: 't', type: 'char' as const, dimensions: ['n'], attributes, values: [32] }]
    const ds = await openDataset(new Blob([writeNetcdf({ dimensions: [['n', 1]], variables }) as never]))
    expect(await ds.get('t').get()).toBe(' ')
  },
  'missing values count whatever sign `_Unsigned` gives them': async () => {
    const ds = await from(raw('t', 'int16', Int16Array.of(-999, 1), { _Unsigned: 'true', missing_value: -999 }))
    expect(await ds.get('t').values()).toEqual(Float32Array.of(Number.NaN, 1))
    const store = new MemoryStore()
    await ds.write({ store, path: 'x.zarr' })
    const array = (await openZarr({ store, path: 'x.zarr/t' })) as ZarrArray
    expect([array.attrs.get('_FillValue'), array.attrs.get('missing_value')]).toEqual([-999, -999])
  },
  'missing values are rounded to the type of the elements': async () => {
    for (const name of ['missing_value', '_FillValue']) {
      const attributes = [{ name, type: 'double' as const, value: [1e-5] }]
      const variables = [{ name: 't', type: 'float' as const, dimensions: ['n'], attributes, values: [1e-5, 2] }]
      const ds = await openDataset(new Blob([writeNetcdf({ dimensions: [['n', 2]], variables }) as never]))
      expect(await ds.get('t').values()).toEqual(Float32Array.of(Number.NaN, 2))
      const store = new MemoryStore()
      await ds.write({ store, path: 'x.zarr' })
      expect(await (await openDataset({ store, path: 'x.zarr' })).get('t').values()).toEqual(Float32Array.of(Number.NaN, 2))
    }
  },
  'unsigned values of signed types are floats': async () => {
    const ds = await from(raw('t', 'int8', Int8Array.of(-1, 1), { _Unsigned: 'true' }))
    expect(await ds.get('t').values()).toEqual(Float32Array.of(255, 1))
  },
  'labels of 64-bit integers stay integers': async () => {
    const ds = await from(raw('x', 'int64', BigInt64Array.of(1n, 2n), { _FillValue: 1n }), raw('t', 'int16', Int16Array.of(5, 6)))
    expect(await ds.get('x').values()).toEqual(BigInt64Array.of(1n, 2n))
    expect(await ds.get('t').sel({ x: 1n }).get()).toBe(5)
  },
  'bounds are coordinates': async () => {
    const ds = await from(
      raw('x', 'float64', Float64Array.of(1, 2), { bounds: 'b' }),
      raw('b', 'float64', Float64Array.of(0, 1, 1, 2), {}, ['x', 'n']),
    )
    expect([Object.keys(ds.coords), Object.keys(ds.variables)]).toEqual([['x', 'b'], []])
  },
  'a variable that cannot be decoded is left out, with the reason': async () => {
    const ds = await from(
      raw('t', 'int16', Int16Array.of(1)),
      raw('u', 'int16', Int16Array.of(1), { units: 'months since 1990-01-01' }),
    )
    expect(Object.keys(ds.variables)).toEqual(['t'])
    expect(() => ds.get('u')).toThrow(/months/)
  },
  'a label is found within the precision of the coordinate': async () => {
    const ds = await from(raw('x', 'float32', Float32Array.of(20.1, 20.2)), raw('t', 'int16', Int16Array.of(1, 2)))
    expect(await ds.get('t').sel({ x: 20.1 }).get()).toBe(1)
    expect(() => ds.get('t').sel({ x: 20.1001 })).toThrow(/no label along x is 20.1001/)
  },
  'ranges name the lower end first, whichever way labels run': async () => {
    const t = along([60, 20, -20]).get('t')
    expect(await t.sel({ lat: between(0, 70) }).values()).toEqual(Float64Array.of(60, 20))
    expect(() => t.sel({ lat: between(70, 0) })).toThrow(/the lower one comes first/)
  },
  'pad takes the label below, whichever way labels run': async () => {
    const t = along([60, 20, -20]).get('t')
    expect(await t.sel({ lat: 30 }, { method: 'pad' }).get()).toBe(20)
    expect(await t.sel({ lat: 30 }, { method: 'backfill' }).get()).toBe(60)
  },
  'a range without any label is an error': async () => {
    expect(() =>
      along([10, 20])
        .get('t')
        .sel({ lat: between(12, 18) }),
    ).toThrow(/no label along lat is from 12 to 18/)
  },
  'ranges over labels in no order are refused': async () => {
    expect(() =>
      along([20, 10, 30])
        .get('t')
        .sel({ lat: between(10, 30) }),
    ).toThrow(/neither ascend nor descend/)
  },
  'a range of longitudes may go down': async () => {
    const lon = { dims: ['lon'], data: [0, 170, 200, 210], attrs: { units: 'degrees_east' } }
    const ds = new Dataset({ t: { dims: ['lon'], data: [1, 2, 3, 4] } }, { coords: { lon } })
    expect(
      await ds
        .get('t')
        .sel({ lon: between(170, -160) })
        .values(),
    ).toEqual(Float64Array.of(2, 3))
  },
  'partial dates stay ranges with a method': async () => {
    const time = ['2001-01-01', '2001-01-02', '2001-02-01'].map((day) => new Date(day))
    const ds = new Dataset({ t: { dims: ['time'], data: [1, 2, 3] } }, { coords: { time } })
    expect(await ds.get('t').sel({ time: '2001-01' }, { method: 'nearest' }).values()).toEqual(Float64Array.of(1, 2))
  },
  'longitudes begin anew after 360 degrees': async () => {
    const lon = { dims: ['lon'], data: [0, 90, 180, 270], attrs: { units: 'degrees_east' } }
    const t = new Dataset({ t: { dims: ['lon'], data: [1, 2, 3, 4] } }, { coords: { lon } }).get('t')
    expect(await t.sel({ lon: -90 }).get()).toBe(4)
    const range = t.sel({ lon: between(-100, 10) })
    expect([await range.values(), await range.coords['lon']!.values()]).toEqual([Float64Array.of(4, 1), Float64Array.of(-90, 0)])
  },
  'longitudes have both ends of the circle once each': async () => {
    const lon = { dims: ['lon'], data: [-180, 0, 180], attrs: { units: 'degrees_east' } }
    const t = new Dataset({ t: { dims: ['lon'], data: [1, 2, 3] } }, { coords: { lon } }).get('t')
    expect([await t.sel({ lon: -180 }).get(), await t.sel({ lon: 180 }).get()]).toEqual([1, 3])
    expect(await t.sel({ lon: between(-180, 180) }).values()).toEqual(Float64Array.of(1, 2, 3))
    expect(await t.sel({ lon: between(0, 360) }).values()).toEqual(Float64Array.of(2, 3, 1))
  },
  'a label that is there twice is an error': async () => {
    expect(() => along([10, 20, 10]).get('t').sel({ lat: 10 })).toThrow(
      /the label 10 along lat occurs 2 times, at positions 0, 2: select one of them with isel/,
    )
  },
  'arithmetic refuses labels that differ': async () => {
    const [a, b] = [along([10, 20, 30]).get('t'), along([20, 30, 40]).get('t')]
    expect(() => a.add(b)).toThrow(/labels along lat differ/)
    expect(await a.add(b, { join: 'inner' }).values()).toEqual(Float64Array.of(40, 60))
  },
  'sums of float32 are made in float64': async () => {
    const data = Float32Array.from({ length: 2 ** 12 }, (_, i) => 16777216 + (i % 2) * 2)
    expect(await (await from(raw('t', 'float32', data))).get('t').mean().get()).toBe(16777217)
  },
  'the count of a period without times is 0': async () => {
    const time = ['2001-01-01', '2001-03-01'].map((day) => new Date(day))
    const ds = new Dataset({ t: { dims: ['time'], data: [1, 2] } }, { coords: { time } })
    expect(await ds.get('t').resample({ time: 'MS' }).count().values()).toEqual(Float64Array.of(1, 0, 1))
  },
  'the sum of a period without values is 0, and the product 1': async () => {
    const time = ['2001-01-01', '2001-03-01'].map((day) => new Date(day))
    const t = new Dataset({ t: { dims: ['time'], data: [Number.NaN, 2] } }, { coords: { time } }).get('t')
    expect(await t.resample({ time: 'MS' }).sum().values()).toEqual(Float64Array.of(0, 0, 2))
    expect(await t.resample({ time: 'MS' }).prod().values()).toEqual(Float64Array.of(1, 1, 2))
    expect(await t.resample({ time: 'MS' }, { minPeriods: 1 }).sum().values()).toEqual(Float64Array.of(Number.NaN, Number.NaN, 2))
  },
  'no empty period comes before the first time or after the last': async () => {
    const ds = new Dataset({ t: { dims: ['time'], data: [1] } }, { coords: { time: [new Date('2001-01-01T10:00Z')] } })
    const sums = ds.get('t').resample({ time: 'MS' }, { closed: 'right' }).sum()
    expect([await sums.coords['time']!.dates(), await sums.values()]).toEqual([[new Date('2001-01-01')], Float64Array.of(1)])
  },
  'an offset is for steps of one length': async () => {
    const ds = new Dataset({ t: { dims: ['time'], data: [1] } }, { coords: { time: [new Date('2001-01-01')] } })
    expect(() => ds.resample({ time: 'W' }, { offset: '6h' })).toThrow(/offset is for steps of one length/)
  },
  'any and all skip missing values': async () => {
    const t = along([10, 20], [Number.NaN, 0]).get('t')
    expect([await t.any().get(), await t.all().get()]).toEqual([false, false])
    expect([
      await t.any({ skipMissing: false }).get(),
      await t
        .isel({ lat: [0] })
        .all()
        .get(),
    ]).toEqual([true, true])
  },
  'a cell without values has no position': async () => {
    const t = { dims: ['lat', 'x'], data: { data: [3, Number.NaN, 1, Number.NaN], shape: [2, 2] } }
    const ds = new Dataset({ t }, { coords: { lat: [10, 20] } })
    expect(await ds.get('t').argMin({ axis: 'lat' }).values()).toEqual(Float64Array.of(1, Number.NaN))
    expect(await ds.get('t').idxMin({ axis: 'lat' }).values()).toEqual(Float64Array.of(20, Number.NaN))
  },
  'labels of extremes have the attributes of their coordinate': async () => {
    const t = { dims: ['lat'], data: [280, 290], attrs: { units: 'K' } }
    const lat = { dims: ['lat'], data: [10, 20], attrs: { units: 'degrees_north' } }
    const found = new Dataset({ t }, { coords: { lat } }).get('t').idxMax()
    expect([found.name, found.attrs, await found.get()]).toEqual(['lat', { units: 'degrees_north' }, 20])
  },
  'kept dimensions have no labels': async () => {
    const mean = along([10]).get('t').mean({ keepDims: true })
    expect([mean.dims, mean.shape, Object.keys(mean.coords)]).toEqual([['lat'], [1], []])
  },
  'missing values have no truth and no integer': async () => {
    const t = along([10, 20], [1, Number.NaN]).get('t')
    await expect(t.astype('bool').values()).rejects.toThrow(/a missing value is neither true nor false/)
    await expect(t.astype('int16').values()).rejects.toThrow(/NaN/)
    expect(await t.fillna(0).astype('int16').values()).toEqual(Int16Array.of(1, 0))
  },
  'variables without the dimension stay unchanged': async () => {
    const time = ['2001-01-01', '2001-02-01'].map((day) => new Date(day))
    const variables = { t: { dims: ['time'], data: [1, 3] }, z: { dims: ['x'], data: [5, 6] } }
    const ds = new Dataset(variables, { coords: { time } })
    const mask = ds
      .get('t')
      .where((value) => value > 2)
      .notnull()
    for (const each of [ds.std({ axis: 'time' }), ds.count({ axis: 'time' }), ds.groupBy('time.month').mean(), ds.where(mask)]) {
      expect(each.get('z').dims).toEqual(['x'])
      expect(await each.get('z').values()).toEqual(Float64Array.of(5, 6))
    }
  },
  'datasets have no minimum and maximum of text': async () => {
    const ds = new Dataset({ t: { dims: ['x'], data: [1, 3] }, name: { dims: ['x'], data: ['a', 'b'] } })
    expect(Object.keys(ds.min().variables)).toEqual(['t'])
    expect(await ds.count().get('name').get()).toBe(2)
  },
  'computed values lose units that no longer hold': async () => {
    const t = new Dataset({ t: { dims: ['x'], data: [1, 3], attrs: { units: 'K', standard_name: 'air_temperature' } } }).get('t')
    for (const each of [t.sub(273.15), t.mul(t), t.variance(), t.count(), t.sqrt()]) expect(each.attrs).toEqual({})
    expect(t.sub(t).attrs).toEqual(t.attrs)
  },
  'a mask has booleans': async () => {
    const ds = new Dataset({ t: { dims: ['x'], data: [1, 3] }, mask: { dims: ['x'], data: [0, 2] } })
    expect(() => ds.get('t').where(ds.get('mask'))).toThrow(/mask.ne\(0\)|\.ne\(0\)/)
    expect(await ds.get('t').where(ds.get('mask').ne(0)).values()).toEqual(Float64Array.of(Number.NaN, 3))
  },
  'numbers of 64 bits are compared exactly': async () => {
    const ds = await from(raw('n', 'int64', BigInt64Array.of(2n ** 53n + 1n, -1n), { _FillValue: -1 }))
    expect([
      ...((await ds
        .get('n')
        .eq(2 ** 53)
        .values()) as Uint8Array),
    ]).toEqual([0, 0])
    expect([
      ...((await ds
        .get('n')
        .eq(2n ** 53n + 1n)
        .values()) as Uint8Array),
    ]).toEqual([1, 0])
  },
  'times that are numbers of their units are not compared': async () => {
    const ds = await from(raw('t', 'int32', Int32Array.of(59), { units: 'days since 2000-01-01', calendar: 'noleap' }))
    for (const other of [5, new Date('2000-03-01'), ds.get('t')])
      expect(() => ds.get('t').lt(other)).toThrow(/there is no lt of times that are numbers of 'days since 2000-01-01'/)
  },
  'text is not masked': async () => {
    const ds = new Dataset({ t: { dims: ['x'], data: [1, 3] }, name: { dims: ['x'], data: ['a', 'b'] } })
    expect(() => ds.where(ds.get('t').gt(1))).toThrow(/name.*there is no arithmetic of string values/)
    expect(() => ds.get('name').shift({ x: 1 })).toThrow(/there is no arithmetic of string values/)
    expect(await ds.get('name').shift({ x: 1 }, { fillValue: '' }).values()).toEqual(['', 'a'])
  },
  'joining along a new dimension takes labels': async () => {
    await expect(concatDatasets([along([1]), along([1])], 'tiem')).rejects.toThrow(/no dataset has a dimension "tiem"/)
    const ds = await concatDatasets([along([1]), along([1])], 'member', { labels: ['a', 'b'] })
    expect(ds.dims['member']).toBe(2)
  },
  'parts of different reference systems are not joined': async () => {
    const part = (lat: number, attrs: Record<string, unknown>) =>
      new Dataset({ t: { dims: ['lat'], data: [1] }, crs: { dims: [], data: 0, attrs } }, { coords: { lat: [lat] } })
    const parts = [part(1, { epsg_code: 'EPSG:1', GeoTransform: '0' }), part(2, { epsg_code: 'EPSG:2', GeoTransform: '1' })]
    await expect(concatDatasets(parts, 'lat')).rejects.toThrow(/crs.*epsg_code is "EPSG:1" in dataset 0, "EPSG:2"/)
    const joined = await concatDatasets(parts, 'lat', { compat: 'override' })
    expect(joined.get('crs').attrs).toEqual({ epsg_code: 'EPSG:1' })
  },
  'merging refuses two variables of one name': async () => {
    expect(() => along([1]).merge(along([1]))).toThrow(/two datasets have a variable of this name/)
  },
  'values that do not fit their encoding are refused': () => refused([1e6], { dtype: 'int16' }, /1000000 does not fit int16/),
  'values that would read as missing are refused': () =>
    refused([7], { dtype: 'int16', _FillValue: 7 }, /stands for missing values/),
  'attributes that are no numbers of JSON are written as text': async () => {
    const store = new MemoryStore()
    const attrs = { fill: Number.NaN, range: Float64Array.of(0, Infinity) }
    await new Dataset({ t: { dims: ['x'], data: [1], attrs } }).write({ store, path: 'a.zarr' })
    const document = new TextDecoder().decode(
      (await store.getRange('a.zarr/t/zarr.json', 0, (await store.stat('a.zarr/t/zarr.json'))!.size))!,
    )
    expect(JSON.parse(document)).toMatchObject({ attributes: { fill: 'NaN', range: [0, 'Infinity'] } })
    expect((await openDataset({ store, path: 'a.zarr' })).get('t').attrs).toMatchObject({ fill: 'NaN', range: [0, 'Infinity'] })
    const bare = document.replace('"NaN"', 'NaN').replace('"Infinity"', 'Infinity')
    await store.put(
      'b.zarr/zarr.json',
      (await store.getRange('a.zarr/zarr.json', 0, (await store.stat('a.zarr/zarr.json'))!.size))!.slice(),
    )
    await store.put('b.zarr/t/zarr.json', new TextEncoder().encode(bare))
    const array = await openZarr({ store, path: 'b.zarr/t' }, { kind: 'array' })
    expect(array.attrs.get('fill')).toBeNaN()
    expect(array.attrs.get('range')).toEqual([0, Infinity])
  },
  'missing integers need a fill value': () => refused([Number.NaN], { dtype: 'int16' }, /a value is missing/),
}

async function refused(t: number[], encoding: object, message: RegExp): Promise<void> {
  await expect(along([1], t).write({ store: new MemoryStore(), path: 'x.af' }, { encoding: { t: encoding } })).rejects.toThrow(
    message,
  )
}

test('each line of the page is a test, and each test a line', () => {
  expect(lines.length).toBeGreaterThan(10)
  expect(Object.keys(TESTS)).toEqual(lines)
})

test.each(Object.entries(TESTS))('%s', (_, run) => run())
