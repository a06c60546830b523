import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { createZarr } from '../../src/runtime/zarr.ts'
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

/** Returns what a server of a store answers with status 404 while the dataset is opened and read. */
async function missing(store: MemoryStore, path: string): Promise<string[]> {
  const found: string[] = []
  const fetch = async (url: string, { method, headers }: RequestInit = {}): Promise<Response> => {
    const key = new URL(url).pathname.slice(1)
    const known = await store.stat(key)
    if (known === undefined) {
      found.push(key)
      return new Response(null, { status: 404 })
    }
    const { size } = known
    const range = /bytes=(\d+)-(\d+)/.exec(new Headers(headers).get('range') ?? '')
    const [start, end] = range === null ? [0, size] : [Number(range[1]), Math.min(size, Number(range[2]) + 1)]
    const body = method === 'HEAD' ? null : Buffer.from((await store.getRange(key, start, end - start))!)
    const given = { 'content-length': String(end - start), etag: '"1"', 'content-range': `bytes ${start}-${end - 1}/${size}` }
    return new Response(body, { status: range === null ? 200 : 206, headers: given })
  }
  const ds = await openDataset(`https://data.example/${path}`, { fetch: fetch as never, names: ['x', 't'] })
  expect([...((await ds.get('t').values()) as Float32Array)]).toEqual([1, 1, 1, 1])
  return found.map((key) => (key === path ? 'the place itself' : key.slice(path.length + 1)))
}

const CASES: [title: string, row: string, write: typeof write3, isConsolidated: boolean, missing: string[]][] = [
  ['Zarr 3 with consolidated metadata', 'Zarr 3', write3, true, []],
  ['Zarr 3 without', 'Zarr 3', write3, false, []],
  ['Zarr 2 with consolidated metadata', 'Zarr 2 with consolidated metadata', write2, true, ['zarr.json']],
  ['Zarr 2 without', 'Zarr 2 without', write2, false, ['zarr.json', '.zmetadata', '.zarray']],
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
