import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { type Codec, MemoryStore, openTree } from '../../src/runtime/index.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'

/** Decodes bytes that all have one bit inverted. */
const inverted: Codec = { name: 'inverted', decode: async (bytes) => bytes.map((byte) => byte ^ 1) }
/** Decodes anything to bytes of 7. */
const sevens = (name: string): Codec => ({ name, decode: async (_, size) => new Uint8Array(size).fill(7) })

async function zarrStore(): Promise<MemoryStore> {
  const store = new MemoryStore()
  const metadata = {
    zarr_format: 2,
    shape: [4],
    chunks: [4],
    dtype: '|u1',
    compressor: { id: 'inverted' },
    filters: null,
    fill_value: 99,
    order: 'C',
  }
  const text = new TextEncoder()
  await store.put('a.zarr/.zgroup', text.encode('{ "zarr_format": 2 }'))
  await store.put('a.zarr/v/.zarray', text.encode(JSON.stringify(metadata)))
  await store.put('a.zarr/v/.zattrs', text.encode('{ "_ARRAY_DIMENSIONS": ["x"] }'))
  await store.put('a.zarr/v/0', Uint8Array.of(0, 1, 2, 3))
  return store
}

test('openTree and openDataset pass codecs to Zarr', async () => {
  const place = { store: await zarrStore(), path: 'a.zarr' }
  await using tree = await openTree(place, { codecs: [inverted] })
  const node = tree.root.kind === 'group' ? await tree.root.array('v') : undefined
  expect([...((await node!.array.get(null)) as { data: Uint8Array }).data]).toEqual([1, 0, 3, 2])
  await using ds = await openDataset(place, { codecs: [inverted], names: ['v'] })
  expect([...((await ds.get('v').values()) as Uint8Array)]).toEqual([1, 0, 3, 2])
})

test('openTree and openDataset pass codecs to HDF5 and TIFF', async () => {
  const file = join(FORMATS, 'hdf5/made_filters.h5')
  await using ds = await openDataset(file, { codecs: [sevens('lzf')] })
  const { dtype, shape } = ds.get('lzf')
  const values = (await ds.get('lzf').values()) as Float32Array
  expect([dtype, values.length]).toEqual(['float32', shape.reduce((a, b) => a * b)])
  expect(new Set(new Uint8Array(values.buffer))).toEqual(new Set([7]))
  await using tree = await openTree(join(FORMATS, 'tiff/made_lzma.tif'), { codecs: [sevens('lzma')] })
  const node = tree.root.kind === 'group' ? await tree.root.array('image') : undefined
  const { data } = (await node!.array.toTensor()) as { data: Uint8Array }
  expect(new Set(new Uint8Array(data.buffer))).toEqual(new Set([7]))
})

test('codecs are refused for formats that take none', async () => {
  const store = new MemoryStore()
  await store.put('a.nc', readFileSync(new URL('../../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url)))
  const refused = {
    tag: 'InvalidArgumentError',
    message: expect.stringContaining('`codecs` is for HDF5 files, TIFF files and Zarr stores, and this is a NetCDF file'),
  }
  await expect(openTree({ store, path: 'a.nc' }, { codecs: [inverted] })).rejects.toMatchObject(refused)
  await expect(openDataset({ store, path: 'a.nc' }, { codecs: [inverted] })).rejects.toMatchObject(refused)
})
