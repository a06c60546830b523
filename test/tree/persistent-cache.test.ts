import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { openGeotiff } from '../../src/runtime/geotiff.ts'
import { openHdf5 } from '../../src/runtime/hdf5.ts'
import { create, MemoryStore, open, openTree } from '../../src/runtime/index.ts'
import { PersistentCache } from '../../src/runtime/store.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'
import type { RudeServer } from '../support/rude-server.ts'
import { serve } from '../support/served.ts'

let rude: RudeServer
serve(1, (server) => {
  rude = server
})

/** Paths of the objects that the server has. */
const existing = new Set<string>()

function put(name: string, bytes: Uint8Array): string {
  existing.add(`/${name}`)
  return rude.put(name, bytes)
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-cache-'))
})
const all: PersistentCache[] = []
afterEach(async () => {
  for (const cache of all.splice(0)) await cache.flush()
  await rm(folder, { recursive: true })
})

function cacheIn(path = folder): PersistentCache {
  const cache = new PersistentCache({ folder: path })
  all.push(cache)
  return cache
}

const VALUES = Float32Array.from({ length: 24 * 40 }, (_, i) => Math.sin(i) * 100)

async function serveZarr(values: Float32Array): Promise<string> {
  const store = new MemoryStore()
  const group = await createZarr({ store, path: 'a.zarr' })
  const array = await group.createArray('tas', { dtype: 'float32', shape: [24, 40], chunks: [6, 40], dimensionNames: ['y', 'x'] })
  await array.set(null, values)
  await group.close()
  for (const key of await store.list('')) put(key, (await store.get(key))!.bytes)
  return `${rude.origin}/a.zarr`
}

async function serveContainer(values: Float32Array): Promise<string> {
  const store = new MemoryStore()
  await using file = await create({ store, path: 'a.af' })
  const array = file.createArray('tas', { dtype: 'float32', shape: [24, 40], chunks: [6, 40], dimensionNames: ['y', 'x'] })
  await array.set(null, values)
  await file.flush()
  return put('a.af', (await store.get('a.af'))!.bytes)
}

const NETCDF = new URL('../../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url)
const serveNetcdf = async (): Promise<string> => put('a.nc', await readFile(NETCDF))
const serveHdf5 = async (): Promise<string> => put('a.h5', await readFile(join(FORMATS, 'hdf5/made_filters.h5')))
const serveTiff = async (): Promise<string> => put('a.tif', await readFile(join(FORMATS, 'tiff/made_deflate_pred2_i32.tif')))

describe('the second program fetches no bytes', () => {
  test.each<[string, (values: Float32Array) => Promise<string>, (url: string, cache: PersistentCache) => Promise<unknown>]>([
    [
      'openDataset of Zarr',
      serveZarr,
      async (url, cache) => {
        await using ds = await openDataset(url, { cache, names: ['tas'] })
        return await ds.get('tas').values()
      },
    ],
    [
      'openDataset of NetCDF',
      serveNetcdf,
      async (url, cache) => {
        await using ds = await openDataset(url, { cache })
        return await ds.get('tas').isel({ time: 3 }).values()
      },
    ],
    [
      'openZarr',
      serveZarr,
      async (url, cache) => {
        const group = await openZarr(url, { cache, kind: 'group' })
        return (await group.array('tas')).get(null)
      },
    ],
    [
      'openHdf5',
      serveHdf5,
      async (url, cache) => {
        await using file = await openHdf5(url, { cache })
        return await (await file.array('lzf')).get(null)
      },
    ],
    [
      'openGeotiff',
      serveTiff,
      async (url, cache) => {
        await using file = await openGeotiff(url, { cache })
        return await file.image(0).array.get(null)
      },
    ],
    [
      'open',
      serveContainer,
      async (url, cache) => {
        await using file = await open(url, { cache })
        return await file.array('tas').get(null)
      },
    ],
    [
      'openTree',
      serveContainer,
      async (url, cache) => {
        await using tree = await openTree(url, { cache })
        return tree.root.kind === 'group' && (await (await tree.root.array('tas')).array.get([3]))
      },
    ],
  ])('%s', async (_, publish, read) => {
    const url = await publish(VALUES)
    const plain = await read(url, cacheIn(join(folder, 'other')))
    const first = cacheIn()
    expect(await read(url, first)).toEqual(plain)
    await first.flush()
    expect(first.stats().stored.bytes).toBeGreaterThan(1000)
    rude.seen.length = 0
    const second = cacheIn()
    expect(await read(url, second)).toEqual(plain)
    // Objects that do not exist are requested again; all others are validated.
    const fetched = rude.seen.filter(({ method, url: path }) => method === 'GET' && existing.has(path))
    expect(fetched.map(({ url: path }) => path)).toEqual([])
    expect(second.stats().stored).toMatchObject({ evictions: 0 })
    expect(second.stats().stored.hits).toBeGreaterThan(1)
    // A changed place is read as it is now.
    if (publish !== serveZarr && publish !== serveContainer) return
    await publish(VALUES.map((value) => -value))
    const fresh = await read(url, cacheIn(join(folder, 'third')))
    expect(fresh).not.toEqual(plain)
    expect(await read(url, cacheIn())).toEqual(fresh)
  })
})

test('memory and stored entries are cleared together', async () => {
  const url = await serveContainer(VALUES)
  const cache = cacheIn()
  await using file = await open(url, { cache })
  await file.array('tas').get(null)
  await cache.flush()
  expect((await readdir(folder)).length).toBeGreaterThan(0)
  await cache.clear()
  expect(await readdir(folder)).toEqual([])
  expect(cache.stats()).toMatchObject({ blocks: { bytes: 0 }, slabs: { bytes: 0 }, stored: { bytes: 0 } })
})

test('a cache in a folder that is a file changes no result', async () => {
  const path = join(folder, 'file')
  await writeFile(path, 'mine')
  const url = await serveContainer(VALUES)
  const cache = cacheIn(path)
  await using file = await open(url, { cache })
  expect(await file.array('tas').get([2, 3])).toBe(VALUES[2 * 40 + 3])
  await cache.flush()
  expect(cache.stats().stored.failure).toMatch(/ENOTDIR|EEXIST/)
  expect(await readFile(path, 'utf8')).toBe('mine')
})

test.each([
  [{}, 'pass `folder`'],
  [{ folder: '' }, '`folder` is empty'],
  [{ name: '', folder: 'x' }, '`name` is empty'],
  [{ name: 'x', folder: 'y' }, 'pass one'],
  [{ folder: 'x', maxBytes: -1 }, 'maxBytes must be an integer from 0'],
  [{ folder: 'x', size: 5 }, "no option 'size'"],
])('the options %j are refused', (options, text) => {
  expect(() => new PersistentCache(options as object)).toThrow(
    expect.objectContaining({ tag: 'InvalidArgumentError', message: expect.stringContaining(text) }),
  )
})

test('a folder is refused in a browser, which has none', () => {
  vi.stubGlobal('document', {})
  vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0' })
  onTestFinished(() => void vi.unstubAllGlobals())
  expect(() => new PersistentCache({ folder: 'x' })).toThrow(/a browser has no folders: pass `name`/)
})
