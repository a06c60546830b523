import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ChunkIndex } from '../../src/engine/chunk-index.ts'
import { openDataset } from '../../src/runtime/dataset.ts'
import { openGeotiff } from '../../src/runtime/geotiff.ts'
import { openHdf5 } from '../../src/runtime/hdf5.ts'
import { type Codec, MemoryStore, openTree } from '../../src/runtime/index.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'

type Loaded = Required<Pick<ChunkIndex, 'load'>>

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
  const open = { codecs: [sevens('lzf'), sevens('lzma')] }
  for (const [file, name] of [
    ['hdf5/made_filters.h5', 'lzf'],
    ['tiff/made_lzma.tif', 'image'],
  ] as const) {
    // biome-ignore format: one line
    const place = join(FORMATS, file)
    await using tree = await openTree(place, open)
    const node = tree.root.kind === 'group' ? await tree.root.array(name) : undefined
    const { data } = (await node!.array.toTensor()) as { data: Uint8Array }
    expect(new Set(new Uint8Array(data.buffer))).toEqual(new Set([7]))
    await using ds = await openDataset(place, open)
    const values = (await ds.get(name).values()) as Float32Array
    expect([values.length, values.every((value) => value === values[0])]).toEqual([data.length, true])
  }
})

test('decoded blocks have keys of their own for codecs of one name', async () => {
  const keysOf = async (codecs: readonly Codec[]) => {
    await using hdf5 = await openHdf5(join(FORMATS, 'hdf5/made_filters.h5'), { codecs })
    await using tiff = await openGeotiff(join(FORMATS, 'tiff/made_lzma.tif'), { codecs: [...codecs, lzma] })
    const indexes = [(await hdf5.array('lzf')).index, tiff.image(0).array.index] as unknown as Loaded[]
    return Promise.all(
      indexes.map(async (index) => {
        const chunk = (await index.load([0], undefined)).locate(0)
        return chunk !== undefined && 'block' in chunk ? chunk.block?.origin.cacheKey : undefined
      }),
    )
  }
  const lzma = sevens('lzma')
  const [one, other] = [sevens('lzf'), sevens('lzf')]
  const keys = [await keysOf([]), await keysOf([one]), await keysOf([other])]
  expect(keys.flat()).not.toContain(undefined)
  expect(new Set(keys.flat())).toHaveProperty('size', 6)
  expect(await keysOf([one])).toEqual(keys[1])
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
