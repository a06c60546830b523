import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { Dataset, openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { BlockCache, openTree } from '../../src/runtime/index.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'

/** A store of Zarr with one series, with consolidated metadata or without. */
const stores = new Map<string, MemoryStore>()
let server: Server
let origin: string
let seen: { readonly url: string; readonly status: number; readonly token: string | undefined }[] = []

beforeAll(async () => {
  for (const year of [1998, 1999]) {
    const store = new MemoryStore()
    const time = {
      dims: ['time'],
      data: [0, 1, 2].map((day) => 3 * (year - 1998) + day),
      attrs: { units: 'days since 1998-01-01' },
    }
    const tas = { dims: ['time'], data: [year, year + 1, year + 2] }
    const read = await Dataset.from({
      variables: Object.entries(new Dataset({ tas, time }).variables).map(([name, { array, dims, attrs }]) => ({
        name,
        array: array as never,
        dims,
        attrs: new Map(Object.entries(attrs)) as never,
      })),
    })
    await read.write({ store, path: `${year}.zarr` })
    stores.set(String(year), store)
  }
  server = createServer(async (request, answer) => {
    const [, name = '', rest = ''] = /^\/(\w+)\/(.*)$/.exec(request.url ?? '') ?? []
    const token = request.headers.authorization
    let bytes = name === 'bare' ? await plain(rest) : (await stores.get(name)?.get(rest))?.bytes
    if (name === 'closed' && token === 'Bearer 1') bytes = (await stores.get('1998')!.get(rest))?.bytes
    seen.push({ url: request.url!, status: bytes === undefined ? 404 : 200, token })
    if (bytes === undefined) return void answer.writeHead(404).end()
    answer.writeHead(200, { etag: '"1"', 'content-length': bytes.length }).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return () => void server.close()
})
afterEach(() => {
  seen = []
  vi.unstubAllGlobals()
})

/** Removes the consolidated metadata. */
async function plain(path: string): Promise<Uint8Array | undefined> {
  const bytes = (await stores.get('1998')!.get(path))?.bytes
  if (bytes === undefined || path !== '1998.zarr/zarr.json') return bytes
  const { consolidated_metadata: _, ...rest } = JSON.parse(new TextDecoder().decode(bytes))
  return new TextEncoder().encode(JSON.stringify(rest))
}

test('a Zarr store without consolidated metadata opens over HTTP with the names of its arrays', async () => {
  const url = `${origin}/bare/1998.zarr`
  const listed = async () => ((await openTree(url)).root as { arrays(): unknown }).arrays()
  for (const open of [() => openDataset(url), listed])
    await expect(open()).rejects.toThrow(/cannot be listed.* `names` gives the paths of its arrays/)
  await using ds = await openDataset(url, { names: ['tas', 'time'] })
  expect(await ds.sel({ time: '1998-01-02' }).get('tas').values()).toEqual(Float64Array.of(1999))
})

test('names of a format without them are refused by name', async () => {
  const store = new MemoryStore()
  await new Dataset({ t: { dims: ['x'], data: [1] } }).write({ store, path: 'x.af' })
  await expect(openDataset({ store, path: 'x.af' }, { names: ['t'] })).rejects.toThrow(/openDataset: `names` is for Zarr stores/)
})

test('headers and fetch reach the requests to a URL, and are refused for other places', async () => {
  const url = `${origin}/closed/1998.zarr`
  await expect(openDataset(url)).rejects.toMatchObject({ tag: 'NotFoundError' })
  const headers = { authorization: 'Bearer 1' }
  const urls: string[] = []
  const counting = async (url: string, init: object) => {
    urls.push(url)
    return fetch(url, init)
  }
  seen = []
  await using ds = await openDataset(url, { headers, fetch: counting as never })
  expect(await ds.get('tas').values()).toEqual(Float64Array.of(1998, 1999, 2000))
  expect([urls.length, seen.every(({ token }) => token === 'Bearer 1')]).toEqual([seen.length, true])
  await using tree = await openTree(url, { headers })
  await using group = await openZarr(url, { headers, kind: 'group' })
  expect([await (tree.root as { arrays(): unknown }).arrays(), await group.arrays()]).toEqual([
    ['tas', 'time'],
    ['tas', 'time'],
  ])
  for (const options of [{ headers }, { fetch: counting as never }, { notFound: [404] }])
    await expect(openDataset({ store: stores.get('1998')!, path: '1998.zarr' }, options)).rejects.toThrow(
      `openDataset: \`${Object.keys(options)[0]}\` is for URLs of http, https and s3; for another place, pass it to its store`,
    )
})

test.each(['cached.af', 'cached.zarr'])(
  'a cache given to openDataset is asked for blocks of %s, and progress counts coordinates',
  async (path) => {
    const store = new MemoryStore()
    const data = { data: Float32Array.from({ length: 20_000 }, (_, i) => i % 97), shape: [100, 200] }
    const source = new Dataset(
      { tas: { dims: ['time', 'x'], data } },
      { coords: { time: Array.from({ length: 100 }, (_, i) => i) } },
    )
    await source.write({ store, path }, { chunks: { time: 10, x: 20 } })
    const cache = new BlockCache()
    const progress: unknown[] = []
    await using ds = await openDataset({ store, path }, { cache, onProgress: ({ done, total }) => progress.push([done, total]) })
    expect(await ds.get('tas').isel({ time: 1, x: 3 }).get()).toBe(203 % 97)
    expect(progress).toEqual([[1, 1]])
    const { blocks, slabs } = cache.stats()
    expect(blocks.misses + slabs.misses).toBeGreaterThan(0)
  },
)

test('a relative path is a URL in a page and its worker, and a path of this machine elsewhere', async () => {
  const path = '../1998/1998.zarr'
  await expect(openDataset(path)).rejects.toMatchObject({ tag: 'NotFoundError' })
  expect(seen).toEqual([])
  vi.stubGlobal('process', { env: {} })
  vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0' })
  vi.stubGlobal('document', { baseURI: `${origin}/pages/map.html` })
  await using ds = await openDataset(path, { headers: { 'x-page': '1' } })
  expect(await ds.get('tas').values()).toEqual(Float64Array.of(1998, 1999, 2000))
  vi.stubGlobal('document', undefined)
  vi.stubGlobal('WorkerGlobalScope', {})
  vi.stubGlobal('location', { href: `${origin}/scripts/worker.js` })
  await using inWorker = await openDataset(path)
  expect(inWorker.dims).toEqual({ time: 3 })
})

test('a pattern opens the places that match it, where they can be listed', async () => {
  const store = new MemoryStore()
  for (const each of stores.values())
    for (const key of await each.list('')) await store.put(`data/${key}`, (await each.get(key))!.bytes)
  for (const name of ['data/.1998.zarr/zarr.json', 'data/notes.txt', 'other/1998.zarr/zarr.json'])
    await store.put(name, Uint8Array.of(0))
  const years = async (path: string) => {
    const progress: unknown[] = []
    await using ds = await openDatasets({ store, path }, { onProgress: ({ done, total }) => progress.push([done, total]) })
    return [await ds.get('tas').values(), progress.length]
  }
  const both = Float64Array.of(1998, 1999, 2000, 1999, 2000, 2001)
  for (const pattern of ['data/*.zarr', 'data/199?.zarr', 'data/199[89].zarr', 'd*/1*.zarr'])
    expect(await years(pattern)).toEqual([both, 2])
  expect(await years('data/199[!8].zarr')).toEqual([both.slice(3), 1])
  expect(await years('data/1998.zarr')).toEqual([both.slice(0, 3), 1])
  await expect(years('data/2*.zarr')).rejects.toMatchObject({
    tag: 'NotFoundError',
    message: expect.stringContaining('data/2*.zarr'),
  })
  await expect(years('data/**')).rejects.toThrow(/has \*\*: write a pattern for each folder/)
  await expect(years('data/[1.zarr')).rejects.toThrow(/has a bracket that is not closed/)
  await expect(openDatasets(`${origin}/*/1998.zarr`)).rejects.toThrow(
    /cannot be listed, so a pattern finds none: pass a list of locations/,
  )
})
