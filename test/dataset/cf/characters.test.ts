import { describe, expect, test } from 'vitest'
import type { Dataset } from '../../../src/dataset/dataset.ts'
import { importNetcdf } from '../../../src/dataset/import/import-netcdf.ts'
import { importZarr } from '../../../src/dataset/import/import-zarr.ts'
import { openDataset } from '../../../src/dataset/open/open-dataset.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { utf8, type WriterVariable, writeNetcdf } from '../../support/netcdf-writer.ts'

const list = async (ds: Dataset, name: string): Promise<unknown[]> =>
  Array.from((await ds.get(name).values()) as ArrayLike<unknown>)

const chars = (name: string, dimensions: string[], text: string): WriterVariable => ({
  name,
  type: 'char',
  dimensions,
  values: utf8(text),
})
const floats = (name: string, dimensions: string[], values: number[]): WriterVariable => ({
  name,
  type: 'float',
  dimensions,
  values,
})

const FLAGS = writeNetcdf({
  dimensions: [['profile', 2], ['level', 3], ['n', 2], ['axis', 3]], // biome-ignore format: one line
  variables: [
    floats('temp', ['profile', 'level'], [1, 2, 3, 4, 5, 6]),
    chars('temp_qc', ['profile', 'level'], '114141'),
    chars('direction', ['profile'], 'AD'),
    chars('axis', ['axis'], 'xyz'),
    chars('mode', ['profile', 'n'], 'R\0DM'),
    chars('pairs', ['n', 'n'], 'abcd'),
  ],
})

/** Expects the same variables, however they were copied. */
async function expectFlags(ds: Dataset): Promise<void> {
  expect([...ds.decodeErrors.values()]).toEqual([])
  expect(ds.get('temp_qc').dims).toEqual(['profile', 'level'])
  expect(await list(ds, 'temp_qc')).toEqual(['1', '1', '4', '1', '4', '1'])
  expect([ds.get('direction').dims, await list(ds, 'direction')]).toEqual([['profile'], ['A', 'D']])
  expect(await list(ds, 'axis')).toEqual(['x', 'y', 'z'])
  expect([ds.get('mode').dims, await list(ds, 'mode')]).toEqual([['profile'], ['R', 'DM']])
  expect(
    Array.from(
      (await ds
        .get('temp_qc')
        .isel({ level: [2, 0] })
        .values()) as ArrayLike<unknown>,
    ),
  ).toEqual(['4', '1', '1', '1'])
}

describe('characters of NetCDF', () => {
  test('are text where their last dimension is nothing else, and single ones elsewhere', async () => {
    const ds = await openDataset(new Blob([FLAGS as never]))
    await expectFlags(ds)
    // Its last dimension is one of characters alone, though its first one is the same.
    expect([ds.get('pairs').dims, await list(ds, 'pairs')]).toEqual([['n'], ['ab', 'cd']])
  })

  test('are the same in copies', async () => {
    const store = new MemoryStore()
    const ds = await openDataset(new Blob([FLAGS as never]))
    await ds.write({ store, path: 'a.zarr' })
    await expectFlags(await openDataset({ store, path: 'a.zarr' }))
    await store.put('a.nc', FLAGS)
    await importNetcdf({ store, path: 'a.nc' }, { store, path: 'a.af' })
    await expectFlags(await openDataset({ store, path: 'a.af' }))
  })
})

/** The same as kerchunk and xarray leave it in Zarr: single bytes. */
async function asBytes(): Promise<MemoryStore> {
  const store = new MemoryStore()
  const group = (shape: number[], dims: string[]) => ({
    zarr_format: 2,
    shape,
    chunks: shape,
    dtype: '|S1',
    fill_value: null,
    order: 'C',
    filters: null,
    compressor: null,
    dims, // biome-ignore format: one line
  })
  const arrays: Record<string, [number[], string[], string]> = {
    temp_qc: [[2, 3], ['profile', 'level'], '114141'],
    direction: [[2], ['profile'], 'AD'],
    axis: [[3], ['axis'], 'xyz'],
    mode: [[2, 2], ['profile', 'n'], 'R\0DM'],
  }
  const put = (key: string, value: unknown) =>
    store.put(`b.zarr/${key}`, Uint8Array.from(utf8(typeof value === 'string' ? value : JSON.stringify(value))))
  await put('.zgroup', { zarr_format: 2 })
  for (const [name, [shape, dims, text]] of Object.entries(arrays)) {
    const { dims: names, ...metadata } = group(shape, dims)
    await put(`${name}/.zarray`, metadata)
    await put(`${name}/.zattrs`, { _ARRAY_DIMENSIONS: names })
    await put(`${name}/${shape.map(() => 0).join('.')}`, text)
  }
  await put('temp/.zarray', { ...group([2, 3], []), dims: undefined, dtype: '<f4', fill_value: 0 })
  await put('temp/.zattrs', { _ARRAY_DIMENSIONS: ['profile', 'level'] })
  return store
}

describe('characters of Zarr', () => {
  test('are read by the same rule', async () => {
    await expectFlags(await openDataset({ store: await asBytes(), path: 'b.zarr' }))
  })

  test('are imported by the same rule, also alone', async () => {
    const store = await asBytes()
    await importZarr({ store, path: 'b.zarr' }, { store, path: 'b.af' }, {})
    await expectFlags(await openDataset({ store, path: 'b.af' }))
    await importZarr({ store, path: 'b.zarr' }, { store, path: 'c.af' }, { variables: ['temp_qc', 'mode'] })
    const ds = await openDataset({ store, path: 'c.af' })
    expect([await list(ds, 'temp_qc'), await list(ds, 'mode')]).toEqual([
      ['1', '1', '4', '1', '4', '1'],
      ['R', 'DM'],
    ])
  })

  test('are exported by the same rule', async () => {
    const store = await asBytes()
    await (await openDataset({ store, path: 'b.zarr' })).write({ store, path: 'c.zarr' })
    await expectFlags(await openDataset({ store, path: 'c.zarr' }))
  })
})

describe('a dimension that an array has twice', () => {
  const COV = writeNetcdf({
    dimensions: [['x', 2], ['x_2', 3]], // biome-ignore format: one line
    variables: [floats('x', ['x'], [10, 20]), floats('other', ['x_2'], [1, 2, 3]), floats('cov', ['x', 'x'], [0, 1, 2, 3])],
  })

  test('has a suffix that no other name has, and is selected by', async () => {
    const ds = await openDataset(new Blob([COV as never]))
    const cov = ds.get('cov')
    expect(cov.dims).toEqual(['x', 'x_3'])
    expect(await list(ds, 'cov')).toEqual([0, 1, 2, 3])
    expect(Array.from((await cov.sel({ x: 20 }).values()) as ArrayLike<number>)).toEqual([2, 3])
    expect(Array.from((await cov.isel({ x_3: 1 }).values()) as ArrayLike<number>)).toEqual([1, 3])
    expect(Array.from((await cov.mean({ axis: 'x_3' }).values()) as ArrayLike<number>)).toEqual([0.5, 2.5])
  })

  test('is written under its own name', async () => {
    const store = new MemoryStore()
    await store.put('a.nc', COV)
    const ds = await openDataset({ store, path: 'a.nc' })
    await ds.write({ store, path: 'a.zarr' })
    const { bytes } = (await store.get('a.zarr/cov/zarr.json'))!
    expect(JSON.parse(new TextDecoder().decode(bytes)).dimension_names).toEqual(['x', 'x'])
    await ds.write({ store, path: 'a.af' })
    await importNetcdf({ store, path: 'a.nc' }, { store, path: 'b.af' })
    await importZarr({ store, path: 'a.zarr' }, { store, path: 'c.af' }, {})
    for (const path of ['a.zarr', 'a.af', 'b.af', 'c.af']) {
      const copy = await openDataset({ store, path })
      expect([copy.get('cov').dims, await list(copy, 'cov')]).toEqual([
        ['x', 'x_3'],
        [0, 1, 2, 3],
      ])
    }
  })

  test('keeps its suffix where its lengths differ', async () => {
    const store = new MemoryStore()
    const ds = await openDataset(new Blob([COV as never]))
    await ds.isel({ x: [0] }).write({ store, path: 'a.zarr' })
    const copy = await openDataset({ store, path: 'a.zarr' })
    expect([copy.get('cov').dims, await list(copy, 'cov')]).toEqual([
      ['x', 'x_3'],
      [0, 1],
    ])
  })
})
