import { rm } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ZarrArray } from '../../../../src/adapters/zarr/group.ts'
import { copyTree } from '../../../../src/copy/copy-tree.ts'
import { slice } from '../../../../src/grid/slice.ts'
import { createZarr, openZarr } from '../../../../src/runtime/zarr.ts'
import { FileStore } from '../../../../src/store/fs/file.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import type { Store } from '../../../../src/store/store.ts'
import { FaultStore } from '../../../../src/testing/index.ts'
import { folderInMemory } from '../../../support/folder.ts'

const at = (store: Store, path: string) => ({ store, path })

const OPTIONS = { dtype: 'int32', shape: [4], chunks: [2], codec: 'none', dimensionNames: ['time'] } as const

async function write(store: Store, path: string, options: object = {}): Promise<void> {
  const group = await createZarr(at(store, path))
  const array = await group.createArray('t', { ...OPTIONS, ...options } as typeof OPTIONS)
  if (array.dtype !== ('string' as never)) await array.set(null, 7)
}

const opened = (store: Store, path = 'x.zarr/t') => openZarr(at(store, path), { mode: 'r+', kind: 'array' })

async function contentOf(store: MemoryStore): Promise<ReadonlyMap<string, string>> {
  // A claim that failed stays, for the next process that resizes the array.
  const keys = (await store.list('x.zarr/')).filter((key) => !key.endsWith('/.hyperslab-append')).sort()
  const content = new Map<string, string>()
  for (const key of keys) content.set(key, String((await store.get(key))!.bytes))
  return content
}

const changes: [string, (array: ZarrArray) => Promise<void>][] = [
  ['set of whole chunks', (array) => array.set(null, 1)],
  ['set of a part of a chunk', (array) => array.set([slice(1, 2)], [1])],
  ['append', (array) => array.append(0, [1])],
  ['resize to fewer', (array) => array.resize([1])],
  ['resize to more', (array) => array.resize([9])],
  ['updateAttributes', (array) => array.updateAttributes({ units: 'K' })],
]

describe.each(changes)('%s', (_, change) => {
  test.each<[string, object]>([
    ['type', { dtype: 'float32' }],
    ['type of the same size', { dtype: 'uint32' }],
    ['codec', { codec: 'zstd' }],
    ['chunk length', { chunks: [4] }],
    ['number of axes', { shape: [4, 1], chunks: [2, 1], dimensionNames: ['time', 'x'] }],
    ['shard length', { shards: [4] }],
    ['fill value', { fillValue: 3 }],
    ['dimension', { dimensionNames: ['lat'] }],
  ])('refuses an array that another process has replaced by one of another %s', async (_, options) => {
    const store = new MemoryStore()
    await write(store, 'x.zarr')
    await write(store, 'y.zarr', options)
    const array = await opened(store)
    await copyTree(at(store, 'y.zarr'), at(store, 'x.zarr'), { overwrite: true })
    const before = await contentOf(store)
    const refused = { tag: 'ConflictError', message: expect.stringContaining('another writer has replaced the array') }
    await expect(change(array)).rejects.toMatchObject(refused)
    expect(await contentOf(store)).toEqual(before)
  })

  test('refuses an array in whose place there is a group, or one of another version, or none', async () => {
    const store = new MemoryStore()
    const refusedAs = async (tag: string): Promise<void> => {
      const before = await contentOf(store)
      await expect(change(array)).rejects.toMatchObject({ tag })
      expect(await contentOf(store)).toEqual(before)
    }
    await write(store, 'x.zarr')
    const array = await opened(store)
    await createZarr(at(store, 'x.zarr/t'), { overwrite: true })
    await refusedAs('ConflictError')
    const { bytes } = (await store.get('x.zarr/t/zarr.json'))!
    await store.delete('x.zarr/t/zarr.json')
    await refusedAs('UnknownArrayError')
    await store.put('x.zarr/t/.zarray', bytes)
    if (!String(change).includes('updateAttributes')) await refusedAs('ConflictError')
  })

  test('goes on if another process has changed the shape and the attributes', async () => {
    const store = new MemoryStore()
    await write(store, 'x.zarr')
    const array = await opened(store)
    const other = await opened(store)
    await other.append(0, [5, 6])
    await other.updateAttributes({ title: 'new' })
    await change(array)
    const now = await opened(store)
    expect(now.attrs.get('title')).toBe('new')
    expect(now.shape[0]).not.toBe(4)
  })
})

test('set reads the metadata of the array once, and stores nothing before', async () => {
  const store = new FaultStore(new MemoryStore())
  await write(store, 'x.zarr', { shape: [40] })
  const array = await opened(store)
  store.log.length = 0
  await array.set(null, 1)
  const log = store.log.filter((line) => !/ stage |conditions/.test(` ${line}`))
  expect(log.filter((line) => line.endsWith('zarr.json'))).toEqual(['whole x.zarr/t/zarr.json'])
  expect(log[0]).toBe('whole x.zarr/t/zarr.json')
})

test('an array in files that was written before its replacement is refused afterwards', async () => {
  const folder = await folderInMemory('replaced-array')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const store = new FileStore()
  await write(store, `${folder}/x.zarr`)
  await write(store, `${folder}/y.zarr`, { dtype: 'float32' })
  const array = await opened(store, `${folder}/x.zarr/t`)
  for (const value of [1, 2]) await array.set([0], value)
  await copyTree(at(store, `${folder}/y.zarr`), at(store, `${folder}/x.zarr`), { overwrite: true })
  for (const [, change] of changes) await expect(change(array)).rejects.toMatchObject({ tag: 'ConflictError' })
  const now = await openZarr(at(store, `${folder}/x.zarr/t`), { kind: 'array' })
  expect([...(await now.toTensor()).data]).toEqual([7, 7, 7, 7])
})

test('set of an array of version 2 is refused after it was replaced', async () => {
  const store = new MemoryStore()
  const put = (key: string, content: object) => store.put(key, new TextEncoder().encode(JSON.stringify(content)))
  const metadata = { zarr_format: 2, shape: [4], chunks: [2], order: 'C', fill_value: 0, compressor: null, filters: null }
  await put('x/.zarray', { ...metadata, dtype: '<i4' })
  await put('x/.zattrs', { _ARRAY_DIMENSIONS: ['time'], units: 'K' })
  const array = await opened(store, 'x')
  await array.set([0], 5)
  await array.append('time', [8])
  expect([...(await array.toTensor()).data]).toEqual([5, 0, 0, 0, 8])
  await put('x/.zarray', { ...metadata, dtype: '>i4' })
  for (const [, change] of changes) await expect(change(array)).rejects.toMatchObject({ tag: 'ConflictError' })
  expect(await store.list('x/')).toEqual(['x/.hyperslab-append', 'x/.zarray', 'x/.zattrs', 'x/0', 'x/2'])
})

test('a writer that opened an array through outdated consolidated metadata is refused', async () => {
  const store = new MemoryStore()
  await write(store, 'x.zarr')
  await (await openZarr(at(store, 'x.zarr'), { mode: 'r+', kind: 'group' })).consolidate()
  await write(store, 'y.zarr', { dtype: 'float32' })
  // Another program does not know of consolidated metadata.
  for (const name of ['zarr.json', 'c/0', 'c/1']) await store.copy(`y.zarr/t/${name}`, `x.zarr/t/${name}`)
  const group = await openZarr(at(store, 'x.zarr'), { mode: 'r+', kind: 'group' })
  await expect((await group.array('t')).set(null, 1)).rejects.toMatchObject({ tag: 'ConflictError' })
})
