import { expect, test } from 'vitest'
import { asZarrStore } from '../../src/adapters/zarr/as-zarr-store.ts'
import type { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { openNetcdf } from '../../src/tree/open-netcdf.ts'
import { type WriterVariable, writeNetcdf } from '../support/netcdf-writer.ts'

const none = Number.NaN
const DEFAULT = -32767

const variable = (name: string, values: number[], attributes: WriterVariable['attributes'] = []): WriterVariable => ({
  ...{ name, type: 'short', dimensions: ['y'], values },
  attributes: attributes!,
})
const file = new Blob([
  writeNetcdf({
    dimensions: [['y', 3]],
    variables: [
      variable('y', [1, 2, 3]),
      variable('v', [DEFAULT, 5, -9], [{ name: 'missing_value', type: 'short', value: [-9] }]),
      variable('w', [DEFAULT, 5, -9], [{ name: '_FillValue', type: 'short', value: [DEFAULT] }]),
    ],
  }) as never,
])

/** The text of an object of a store, or of one that programs of Zarr read. */
async function textOf(store: { get(key: string): Promise<unknown> }, path: string): Promise<string> {
  const found = (await store.get(path)) as Uint8Array | { readonly bytes: Uint8Array }
  return new TextDecoder().decode(found instanceof Uint8Array ? found : found.bytes)
}

async function metadata(store: { get(key: string): Promise<unknown> }, path: string) {
  const { attributes, fill_value } = JSON.parse(await textOf(store, path))
  return { attributes, fill_value }
}
const list = async (ds: Dataset, name: string): Promise<unknown[]> =>
  Array.from((await ds.get(name).values()) as ArrayLike<unknown>)

test('the default fill value of NetCDF is named in no attribute, and stays missing', async () => {
  const store = new MemoryStore()
  let ds = await openDataset(file)
  for (const path of ['a.zarr', 'b.zarr']) {
    await ds.write({ store, path })
    expect(await metadata(store, `${path}/y/zarr.json`)).toEqual({ attributes: {}, fill_value: DEFAULT })
    expect(await metadata(store, `${path}/v/zarr.json`)).toEqual({ attributes: { missing_value: -9 }, fill_value: DEFAULT })
    expect(await metadata(store, `${path}/w/zarr.json`)).toEqual({ attributes: { _FillValue: DEFAULT }, fill_value: DEFAULT })
    ds = await openDataset({ store, path })
    expect([await list(ds, 'v'), await list(ds, 'w')]).toEqual([[none, 5, none], [none, 5, -9]]) // biome-ignore format: one line
  }
})

test('a computed variable names the fill value, which its missing elements get', async () => {
  const store = new MemoryStore()
  await (await openDataset(file)).isel({ y: [2, 1] }).write({ store, path: 'a.zarr' })
  expect((await metadata(store, 'a.zarr/v/zarr.json')).attributes).toEqual({ _FillValue: -9, missing_value: -9 })
  expect(await list(await openDataset({ store, path: 'a.zarr' }), 'v')).toEqual([none, 5])
})

test('a NetCDF variable that is served as Zarr does not name the default fill value', async () => {
  await using opened = await openNetcdf(file)
  const store = asZarrStore({ v: opened.variable('v') as never })
  expect(await metadata(store, 'v/zarr.json')).toEqual({ attributes: { missing_value: -9 }, fill_value: DEFAULT })
})

test('a coarser level of a NetCDF variable names the fill value, which its missing elements get', async () => {
  const grid: WriterVariable = { ...variable('v', [1, 2, 3, 4, 5, 6, 7, 8, 9]), dimensions: ['y', 'x'] }
  const bytes = writeNetcdf({ dimensions: [['y', 3], ['x', 3]], variables: [grid] }) // biome-ignore format: one line
  await using opened = await openNetcdf(new Blob([bytes as never]))
  const store = asZarrStore({ v: opened.variable('v') as never }, { levels: 2 })
  const names = [...((await store.metadataKeys?.()) ?? [])].filter((name) => name.includes('1'))
  const all = await Promise.all(names.map((name) => textOf(store, name)))
  expect(all.some((text) => JSON.parse(text).attributes?._FillValue === DEFAULT)).toBe(true)
})

/** A store with one array of version 2, of two elements. */
async function version2(dtype: string, bytes: ArrayBufferView, attributes: string, fill: unknown = null): Promise<MemoryStore> {
  const store = new MemoryStore()
  const text = (value: string): Uint8Array => new TextEncoder().encode(value)
  const array = { zarr_format: 2, shape: [2], chunks: [2], dtype, fill_value: fill, order: 'C', filters: null, compressor: null }
  await store.put('s.zarr/.zgroup', text('{"zarr_format":2}'))
  await store.put('s.zarr/t/.zarray', text(JSON.stringify(array)))
  await store.put('s.zarr/t/.zattrs', text(`{"_ARRAY_DIMENSIONS":["x"]${attributes}}`))
  await store.put('s.zarr/t/0', new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return store
}

test.each([
  ['<m8[s]', 'seconds', 'timedelta64[s]'],
  ['<m8[h]', 'hours', 'timedelta64[s]'],
  ['<m8[ns]', 'nanoseconds', 'timedelta64[ns]'],
])('durations of %s keep their unit in the attributes of xarray', async (dtype, units, type) => {
  const store = await version2(dtype, BigInt64Array.of(3n, -(2n ** 63n)), ',"note":10.0')
  const ds = await openDataset({ store, path: 's.zarr' })
  await ds.write({ store, path: 'a.zarr' })
  await ds.write({ store, path: 'a.af' })
  await (await openDataset({ store, path: 'a.af' })).write({ store, path: 'b.zarr' })
  for (const path of ['a.zarr', 'b.zarr']) {
    expect((await metadata(store, `${path}/t/zarr.json`)).attributes).toMatchObject({ units, dtype: type })
    expect(await textOf(store, `${path}/t/zarr.json`)).toContain('"note":10.0')
    expect((await openDataset({ store, path })).get('t').array.missing.values).toEqual([-(2n ** 63n)])
  }
})

test('a missing value NaN of integers is not written, for which xarray would make floats', async () => {
  const store = await version2('|i1', Int8Array.of(1, 2), ',"missing_value":NaN')
  const ds = await openDataset({ store, path: 's.zarr' })
  await ds.write({ store, path: 'a.zarr' })
  expect((await metadata(store, 'a.zarr/t/zarr.json')).attributes).toEqual({})
  expect(await list(await openDataset({ store, path: 'a.zarr' }), 't')).toEqual([1, 2])
})

test('a missing value NaN of floats is the same number after a container', async () => {
  const store = await version2('<f4', Float32Array.of(none, 2), ',"missing_value":NaN,"other":NaN')
  await (await openDataset({ store, path: 's.zarr' })).write({ store, path: 'a.af' })
  await (await openDataset({ store, path: 'a.af' })).write({ store, path: 'a.zarr' })
  const { attributes } = await metadata(store, 'a.zarr/t/zarr.json')
  expect(attributes).toMatchObject({ missing_value: 'NaN', other: 'NaN' })
})

test('a range of JSON is unclear for packed floats, in what is written as well', async () => {
  const store = await version2('<f4', Float32Array.of(1, 2), ',"scale_factor":0.5,"valid_range":[0.0,200.0]')
  const ds = await openDataset({ store, path: 's.zarr' })
  expect(ds.decodeErrors.get('t')?.message).toMatch(/not clear whether it bounds packed or unpacked/)
  const whole = await version2('<f4', Float32Array.of(1, 2), ',"scale_factor":0.5,"valid_range":[0,3]')
  for (const path of ['a.zarr', 'a.af']) await (await openDataset({ store: whole, path: 's.zarr' })).write({ store: whole, path })
  for (const path of ['a.zarr', 'a.af']) expect(await list(await openDataset({ store: whole, path }), 't')).toEqual([0.5, 1])
})

test('texts of a length of their own, with an empty fill value, are written to a container', async () => {
  const store = await version2('|S5', new TextEncoder().encode('ab\0\0\0cde\0\0'), '', '')
  await (await openDataset({ store, path: 's.zarr' })).write({ store, path: 'a.af' })
  expect((await openDataset({ store, path: 'a.af' })).get('t').shape).toEqual([2])
})
