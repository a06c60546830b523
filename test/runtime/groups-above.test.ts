import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { readWhole } from '../../src/store/whole.ts'
import { asWritable } from '../../src/store/writer.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { folderInMemory } from '../support/folder.ts'

type Place = { readonly store: Store; readonly path: string }

async function temporaryFolder(): Promise<string> {
  const folder = await folderInMemory('above')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const places: [string, () => Promise<(path: string) => Place>][] = [
  [
    'memory',
    async () => {
      const store = new MemoryStore()
      return (path) => ({ store, path })
    },
  ],
  [
    'files',
    async () => {
      const [store, folder] = [new FileStore(), await temporaryFolder()]
      return (path) => ({ store, path: `${folder}/${path}` })
    },
  ],
]

/** Writes a group of arrays of one type. Their elements are the given numbers. */
async function write(place: Place, dtype: 'int32' | 'float32', values: readonly number[], names = ['t', 'other']): Promise<void> {
  const group = await createZarr(place)
  for (const name of names) {
    const options = { dtype, shape: [values.length], chunks: [2], codec: 'none', dimensionNames: ['x'] } as const
    await (await group.createArray(name, options)).set(null, [...values])
  }
}

const consolidated = async (place: Place): Promise<void> => (await openZarr(place, { mode: 'r+', kind: 'group' })).consolidate()

/** Elements of an array, as a reader of the group sees it; the tag of the error if it cannot be read. */
async function seen(place: Place, name: string): Promise<number[] | string> {
  try {
    const group = await openZarr(place, { kind: 'group' })
    return Array.from((await (await group.array(name)).toTensor()).data as Float32Array)
  } catch (error) {
    return (error as { tag: string }).tag
  }
}

async function json(store: Store, key: string): Promise<Record<string, unknown>> {
  return JSON.parse(new TextDecoder().decode((await readWhole(store, key))!.bytes))
}

async function put({ store, path }: Place, content: unknown): Promise<void> {
  await store.files?.makeFolder(path)
  await asWritable(store).put(path, new TextEncoder().encode(JSON.stringify(content)))
}

/** A group of version 2 with one array `t`, and consolidated metadata. */
async function writeV2(at: (path: string) => Place, path: string, numbers: readonly number[]): Promise<void> {
  const array = {
    zarr_format: 2,
    shape: [numbers.length],
    chunks: [2],
    dtype: '<i4',
    order: 'C',
    fill_value: 0,
    compressor: null,
    filters: null,
  }
  const documents = { '.zgroup': { zarr_format: 2 }, 't/.zarray': array, 't/.zattrs': { _ARRAY_DIMENSIONS: ['x'] } }
  for (const [name, content] of Object.entries(documents)) await put(at(`${path}/${name}`), content)
  await put(at(`${path}/.zmetadata`), { zarr_consolidated_format: 1, metadata: documents })
  const { store } = at('')
  for (let i = 0; 2 * i < numbers.length; i++)
    await asWritable(store).put(
      at(`${path}/t/${i}`).path,
      new Uint8Array(Int32Array.from(numbers.slice(2 * i, 2 * i + 2)).buffer),
    )
}

const replacements: [string, (from: Place, to: Place) => Promise<unknown>][] = [
  ['copyTree', (from, to) => copyTree(from, to, { overwrite: true })],
  ['ds.write', async (from, to) => (await openDataset(from)).write(to, { overwrite: true, format: 'zarr' })],
  [
    'exportZarr',
    async (from, to) => {
      const array = await (await openZarr(from, { kind: 'group' })).array('t')
      const arrays = ['t', 'other'].map((name) => ({ name, array, dimensionNames: ['x'], attributes: new Map() }))
      return exportZarr({ attributes: new Map(), arrays }, to, { overwrite: true })
    },
  ],
]

for (const [store, make] of places)
  test.each(replacements)(
    `a group below a consolidated group is read as the one that has replaced it: ${store}, %s`,
    async (_, replace) => {
      const at = await make()
      await write(at('x.zarr'), 'int32', [7, 7], ['u'])
      await write(at('x.zarr/g'), 'int32', [1, 2, 3, 4])
      await write(at('x.zarr/g/old'), 'int32', [5])
      await consolidated(at('x.zarr/g'))
      await consolidated(at('x.zarr'))
      await write(at('z.zarr'), 'float32', [1.5, 2.5, 3.5])
      await replace(at('z.zarr'), at('x.zarr/g'))
      expect(await seen(at('x.zarr'), 'g/t')).toEqual([1.5, 2.5, 3.5])
      expect(await seen(at('x.zarr'), 'u')).toEqual([7, 7])
      expect(await seen(at('x.zarr'), 'g/old/t')).toBe('UnknownArrayError')
      expect((await openZarr(at('x.zarr'), { kind: 'group' })).consolidated).toBe(true)
    },
  )

test.each(places)(
  'an array below consolidated groups is read as the one that has replaced it, by way of each: %s',
  async (_, make) => {
    const at = await make()
    for (const path of ['a', 'a/b', 'a/b/c']) await write(at(path), 'int32', [1, 2, 3, 4])
    for (const path of ['a/b', 'a']) await consolidated(at(path))
    await write(at('z.zarr'), 'float32', [1.5, 2.5])
    await copyTree(at('z.zarr/t'), at('a/b/c/t'), { overwrite: true })
    expect(await seen(at('a'), 'b/c/t')).toEqual([1.5, 2.5])
    expect(await seen(at('a/b'), 'c/t')).toEqual([1.5, 2.5])
    expect(await seen(at('a/b'), 'c/other')).toEqual([1, 2, 3, 4])
  },
)

test('a replacement that is killed at any operation leaves nothing wrong to readers of a group above it', async () => {
  const outcomes = new Set<string>()
  for (let point = 0; ; point++) {
    const store = new MemoryStore()
    const at = (path: string): Place => ({ store, path })
    await write(at('x.zarr'), 'int32', [1, 2])
    await consolidated(at('x.zarr'))
    await write(at('z.zarr'), 'float32', [1.5, 2.5])
    const faults = new FaultStore(store, {
      faults: ({ number }) => (number === point ? { kind: 'crash', done: point % 2 === 0 } : undefined),
    })
    const replaced = (own: Store): Promise<unknown> =>
      copyTree(at('z.zarr/t'), { store: own, path: 'x.zarr/t' }, { overwrite: true }).catch(String)
    const end = await replaced(faults)
    const found = JSON.stringify(await seen(at('x.zarr'), 't'))
    outcomes.add(found)
    expect(['[1,2]', '[1.5,2.5]', '"UnknownArrayError"']).toContain(found)
    expect(await seen(at('x.zarr'), 'other')).toEqual([1, 2])
    if (typeof end !== 'string') break
    // The same command completes it.
    await replaced(store)
    expect(await seen(at('x.zarr'), 't')).toEqual([1.5, 2.5])
  }
  expect(outcomes).toEqual(new Set(['[1,2]', '"UnknownArrayError"', '[1.5,2.5]']))
})

const additions: [string, (from: Place, to: Place) => Promise<unknown>][] = [
  ['copyTree', (from, to) => copyTree(from, to)],
  ['ds.write', async (from, to) => (await openDataset(from)).write(to, { format: 'zarr' })],
  [
    'createZarr',
    async (_, to) => {
      const group = await createZarr(to)
      await (await group.createArray('t', { dtype: 'float32', shape: [2] })).set(null, [1.5, 2.5])
    },
  ],
]

test.each(additions)('a store that is written into a consolidated group is visible there: %s', async (_, add) => {
  for (const [, make] of places) {
    const at = await make()
    await write(at('x.zarr'), 'int32', [1, 2])
    await consolidated(at('x.zarr'))
    await write(at('z.zarr'), 'float32', [1.5, 2.5], ['t'])
    await add(at('z.zarr'), at('x.zarr/g'))
    expect(await seen(at('x.zarr'), 'g/t')).toEqual([1.5, 2.5])
    expect(await (await openZarr(at('x.zarr'), { kind: 'group' })).groups()).toEqual(['g'])
  }
})

test('a store that is written to a place whose old store was removed is not read by the metadata of that store', async () => {
  const [[, make]] = places as [(typeof places)[0]]
  const at = await make()
  await write(at('x.zarr'), 'int32', [1, 2])
  await consolidated(at('x.zarr'))
  const { store } = at('')
  for (const key of await store.list!('x.zarr/t/')) await asWritable(store).delete(key)
  await write(at('z.zarr'), 'float32', [1.5, 2.5])
  await copyTree(at('z.zarr/t'), at('x.zarr/t'))
  expect(await seen(at('x.zarr'), 't')).toEqual([1.5, 2.5])
})

test.each(places)(
  'changes of an array by its own path are seen by readers of consolidated groups above it: %s',
  async (_, make) => {
    const at = await make()
    const group = await createZarr(at('w.zarr'))
    const inner = await group.createGroup('g')
    await inner.createArray('t', { dtype: 'int32', shape: [0], chunks: [2], dimensionNames: ['time'] })
    await group.consolidate()
    const array = await openZarr(at('w.zarr/g/t'), { mode: 'r+', kind: 'array' })
    await array.append('time', [1, 2, 3])
    expect(await seen(at('w.zarr'), 'g/t')).toEqual([1, 2, 3])
    await array.updateAttributes({ units: 'K' })
    await array.resize([2])
    // Metadata that were consolidated meanwhile follow, too.
    await consolidated(at('w.zarr/g'))
    await array.append('time', [9])
    const read = await (await openZarr(at('w.zarr'), { kind: 'group' })).array('g/t')
    expect([read.shape, read.attrs.get('units')]).toEqual([[3], 'K'])
    expect(await seen(at('w.zarr/g'), 't')).toEqual([1, 2, 9])
    const below = await openZarr(at('w.zarr/g'), { mode: 'r+', kind: 'group' })
    await below.createArray('u', { dtype: 'int8', shape: [1] })
    await below.updateAttributes({ title: 'inner' })
    expect(await seen(at('w.zarr'), 'g/u')).toEqual([0])
    expect((await (await openZarr(at('w.zarr'), { kind: 'group' })).group('g')).attrs.get('title')).toBe('inner')
    await below.delete('t')
    expect(await seen(at('w.zarr'), 'g/t')).toBe('UnknownArrayError')
  },
)

test('changes of an array of version 2 by its own path are seen by readers of its group', async () => {
  for (const [, make] of places) {
    const at = await make()
    await writeV2(at, 'w.zarr', [1, 2])
    const array = await openZarr(at('w.zarr/t'), { mode: 'r+', kind: 'array' })
    await array.append(0, [3])
    await array.updateAttributes({ units: 'K' })
    expect(await seen(at('w.zarr'), 't')).toEqual([1, 2, 3])
    const read = await (await openZarr(at('w.zarr'), { kind: 'group' })).array('t')
    expect(read.attrs.get('units')).toBe('K')
    expect(await json(at('').store, at('w.zarr/.zmetadata').path)).toMatchObject({ metadata: { 't/.zarray': { shape: [3] } } })
  }
})

test('an array is found in the groups above it through links, and from other spellings of its path', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  const at = (path: string): Place => ({ store, path: `${folder}/${path}` })
  await write(at('w.zarr'), 'int32', [1])
  await write(at('elsewhere'), 'int32', [1])
  await symlink(`${folder}/elsewhere`, `${folder}/w.zarr/linked`)
  await symlink(`${folder}/w.zarr`, `${folder}/alias`)
  await consolidated(at('w.zarr'))
  const appended = async (path: string): Promise<void> => {
    const array = await openZarr(at(path), { mode: 'r+', kind: 'array' })
    await array.append(0, [2])
  }
  await appended('alias/t')
  await appended('alias/./other/../t/')
  await appended('w.zarr/linked/t')
  expect(await seen(at('w.zarr'), 't')).toEqual([1, 2, 2])
  expect(await seen(at('w.zarr'), 'linked/t')).toEqual([1, 2])
})

test.each(places)('no store is made in an array: %s', async (_, make) => {
  const at = await make()
  await write(at('c.zarr'), 'int32', [1, 2])
  await writeV2(at, 'old.zarr', [1, 2])
  await write(at('z.zarr'), 'float32', [1.5])
  const { store } = at('')
  const before = (await store.list!(at('').path, { deep: true })).length
  for (const path of ['c.zarr/t/c', 'c.zarr/t/sub', 'c.zarr/t/sub/deeper/x.zarr', 'c.zarr/t/c/7/1', 'old.zarr/t/sub']) {
    const refused = { tag: 'InvalidArgumentError', message: expect.stringContaining('which is an array') }
    await expect(createZarr(at(path))).rejects.toMatchObject(refused)
    await expect(createZarr(at(path), { overwrite: true })).rejects.toMatchObject(refused)
    for (const [name, add] of [...additions, ...replacements])
      await expect(add(at('z.zarr'), at(path)), name).rejects.toMatchObject(refused)
  }
  expect((await store.list!(at('').path, { deep: true })).length).toBe(before)
})

test('a store of another version than the consolidated group is refused, before anything is written', async () => {
  const [[, make]] = places as [(typeof places)[0]]
  const at = await make()
  await writeV2(at, 'old.zarr', [1, 2])
  await write(at('new.zarr'), 'int32', [3, 4])
  await consolidated(at('new.zarr'))
  const { store } = at('')
  const before = await store.list!('')
  const refused = { tag: 'UnsupportedError', message: expect.stringContaining('consolidated metadata of Zarr version') }
  await expect(copyTree(at('new.zarr/t'), at('old.zarr/t'), { overwrite: true })).rejects.toMatchObject(refused)
  await expect(copyTree(at('old.zarr/t'), at('new.zarr/t'), { overwrite: true })).rejects.toMatchObject(refused)
  await expect(createZarr(at('old.zarr/g'))).rejects.toMatchObject(refused)
  expect(await store.list!('')).toEqual(before)
  expect([await seen(at('old.zarr'), 't'), await seen(at('new.zarr'), 't')]).toEqual([
    [1, 2],
    [3, 4],
  ])
})

test('files of other programs above a place, and folders that may not be read, are ignored', async () => {
  const folder = await temporaryFolder()
  await mkdir(`${folder}/zarr.json`)
  await mkdir(`${folder}/a`)
  await writeFile(`${folder}/a/zarr.json`, 'no JSON')
  const group = await createZarr(`${folder}/a/x.zarr`)
  await group.createArray('t', { dtype: 'int8', shape: [1] })
  expect(await group.arrays()).toEqual(['t'])
  class Denied extends MemoryStore {
    override async get(key: string, ...rest: Parameters<MemoryStore['get']> extends [string, ...infer R] ? R : never) {
      if (!key.startsWith('mine/x.zarr/')) {
        const { HyperslabError } = await import('../../src/core/errors.ts')
        throw new HyperslabError('StoreError', 'the server answered 403', { file: key, actual: 403 })
      }
      return super.get(key, ...rest)
    }
  }
  const denied = await createZarr({ store: new Denied(), path: 'mine/x.zarr' })
  await denied.createArray('t', { dtype: 'int8', shape: [1] })
  expect(await denied.arrays()).toEqual(['t'])
})
