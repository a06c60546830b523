import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tensorOf } from '../../src/core/tensor.ts'
import { Dataset, openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'

const recordsOf = async (store: MemoryStore, path: string): Promise<string[]> => {
  await using file = await openNetcdf({ store, path })
  return file.dimensions.filter(({ isRecord }) => isRecord).map(({ name }) => name)
}

async function writeSource(store: MemoryStore, path: string, first = 0): Promise<void> {
  const ds = new Dataset(
    { v: { dims: ['time', 'x'], data: tensorOf('int16', [2, 2], Int16Array.of(1, 2, 3, 4)) } },
    {
      coords: {
        time: { dims: ['time'], data: Int32Array.of(first, first + 1) },
        day: { dims: ['time'], data: Int32Array.of(first + 5, first + 6) },
      },
    },
  )
  await ds.write({ store, path }, { unlimited: ['time'] })
}

test.each<[string, (ds: Dataset) => Dataset | Promise<Dataset>, string[]]>([
  ['as it is', (ds) => ds, ['time']],
  ['a part of it', (ds) => ds.isel({ time: [1] }), ['time']],
  ['a renamed dimension', (ds) => ds.rename({ time: 't' }), ['t']],
  ['a swapped dimension', (ds) => ds.swapDims({ time: 'day' }), ['day']],
  ['computed values', (ds) => ds.assign({ v: ds.get('v').add(1) }), ['time']],
  ['one position of it', (ds) => ds.isel({ time: 0 }), []],
  ['a mean along it', (ds) => ds.mean({ axis: 'time' }), []],
  ['others along it', (ds) => ds.mean({ axis: 'x' }), ['time']],
])('the record dimension of a file is that of its copy: %s', async (_, change, expected) => {
  const store = new MemoryStore()
  await writeSource(store, 'a.nc')
  await using ds = await openDataset({ store, path: 'a.nc' })
  const { warnings } = await (await change(ds)).write({ store, path: 'b.nc' })
  expect(warnings).toEqual([])
  expect(await recordsOf(store, 'b.nc')).toEqual(expected)
})

test('the record dimension of joined files stays, and an own list replaces it', async () => {
  const store = new MemoryStore()
  await writeSource(store, 'a.nc')
  await writeSource(store, 'b.nc', 2)
  await using ds = await openDatasets(
    ['a.nc', 'b.nc'].map((path) => ({ store, path })),
    { dim: 'time' },
  )
  await ds.write({ store, path: 'joined.nc' })
  await ds.write({ store, path: 'fixed.nc' }, { unlimited: [] })
  await ds.write({ store, path: 'x.zarr' })
  await using copy = await openDataset({ store, path: 'x.zarr' })
  await copy.write({ store, path: 'of Zarr.nc' })
  const names = ['joined.nc', 'fixed.nc', 'of Zarr.nc']
  expect(await Promise.all(names.map((path) => recordsOf(store, path)))).toEqual([['time'], [], []])
})

test('unlimited dimensions of NetCDF-4 and of plain HDF5 become records', async () => {
  const store = new MemoryStore()
  await using ds = await openDataset(join(FORMATS, 'hdf5/made_groups_types.nc'))
  const names = Object.keys(ds.variables).filter((name) => !ds.get(name).dims.includes('time'))
  const along = Object.keys(ds.variables).filter((name) => ds.get(name).dims[0] === 'time' && ds.get(name).dtype !== 'binary')
  expect(along.length).toBeGreaterThan(0)
  await ds.drop(...names).write({ store, path: 'a.nc' })
  expect(await recordsOf(store, 'a.nc')).toEqual(['time'])
})
