import { describe, expect, test } from 'vitest'
import { HyperslabError } from '../../../src/core/errors.ts'
import { MemoryStore } from '../../../src/runtime/index.ts'
import { verifyZarr } from '../../../src/runtime/zarr.ts'
import type { Store } from '../../../src/store/store.ts'
import { AskedStore, writeInt32 } from './handmade.ts'

const SHAPE = [10, 9]
const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const at = (store: Store, path = 'x') => ({ store, path })

/** A store with the array `x`. */
async function stored(options: Partial<Parameters<typeof writeInt32>[2]> = {}): Promise<MemoryStore> {
  const store = new MemoryStore()
  await writeInt32(store, 'x', { shape: SHAPE, chunks: [4, 3], ...options })
  return store
}

const nothing = { ok: true, findings: [], omitted: 0 }
const error = (file: string, text: string | RegExp, more: object = {}) => ({
  ...{ severity: 'error', file: `memory:${file}`, array: '', text: expect.stringMatching(text) },
  ...more,
})

describe('chunks', () => {
  test('are counted, and those that nobody wrote', async () => {
    const checked = { groups: 0, arrays: 1, chunks: 7, missingChunks: 2, chunksWithoutChecksum: 7, bytes: 7 * 48 }
    const progress: unknown[] = []
    const store = await stored({ gone: ['0,1', '2,2'] })
    expect(await verifyZarr(at(store), { onProgress: (now) => progress.push(now) })).toEqual({ ...nothing, checked })
    expect(progress).toEqual(Array.from({ length: 9 }, (_, i) => ({ done: i + 1, total: 9 })))
  })

  test('are named where they do not decode, and the others looked at all the same', async () => {
    const store = await stored()
    await store.put('x/c/1/2', new Uint8Array(47))
    await store.put('x/c/2/0', new Uint8Array(0))
    expect(await verifyZarr(at(store))).toMatchObject({
      ok: false,
      findings: [
        error('x/c/1/2', '47', { chunk: [1, 2] }),
        error('x/c/2/0', 'the chunk is an object without bytes', { chunk: [2, 0] }),
      ],
      checked: { chunks: 8 },
    })
  })

  test('of strings have to be UTF-8', async () => {
    const store = new MemoryStore()
    const metadata = {
      ...{ zarr_format: 3, node_type: 'array', shape: [2], data_type: 'string', fill_value: '', codecs: ['vlen-utf8'] },
      ...{ chunk_grid: { name: 'regular', configuration: { chunk_shape: [1] } }, chunk_key_encoding: { name: 'default' } },
    }
    await store.put('x/zarr.json', json(metadata))
    await store.put('x/c/0', Uint8Array.of(1, 0, 0, 0, 1, 0, 0, 0, 65))
    await store.put('x/c/1', Uint8Array.of(1, 0, 0, 0, 1, 0, 0, 0, 255))
    expect((await verifyZarr(at(store))).findings).toEqual([error('x/c/1', 'UTF-8', { chunk: [1] })])
  })

  test('are read once, and few at a time', async () => {
    const { store, asked, inner } = new AskedStore()
    await writeInt32(inner, 'x', { shape: [4000], chunks: [10] })
    let [now, most] = [0, 0]
    const get: Store['get'] = async (key, options) => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setTimeout(resolve))
      now--
      return store.get!(key, options)
    }
    expect(await verifyZarr(at({ ...store, get }))).toMatchObject({ ok: true, checked: { chunks: 400 } })
    expect(asked.filter((each) => each.startsWith('get x/c/'))).toHaveLength(400)
    expect(new Set(asked).size).toBe(asked.length)
    expect(most).toBeLessThanOrEqual(32)
  })
})

describe.each([false, true])('shards with their index at the start: %s', (indexAtStart) => {
  const shards = { chunks: [2, 3], shards: [4, 9], indexAtStart }

  test('are read in parts, each index once', async () => {
    const { store, asked, inner } = new AskedStore()
    await writeInt32(inner, 'x', { shape: SHAPE, ...shards, gone: ['0,1', '4,0', '4,1', '4,2'] })
    const result = await verifyZarr(at(store))
    expect(result).toMatchObject({ ...nothing, checked: { chunks: 11, missingChunks: 4, bytes: 11 * 24 } })
    expect(asked.filter((each) => /tail|stat x\/c/.test(each))).toHaveLength(3)
  })

  test('are named once where their index is damaged', async () => {
    const store = await stored(shards)
    const { size } = (await store.stat('x/c/1/0'))!
    const bytes = (await store.getRange('x/c/1/0', 0, size))!.slice()
    bytes[indexAtStart ? 3 : size - 97]! ^= 1
    await store.put('x/c/1/0', bytes)
    expect(await verifyZarr(at(store))).toMatchObject({
      findings: [error('x/c/1/0', 'crc32c')],
      checked: { chunks: 9, missingChunks: 0 },
    })
  })
})

test('objects that are no chunks are warned of', async () => {
  const store = await stored()
  for (const name of ['c/3/0', 'c/0', 'notes.txt', 'c/0/1.old', 'zarr.json.bak']) await store.put(`x/${name}`, new Uint8Array(1))
  const { ok, findings } = await verifyZarr(at(store))
  expect(ok).toBe(true)
  expect(findings.map(({ severity, file, text }) => [severity, file, text]).sort()).toEqual([
    ['warning', 'memory:x/c/0/1.old', 'nothing of the array is called so'],
    ['warning', 'memory:x/c/3/0', 'chunk [3, 0] lies beyond the grid of [3, 3]'],
    ['warning', 'memory:x/notes.txt', 'nothing of the array is called so'],
    ['warning', 'memory:x/zarr.json.bak', 'nothing of the array is called so'],
  ])
})

describe('groups', () => {
  const group = async (): Promise<MemoryStore> => {
    const store = await stored()
    await store.put('zarr.json', json({ zarr_format: 3, node_type: 'group' }))
    await store.put('sub/zarr.json', json({ zarr_format: 3, node_type: 'group' }))
    await writeInt32(store, 'sub/y', { shape: [5], chunks: [2], gone: ['1'] })
    return store
  }

  test('are looked through with all that is in them', async () => {
    const checked = { groups: 2, arrays: 2, chunks: 11, missingChunks: 1, chunksWithoutChecksum: 11, bytes: 9 * 48 + 16 }
    expect(await verifyZarr(at(await group(), ''))).toEqual({ ...nothing, checked })
  })

  test('tell what cannot be read', async () => {
    const store = await group()
    await store.put('sub/z/zarr.json', json({ zarr_format: 3, node_type: 'array', shape: [-1] }))
    await store.put('sub/y/c/2', new Uint8Array(3))
    expect(await verifyZarr(at(store, ''))).toMatchObject({
      ok: false,
      findings: [
        { severity: 'error', array: 'sub/z', text: expect.stringMatching(/^each length of shape must be an integer from 0/) },
        error('sub/y/c/2', '3', { array: 'sub/y', chunk: [2] }),
      ],
    })
  })

  test('that do not open are a finding; where there is nothing, or nobody can tell what, is an error', async () => {
    const store = await group()
    await store.put('zarr.json', new TextEncoder().encode('{'))
    expect(await verifyZarr(at(store, ''))).toMatchObject({ ok: false, findings: [{ severity: 'error', text: /JSON/ }] })
    await expect(verifyZarr(at(new MemoryStore()))).rejects.toMatchObject({ tag: 'NotFoundError' })
    const blind = new AskedStore({ lists: false })
    await blind.inner.put('zarr.json', json({ zarr_format: 3, node_type: 'group' }))
    await expect(verifyZarr(at(blind.store, ''))).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })
})

describe('consolidated metadata', () => {
  const array = (changes: object = {}): object => ({
    ...{
      zarr_format: 3,
      node_type: 'array',
      shape: [2],
      data_type: 'int8',
      fill_value: 0,
      codecs: ['bytes'],
      attributes: { b: 1, a: [2] },
    },
    ...{ chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } }, chunk_key_encoding: { name: 'default' } },
    ...changes,
  })
  const v3 = async (consolidated: Record<string, object>, own: Record<string, object>): Promise<MemoryStore> => {
    const store = new MemoryStore()
    const inline = { kind: 'inline', must_understand: false, metadata: consolidated }
    await store.put('zarr.json', json({ zarr_format: 3, node_type: 'group', consolidated_metadata: inline }))
    for (const [path, metadata] of Object.entries(own)) await store.put(`${path}/zarr.json`, json(metadata))
    return store
  }
  const found = async (store: Store): Promise<[string, string | undefined, string][]> =>
    (await verifyZarr(at(store, ''))).findings.map(({ severity, array, text }) => [severity, array, text])

  test('that are those of each node are right, in whatever order their members are', async () => {
    const { attributes: _, ...rest } = array() as { attributes: object }
    const store = await v3(
      { x: array(), g: { zarr_format: 3, node_type: 'group' } },
      { g: { zarr_format: 3, node_type: 'group' }, x: { ...rest, attributes: { a: [2], b: 1 } } },
    )
    expect(await found(store)).toEqual([])
  })

  test.each([
    ['shape', { shape: [3] }],
    ['data type', { data_type: 'uint8' }],
    ['chunk shape', { chunk_grid: { name: 'regular', configuration: { chunk_shape: [1] } } }],
    ['codecs', { codecs: ['bytes', { name: 'gzip', configuration: { level: 1 } }] }],
    ['fill value', { fill_value: 1 }],
    ['key of chunks', { chunk_key_encoding: { name: 'v2' } }],
    ['names of dimensions', { dimension_names: ['x'] }],
    ['attributes', { attributes: { a: [2] } }],
  ])('of another %s are an error', async (name, changes) => {
    const store = await v3({ x: array() }, { x: array(changes) })
    expect(await found(store)).toEqual([['error', 'x', `the consolidated metadata differ from its own: ${name}`]])
  })

  test('of what is not there, or cannot be read, are an error, and what they lack is a warning', async () => {
    const store = await v3({ gone: array(), broken: array() }, { broken: array({ shape: [-1] }), more: array() })
    expect(await found(store)).toEqual([
      ['error', 'broken', expect.stringMatching(/^it is among the consolidated metadata, but its own cannot be read: .*shape/)],
      ['error', 'gone', 'it is among the consolidated metadata, but there are no metadata of its own'],
      ['warning', 'more', 'it is not among the consolidated metadata: who reads these does not see it'],
    ])
  })

  test('are compared where the store cannot list, too, as far as they have names', async () => {
    const inner = await v3({ x: array() }, { x: array({ shape: [5] }), more: array() })
    const { list: _, ...blind } = {
      get: inner.get.bind(inner),
      stat: inner.stat.bind(inner),
      getRange: inner.getRange.bind(inner),
      describe: inner.describe.bind(inner),
      list: undefined,
    }
    expect(await found(blind)).toEqual([['error', 'x', `the consolidated metadata differ from its own: shape`]])
  })

  test('of version 2 are compared, but for groups that have none', async () => {
    const store = new MemoryStore()
    const zarray = {
      zarr_format: 2,
      shape: [2],
      chunks: [2],
      dtype: '|i1',
      compressor: null,
      fill_value: 0,
      order: 'C',
      filters: null,
    }
    const metadata = { '.zgroup': { zarr_format: 2 }, 'sub/x/.zarray': zarray, 'sub/x/.zattrs': { units: 'K' } }
    await store.put('.zmetadata', json({ zarr_consolidated_format: 1, metadata }))
    await store.put('.zgroup', json({ zarr_format: 2 }))
    await store.put('sub/x/.zarray', json(zarray))
    expect(await found(store)).toEqual([['error', 'sub/x', `the consolidated metadata differ from its own: attributes`]])
    await store.put('sub/x/.zattrs', json({ units: 'K' }))
    expect(await found(store)).toEqual([])
  })
})

test('errors of the store, and an abort, are thrown', async () => {
  const { store, inner } = new AskedStore()
  await writeInt32(inner, 'x', { shape: SHAPE, chunks: [4, 3] })
  const get: Store['get'] = async (key, options) => {
    if (key === 'x/c/1/1') throw new HyperslabError('StoreError', 'the server answered 500')
    return store.get!(key, options)
  }
  await expect(verifyZarr(at({ ...store, get }))).rejects.toMatchObject({ tag: 'StoreError' })
  const abort = new AbortController()
  const onProgress = ({ done }: { done: number }): void => {
    if (done === 4) abort.abort(new Error('enough'))
  }
  await expect(verifyZarr(at(store), { signal: abort.signal, onProgress })).rejects.toThrow('enough')
})
