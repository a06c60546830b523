import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { create, type Location, MemoryStore, open, verify } from '../../src/runtime/index.ts'
import { importNetcdf, openNetcdf } from '../../src/runtime/netcdf.ts'
import { parsePage, textOf } from '../../src/store/s3/answers.ts'
import { openZarr } from '../../src/tree/open-zarr.ts'
import { sourceVersion } from '../../src/tree/source-version.ts'
import { RudeServer } from '../support/rude-server.ts'

let rude: RudeServer
let folder: string
beforeAll(async () => {
  rude = await RudeServer.start()
  folder = await mkdtemp(join(tmpdir(), 'absence-'))
})
afterAll(async () => {
  await rude.stop()
  await rm(folder, { recursive: true })
})
beforeEach(() => rude.reset())

const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const ARRAY = {
  zarr_format: 3,
  node_type: 'array',
  shape: [4],
  data_type: 'int8',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
  chunk_key_encoding: { name: 'default' },
  dimension_names: ['x'],
  fill_value: 0,
  codecs: [{ name: 'bytes' }],
}

/** A group of one array on the server, whose chunk 0 is there. */
function putGroup(name: string): string {
  const metadata = { [name]: ARRAY }
  const group = {
    zarr_format: 3,
    node_type: 'group',
    consolidated_metadata: { kind: 'inline', must_understand: false, metadata },
  }
  const at = `g.zarr/${encodeURIComponent(name)}`
  rude.put(`${at}/c/0`, Uint8Array.of(1, 2))
  rude.put(`${at}/zarr.json`, text(ARRAY))
  return rude.put('g.zarr/zarr.json', text(group)).replace('/zarr.json', '')
}

const NAMES = ['a#b', 'a?b', 'a%41', '%', '100%', 'a b+c', 'wärme', 'a\\b', "it's (1)*"]

test.each(NAMES)('an array named %j is read and copied over HTTP', async (name) => {
  const encode = (part: string): string =>
    encodeURIComponent(part).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  const url = putGroup(name)
  rude.manners = ({ url: path }) => (path.includes(encode(name)) || path.endsWith('g.zarr/zarr.json') ? {} : { status: 404 })
  if (encode(name) !== encodeURIComponent(name)) {
    rude.put(`g.zarr/${encode(name)}/c/0`, Uint8Array.of(1, 2))
    rude.put(`g.zarr/${encode(name)}/zarr.json`, text(ARRAY))
  }
  const group = await openZarr(url, { kind: 'group' })
  expect(((await (await group.array(name)).get([null])) as { data: Int8Array }).data).toEqual(Int8Array.of(1, 2, 0, 0))
  const target = join(folder, `${NAMES.indexOf(name)}.zarr`)
  await copyTree(url, target)
  expect([...(await readFile(join(target, name, 'c', '0')))]).toEqual([1, 2])
})

test.each(['a#b', 'a?b', 'a%41'])('the version of a source has that of its array %j', async (name) => {
  const url = putGroup(name)
  const before = await sourceVersion(url, [name])
  expect(await sourceVersion(url, [name])).toBe(before)
  rude.put(`g.zarr/${encodeURIComponent(name)}/zarr.json`, text({ ...ARRAY, attributes: { a: 1 } }))
  expect(await sourceVersion(url, [name])).not.toBe(before)
})

test('a store behind 403 is opened with notFound, by openZarr and openDataset alike, and the message says so', async () => {
  const url = putGroup('v')
  rude.manners = { missing: 403 }
  await expect(openDataset(url).then((ds) => ds.get('v').values())).rejects.toThrow(
    /answered 403: .*`notFound: \[403, 404, 410\]`/,
  )
  const notFound = [403, 404]
  await using group = await openZarr(url, { kind: 'group', notFound })
  expect(((await (await group.array('v')).get([null])) as { data: Int8Array }).data).toEqual(Int8Array.of(1, 2, 0, 0))
  const ds = await openDataset(url, { notFound })
  expect(ds.get('v').shape).toEqual([4])
  const values = ds.get('v').values()
  rude.manners = { status: 403 }
  await values.catch(() => undefined)
  await expect(ds.get('v').values()).rejects.toMatchObject({ tag: 'StoreError' })
})

test('a login page for every name is copied nowhere, and nothing opens at the target', async () => {
  const url = putGroup('v')
  let chunks = 0
  rude.manners = ({ url: path }) => {
    if (path.includes('/c/')) chunks++
    return chunks === 0 ? {} : { redirect: `${rude.origin}/login` }
  }
  rude.put('login', new TextEncoder().encode('{"error":"log in"}'))
  const target = join(folder, 'login.zarr')
  await expect(copyTree(url, target)).rejects.toMatchObject({ tag: 'StoreError' })
  await expect(openZarr(target)).rejects.toMatchObject({ tag: 'NotFoundError' })
})

test('a file of references has names of files as they are written, and encoded', async () => {
  const path = join(folder, 'cover 50%#1.bin')
  await writeFile(path, Uint8Array.of(1, 2, 3, 4))
  const array = {
    zarr_format: 2,
    shape: [4],
    chunks: [4],
    dtype: '|i1',
    compressor: null,
    fill_value: 0,
    filters: null,
    order: 'C',
  }
  for (const url of [`file://${path}`, `file://${encodeURI(path).replace('#', '%23')}`, path]) {
    const refs = { '.zgroup': { zarr_format: 2 }, 'v/.zarray': array, 'v/0': [url, 0, 4] }
    await writeFile(join(folder, 'refs.json'), JSON.stringify({ version: 1, refs }))
    const group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
    expect(await (await group.array('v')).get([3])).toBe(4)
    await group.close()
  }
})

test('a listing with hostile names is an error of this package', () => {
  const xml = (key: string): string =>
    `<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>${key}</Key></Contents></ListBucketResult>`
  expect(() => parsePage(xml('%E0%A4%A'), 's3://b/')).toThrow(expect.objectContaining({ tag: 'StoreError' }))
  expect(parsePage(xml('a%23b%2541'), 's3://b/').keys).toEqual(['a#b%41'])
  expect(textOf('<Key>&#x7fffffff;&#9999999999;&amp;</Key>', 'Key')).toBe('&#x7fffffff;&#9999999999;&')
})

describe('notFound', () => {
  const LOCAL = { store: new MemoryStore(), path: 'x.af' }
  const notFound = [403, 404]
  const ENTRIES: readonly (readonly [string, (place: Location) => Promise<unknown>])[] = [
    ['open', (place) => open(place, { notFound })],
    ['verify', (place) => verify(place, { notFound })],
    ['openNetcdf', (place) => openNetcdf(place, { notFound })],
    ['importNetcdf', (place) => importNetcdf(place, LOCAL, { notFound })],
    ['openZarr', (place) => openZarr(place, { notFound })],
    ['openDataset', (place) => openDataset(place, { notFound })],
    ['openDatasets', (place) => openDatasets([place], { notFound })],
    ['copyTree', (place) => copyTree(place, LOCAL, { notFound })],
    ['planJob', (place) => planJob({ method: 'sum', source: { location: place as string, array: 'x', notFound } })],
    [
      'planJob of a dataset',
      (place) => planJob({ method: 'sum', source: { dataset: place as string, variable: 'x', notFound } }),
    ],
  ]

  test.each(ENTRIES)('of %s is refused for a path and for a store', async (name, work) => {
    const places: Location[] = name.startsWith('planJob') ? ['x.af'] : ['x.af', LOCAL, 'file:///x.af']
    for (const place of places)
      await expect(work(place)).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringMatching(/`notFound` is for URLs/),
      })
  })

  test('opens containers behind 403, and jobs of them and of Zarr', async () => {
    const store = new MemoryStore()
    const file = await create({ store, path: 'c.af' })
    await file.createArray('v', { dtype: 'int8', shape: [4] }).set([], 1)
    await file.flush()
    const key = (await store.list('c'))[0]!
    const container = rude.put('c.af', (await store.getRange(key, 0, (await store.stat(key))!.size))!)
    const group = putGroup('v')
    rude.manners = { missing: 403 }
    await expect(open(container)).rejects.toMatchObject({ tag: 'StoreError' })
    await using opened = await open(container, { notFound })
    expect(await opened.array('v').sum()).toBe(4)
    expect(await verify(container, { notFound })).toMatchObject({ ok: true })
    for (const [location, sum] of [[container, 4] as const, [group, 3] as const]) {
      const source = { location, array: 'v', notFound }
      const plan = await planJob({ method: 'sum', source })
      expect(await local().run(plan)).toBe(sum)
    }
    await expect(planJob({ method: 'sum', source: { location: container, array: 'v' } })).rejects.toMatchObject({
      tag: 'StoreError',
    })
  })
})
