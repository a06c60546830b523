import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'

/** Writes a group of version 3 with the arrays `x` and `t`. */
async function write3(store: MemoryStore, path: string, isConsolidated: boolean): Promise<void> {
  const group = await createZarr({ store, path })
  for (const name of ['x', 't']) {
    const array = await group.createArray(name, { dtype: 'float32', shape: [4], dimensionNames: ['x'], codec: 'none' })
    await array.set(null, 1)
  }
  if (isConsolidated) await group.consolidate()
}

/** Writes the same group in version 2. */
async function write2(store: MemoryStore, path: string, isConsolidated: boolean): Promise<void> {
  const array = {
    zarr_format: 2,
    shape: [4],
    chunks: [4],
    dtype: '<f4',
    order: 'C',
    fill_value: 0,
    compressor: null,
    filters: null,
  }
  const metadata: Record<string, unknown> = { '.zgroup': { zarr_format: 2 }, '.zattrs': {} }
  for (const name of ['x', 't']) {
    metadata[`${name}/.zarray`] = array
    metadata[`${name}/.zattrs`] = { _ARRAY_DIMENSIONS: ['x'] }
    await store.put(`${path}/${name}/0`, new Uint8Array(new Float32Array(4).fill(1).buffer))
  }
  const documents = { ...metadata, ...(isConsolidated && { '.zmetadata': { zarr_consolidated_format: 1, metadata } }) }
  for (const [name, document] of Object.entries(documents))
    await store.put(`${path}/${name}`, new TextEncoder().encode(JSON.stringify(document)))
}

/** Returns a `fetch` that answers from a store, and records all keys and those that are missing. */
function serve(store: MemoryStore): { fetch: never; asked: string[]; missing: string[] } {
  const [asked, missing]: string[][] = [[], []]
  const fetch = async (url: string, { method, headers }: RequestInit = {}): Promise<Response> => {
    const key = new URL(url).pathname.slice(1)
    asked!.push(key)
    const known = await store.stat(key)
    if (known === undefined) {
      missing!.push(key)
      return new Response(null, { status: 404 })
    }
    const { size } = known
    const range = /bytes=(\d+)-(\d+)/.exec(new Headers(headers).get('range') ?? '')
    const [start, end] = range === null ? [0, size] : [Number(range[1]), Math.min(size, Number(range[2]) + 1)]
    const body = method === 'HEAD' ? null : Buffer.from((await store.getRange(key, start, end - start))!)
    const given = { 'content-length': String(end - start), etag: '"1"', 'content-range': `bytes ${start}-${end - 1}/${size}` }
    return new Response(body, { status: range === null ? 200 : 206, headers: given })
  }
  return { fetch: fetch as never, asked: asked!, missing: missing! }
}

/** Returns what a server of a store answers with status 404 while the dataset is opened and read. */
async function missing(store: MemoryStore, path: string): Promise<string[]> {
  const { fetch, asked, missing } = serve(store)
  const ds = await openDataset(`https://data.example/${path}`, { fetch, names: ['x', 't'] })
  expect([...((await ds.get('t').values()) as Float32Array)]).toEqual([1, 1, 1, 1])
  // No metadata are requested twice.
  const metadata = asked.filter((key) => /(zarr\.json|\.z[a-z]+)$/.test(key) && key !== path)
  expect(metadata).toEqual([...new Set(metadata)])
  return missing.map((key) => (key === path ? 'the place itself' : key.slice(path.length + 1)))
}

const CASES: [title: string, row: string, write: typeof write3, isConsolidated: boolean, missing: string[]][] = [
  ['Zarr 3 with consolidated metadata', 'Zarr 3', write3, true, []],
  ['Zarr 3 without', 'Zarr 3', write3, false, []],
  ['Zarr 2 with consolidated metadata', 'Zarr 2 with consolidated metadata', write2, true, ['zarr.json']],
  ['Zarr 2 without', 'Zarr 2 without', write2, false, ['zarr.json', '.zmetadata']],
]

test.each(CASES)('opening %s requests no missing object but those that docs/places.md names', async (...given) => {
  const [, row, write, isConsolidated, expected] = given
  const store = new MemoryStore()
  for (const path of ['demo.zarr', 'demo']) await write(store, path, isConsolidated)
  const [named, other] = [await missing(store, 'demo.zarr'), await missing(store, 'demo')]
  expect([named, other]).toEqual([expected, ['the place itself', ...expected]])
  const listed = (keys: string[]): string => keys.map((key) => (key.includes(' ') ? key : `\`${key}\``)).join(', ') || 'none'
  const page = readFileSync(new URL('../../docs/places.md', import.meta.url), 'utf8')
  expect(page).toContain(`| ${row} | ${listed(named)} | ${listed(other)} |`)
})

test('a group of Zarr 2 above the given names is not requested as an array, and an array at the root still opens', async () => {
  const store = new MemoryStore()
  await write2(store, 'demo.zarr/inner', false)
  await store.put('demo.zarr/.zgroup', new TextEncoder().encode('{"zarr_format":2}'))
  const { fetch, missing } = serve(store)
  const group = await openZarr('https://data.example/demo.zarr', { fetch, kind: 'group', names: ['inner/x'] })
  expect(await group.groups()).toEqual(['inner'])
  expect(missing).toEqual(['demo.zarr/zarr.json', 'demo.zarr/.zmetadata', 'demo.zarr/.zattrs'])
  const root = await openZarr('https://data.example/demo.zarr/inner/x', { fetch, kind: 'array' })
  expect(root.shape).toEqual([4])
})
