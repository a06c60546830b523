import { mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { replacingDocument } from '../../src/adapters/zarr/replacing.ts'
import { encodeDocument } from '../../src/adapters/zarr/write/document.ts'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { Owner } from '../../src/copy/replace/owner.ts'
import { arrayAsStored } from '../../src/copy/stored-arrays.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { broadcast, concat, create, open } from '../../src/runtime/index.ts'
import { createZarr, importZarr, openZarr } from '../../src/runtime/zarr.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { readWhole } from '../../src/store/whole.ts'
import { asWritable } from '../../src/store/writer.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { folderInMemory } from '../support/folder.ts'

async function temporaryFolder(): Promise<string> {
  const folder = await folderInMemory('replace')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A group of two arrays, every element of which is one number. */
async function zarrOf(store: Store, path: string, value: number, length = 4): Promise<void> {
  const group = await createZarr({ store, path }, { attributes: { value } })
  for (const name of ['a', 'sub/b']) {
    const array = await group.createArray(name, { dtype: 'int32', shape: [length], chunks: [2], codec: 'none' })
    await array.set(null, new Int32Array(length).fill(value))
  }
}

/** A group like that of version 2, which has no object named `zarr.json`. */
async function zarr2Of(store: Store, path: string, value: number, length = 4): Promise<void> {
  const put = (name: string, json: unknown): Promise<unknown> =>
    asWritable(store).put(`${path}/${name}`, new TextEncoder().encode(JSON.stringify(json)))
  for (const group of ['', 'sub/']) await put(`${group}.zgroup`, { zarr_format: 2 })
  await put('.zattrs', { value })
  for (const name of ['a', 'sub/b']) {
    const array = { shape: [length], chunks: [2], dtype: '<i4', order: 'C', fill_value: 0, compressor: null, filters: null }
    await put(`${name}/.zarray`, { zarr_format: 2, ...array })
    for (let i = 0; 2 * i < length; i++)
      await asWritable(store).put(`${path}/${name}/${i}`, new Uint8Array(new Int32Array(2).fill(value).buffer))
  }
}

/** The number that a store was made of; undefined for a place that is refused. */
async function numberIn(store: Store, path: string): Promise<number | undefined> {
  const group = await openZarr({ store, path }, { kind: 'group' }).catch((error: { tag: string; message: string }) => {
    expect([error.tag, error.message]).toEqual(['ConflictError', expect.stringContaining('run the same command once more')])
  })
  if (group === undefined) return undefined
  const value = group.attrs.get('value') as number
  for (const name of ['a', 'sub/b']) {
    const { data } = (await (await group.array(name)).get()) as { data: Int32Array }
    expect([...data]).toEqual(new Array(data.length).fill(value))
  }
  return value
}

const places: [string, () => Promise<{ store: Store; root: string }>][] = [
  ['memory', async () => ({ store: new MemoryStore(), root: '' })],
  ['files', async () => ({ store: new FileStore(), root: `${await temporaryFolder()}/` })],
]

test.each(places)(
  'a replacement that is killed at any operation leaves the old store, the new one, or a refused place: %s',
  async (_, make) => {
    const seen = new Set<unknown>()
    for (let point = 0; ; point++) {
      const { store, root } = await make()
      await zarrOf(store, `${root}in.zarr`, 2, 3)
      await zarrOf(store, `${root}out.zarr`, 1, 6)
      const faults = new FaultStore(store, {
        faults: ({ number }) => (number === point ? { kind: 'crash', done: point % 2 === 0 } : undefined),
      })
      const from = { store, path: `${root}in.zarr` }
      const end = await copyTree(from, { store: faults, path: `${root}out.zarr` }, { overwrite: true }).catch(String)
      const value = await numberIn(store, `${root}out.zarr`)
      seen.add(value)
      if (typeof end !== 'string') expect(value).toBe(2)
      await copyTree(from, { store, path: `${root}out.zarr` }, { overwrite: true })
      expect(await numberIn(store, `${root}out.zarr`)).toBe(2)
      const keys = (await store.list!(`${root}out.zarr/`, { deep: true }))
        .map((key) => key.slice(`${root}out.zarr/`.length))
        .sort()
      expect(keys).toEqual([
        'a/c/0',
        'a/c/1',
        'a/zarr.json',
        'sub/b/c/0',
        'sub/b/c/1',
        'sub/b/zarr.json',
        'sub/zarr.json',
        'zarr.json',
      ])
      if (typeof end !== 'string') break
    }
    expect([...seen].sort()).toEqual([1, 2, undefined])
  },
  300_000,
)

test('at most one of two processes that replace one place succeeds, and their stores do not mix', async () => {
  for (let round = 0; round < 20; round++) {
    const store = new MemoryStore()
    await zarrOf(store, 'x.zarr', 1)
    await zarrOf(store, 'y.zarr', 2)
    await zarrOf(store, 'out.zarr', 3)
    const delayed = new FaultStore(store, { faults: () => (Math.random() < 0.3 ? { kind: 'delay', ms: 1 } : undefined) })
    const ends = await Promise.allSettled(
      ['x.zarr', 'y.zarr'].map((path) => copyTree({ store, path }, { store: delayed, path: 'out.zarr' }, { overwrite: true })),
    )
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toMatchObject({ tag: 'ConflictError' })
    const done = ends.map(({ status }) => status === 'fulfilled')
    expect(done.filter(Boolean).length).toBeLessThanOrEqual(1)
    if (done.includes(true)) expect(await numberIn(store, 'out.zarr')).toBe(done[0] ? 1 : 2)
  }
})

test('writers that lose a place are told so, however it looks meanwhile, and when its folder goes', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  await zarrOf(store, `${folder}/in.zarr`, 1)
  await zarrOf(store, `${folder}/out.zarr`, 2)
  const workspace = `${folder}/out.zarr/.hyperslab-next/`
  const write = (): Promise<unknown> => copyTree(`${folder}/in.zarr`, `${folder}/out.zarr`, { overwrite: true })
  const owner = await Owner.take(store, `${workspace}owner.json`, undefined, undefined)
  const root = await readFile(`${folder}/out.zarr/zarr.json`)
  await writeFile(`${folder}/out.zarr/zarr.json`, 'half')
  await expect(write()).rejects.toMatchObject({ tag: 'ConflictError', message: expect.stringContaining('owner.json') })
  await owner.release(false)
  await expect(write()).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
  await writeFile(`${folder}/out.zarr/zarr.json`, root)
  // An owner that ends removes the folder in which the next one is about to claim the place.
  const { stage } = FileStore.prototype
  const gone = vi.spyOn(FileStore.prototype, 'stage').mockImplementationOnce(async function (this: FileStore, key) {
    expect(key).toContain('owner.json')
    await rm(workspace, { recursive: true })
    return stage.call(this, key)
  })
  onTestFinished(() => gone.mockRestore())
  await write()
  expect(gone.mock.calls.length).toBeGreaterThan(1)
  expect(await numberIn(store, `${folder}/out.zarr`)).toBe(1)
})

test('a target that is the source, lies in it or contains it is refused, by any name', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  await zarrOf(store, `${folder}/x.zarr`, 1)
  await symlink(`${folder}/x.zarr`, `${folder}/link.zarr`)
  const before = (await store.list(`${folder}/`, { deep: true })).sort()
  for (const [from, to] of [
    ['x.zarr', 'x.zarr'],
    ['x.zarr', './x.zarr/'],
    ['x.zarr', 'link.zarr'],
    ['link.zarr', 'x.zarr'],
    ['x.zarr', 'x.zarr/sub'],
    ['x.zarr', 'x.zarr/new.zarr'],
    ['x.zarr/sub', 'x.zarr'],
    ['link.zarr/sub', 'x.zarr'],
  ] as const)
    await expect(copyTree(`${folder}/${from}`, `${folder}/${to}`, { overwrite: true }), `${from} ${to}`).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringContaining('the same place'),
    })
  expect((await store.list(`${folder}/`, { deep: true })).sort()).toEqual(before)
  expect(await numberIn(store, `${folder}/x.zarr`)).toBe(1)
})

test('a place that references point into is not replaced while they are read', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  await zarrOf(store, `${folder}/x.zarr`, 1)
  const keys = await store.list(`${folder}/x.zarr/`, { deep: true })
  const refs = keys.map((key): [string, unknown[]] => [key.slice(`${folder}/x.zarr/`.length), [key.slice(folder.length + 1)]])
  await writeFile(`${folder}/refs.json`, JSON.stringify({ version: 1, refs: Object.fromEntries(refs) }))
  const same = { tag: 'InvalidArgumentError', message: expect.stringContaining('the same place') }
  const [from, to] = [`${folder}/refs.json`, `${folder}/x.zarr`]
  {
    await using ds = await openDataset(from, { group: '/' })
    await expect(ds.write(to, { overwrite: true })).rejects.toMatchObject(same)
  }
  const container = `${folder}/x.af`
  await (await create({ store, path: container })).close()
  const last = refs.findIndex(([key]) => /\/c\//.test(key))
  refs[last] = [refs[last]![0], ['x.af', 0, 4]]
  await writeFile(from, JSON.stringify({ version: 1, refs: Object.fromEntries(refs) }))
  await expect(importZarr(from, container, { overwrite: true })).rejects.toMatchObject(same)
  expect(await store.list(`${folder}/x.zarr/`, { deep: true })).toEqual(keys)
  expect(await numberIn(store, to)).toBe(1)
})

/** A bucket under another name. */
function alias(store: MemoryStore, prefix = ''): Store {
  const at = (key: string): string => prefix + key
  return {
    describe: (key) => `alias:${key}`,
    stat: (key) => store.stat(at(key)),
    getRange: (key, ...rest) => store.getRange(at(key), ...rest),
    list: async (key) => (await store.list(at(key))).map((each) => each.slice(prefix.length)),
  }
}

test('a bucket under another name is known by a marker', async () => {
  for (const [from, to] of [
    ['x.zarr', 'x.zarr'],
    ['x.zarr', 'x.zarr/sub'],
    ['x.zarr/sub', 'x.zarr'],
  ] as const)
    for (const canList of [true, false]) {
      const store = new MemoryStore()
      await zarrOf(store, 'x.zarr', 1)
      const { list, ...blind } = alias(store)
      if (!canList && to !== 'x.zarr') continue
      const source = canList ? { ...blind, list: list! } : blind
      await expect(
        copyTree({ store: source, path: from }, { store, path: to }, { overwrite: true }),
        `${from} ${to}`,
      ).rejects.toMatchObject({ tag: /InvalidArgumentError|UnsupportedError/ })
      expect(await numberIn(store, 'x.zarr')).toBe(1)
      expect((await store.list('')).filter((key) => /hyperslab|tmp/.test(key))).toEqual([])
    }
})

test('folders with any other content are left unchanged', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  await zarrOf(store, `${folder}/x.zarr`, 1)
  await mkdir(`${folder}/data/inner`, { recursive: true })
  await writeFile(`${folder}/data/inner/notes.txt`, 'mine')
  const refused = { tag: 'AlreadyExistsError', message: expect.stringContaining('holds something else') }
  await expect(copyTree(`${folder}/x.zarr`, `${folder}/data/`, { overwrite: true })).rejects.toMatchObject(refused)
  await expect(createZarr(`${folder}/data`, { overwrite: true })).rejects.toMatchObject(refused)
  await zarrOf(store, `${folder}/old.zarr`, 2)
  for (const name of ['notes.txt', 'a/0', 'c/0', 'a/c/00']) {
    await mkdir(join(`${folder}/old.zarr`, name, '..'), { recursive: true })
    await writeFile(join(`${folder}/old.zarr`, name), 'mine')
    await expect(copyTree(`${folder}/x.zarr`, `${folder}/old.zarr`, { overwrite: true }), name).rejects.toMatchObject(refused)
    expect(await readFile(join(`${folder}/old.zarr`, name), 'utf8')).toBe('mine')
    await rm(join(`${folder}/old.zarr`, name))
  }
  expect(await numberIn(store, `${folder}/old.zarr`)).toBe(2)
  expect(await readFile(`${folder}/data/inner/notes.txt`, 'utf8')).toBe('mine')
  await copyTree(`${folder}/x.zarr`, `${folder}/old.zarr`, { overwrite: true })
  expect(await numberIn(store, `${folder}/old.zarr`)).toBe(1)
})

test('a store that replaces nothing on condition is not overwritten', async () => {
  const store = new (class extends MemoryStore {
    override async conditionalWrites() {
      return { replace: false, remove: false, reason: 'it cannot' }
    }
  })()
  await zarrOf(store, 'x.zarr', 1)
  await zarrOf(store, 'out.zarr', 2)
  const refused = { tag: 'UnsupportedError', message: expect.stringContaining('it cannot') }
  await expect(copyTree({ store, path: 'x.zarr' }, { store, path: 'out.zarr' }, { overwrite: true })).rejects.toMatchObject(
    refused,
  )
  expect(await numberIn(store, 'out.zarr')).toBe(2)
})

test('a chunk that is gone while it is copied is an error, and keeps the old store', async () => {
  const store = new MemoryStore()
  await zarrOf(store, 'x.zarr', 1)
  await zarrOf(store, 'out.zarr', 2)
  const losing = new FaultStore(store, {
    faults: async ({ kind, key }) => {
      if (kind === 'whole' && key.endsWith('/b/c/0')) await store.delete(key)
      return undefined
    },
  })
  await expect(
    copyTree({ store: losing, path: 'x.zarr' }, { store, path: 'out.zarr' }, { overwrite: true }),
  ).rejects.toMatchObject({ tag: 'ConflictError' })
  expect(await numberIn(store, 'out.zarr')).toBe(2)
})

test('an export that is killed at any operation leaves the old, the new or a place that is refused', async () => {
  const array = async (value: number) => {
    const store = new MemoryStore()
    await zarrOf(store, 'x.zarr', value)
    const group = await openZarr({ store, path: 'x.zarr' }, { kind: 'group' })
    const arrays = await Promise.all(
      ['a', 'sub/b'].map(async (name) => ({
        name,
        array: await group.array(name),
        dimensionNames: ['x'],
        attributes: new Map(),
      })),
    )
    return { attributes: new Map([['value', value]]), arrays }
  }
  for (const resume of [undefined, 'one'])
    for (let point = 0; ; point++) {
      const store = new MemoryStore()
      await exportZarr(await array(1), { store, path: 'out.zarr' }, { resume: 'old' })
      const faults = new FaultStore(store, {
        faults: ({ number }) => (number === point ? { kind: 'crash', done: point % 2 === 0 } : undefined),
      })
      const options = { overwrite: true, resume }
      const end = await exportZarr(await array(2), { store: faults, path: 'out.zarr' }, options).catch(String)
      const value = await numberIn(store, 'out.zarr')
      if (typeof end !== 'string') expect(value).toBe(2)
      await exportZarr(await array(2), { store, path: 'out.zarr' }, options)
      expect(await numberIn(store, 'out.zarr')).toBe(2)
      expect((await store.list('')).filter((key) => key.includes('hyperslab-next'))).toEqual([])
      if (typeof end !== 'string') break
    }
}, 300_000)

test('a container with its sidecars is replaced as one', async () => {
  const containerOf = async (store: Store, path: string, values: number[]): Promise<void> => {
    const file = await create({ store, path })
    const array = file.createArray('a', { dtype: 'int32', shape: [4], chunks: [1] })
    for (const value of values) {
      await array.set(null, new Int32Array(4).fill(value))
      await file.flush()
    }
    await file.close()
  }
  const valueIn = async (store: Store): Promise<number | undefined> => {
    try {
      await using file = await open({ store, path: 'out.af' })
      return (await file.array('a').get([0])) as number
    } catch (error) {
      expect(error).toMatchObject({ tag: 'ConflictError' })
      return undefined
    }
  }
  const seen = new Set<unknown>()
  for (let point = 0; ; point++) {
    const store = new MemoryStore()
    await containerOf(store, 'in.af', [5, 6, 7])
    await containerOf(store, 'out.af', [1, 2])
    const faults = new FaultStore(store, {
      faults: ({ number }) => (number === point ? { kind: 'crash', done: point % 2 === 0 } : undefined),
    })
    const from = { store, path: 'in.af' }
    const end = await copyTree(from, { store: faults, path: 'out.af' }, { overwrite: true }).catch(String)
    const value = await valueIn(store)
    expect([2, 7, undefined]).toContain(value)
    seen.add(value)
    await copyTree(from, { store, path: 'out.af' }, { overwrite: true })
    expect(await valueIn(store)).toBe(7)
    if (typeof end !== 'string') break
  }
  expect(seen.size).toBe(3)
}, 300_000)

test('a container is not written over itself, nor over one that was changed meanwhile', async () => {
  const folder = await temporaryFolder()
  const write = async (name: string, value: number): Promise<void> => {
    await using file = await create(`${folder}/${name}.af`, { overwrite: true })
    await file.createArray('a', { dtype: 'int32', shape: [4], dimensionNames: ['x'] }).set(null, new Int32Array(4).fill(value))
    await file.flush()
  }
  const valueIn = async (name: string): Promise<unknown> => {
    await using file = await open(`${folder}/${name}.af`)
    return await file.array('a').get([0])
  }
  await write('in', 1)
  await write('out', 2)
  await symlink(`${folder}/in.af`, `${folder}/link.af`)
  {
    await using ds = await openDataset(`${folder}/in.af`)
    for (const name of ['in', 'link'])
      await expect(ds.write(`${folder}/${name}.af`, { overwrite: true }), name).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringContaining('the same place'),
      })
  }
  expect(await valueIn('in')).toBe(1)
  const store = new FileStore()
  let isChanged = false
  const changing = new FaultStore(store, {
    faults: async ({ kind, key }) => {
      // The copy is in a file beside the container by then.
      if (isChanged || kind !== 'publish' || key.endsWith('/out.af')) return undefined
      isChanged = true
      await write('out', 3)
      return undefined
    },
  })
  await using ds = await openDataset(`${folder}/in.af`)
  await expect(ds.write({ store: changing, path: `${folder}/out.af` }, { overwrite: true })).rejects.toMatchObject({
    tag: 'ConflictError',
    message: expect.stringContaining('meanwhile'),
  })
  expect(isChanged).toBe(true)
  expect(await valueIn('out')).toBe(3)
})

test('a store to which rows are appended while it is copied is not published with fill in their place', async () => {
  const store = new MemoryStore()
  await zarrOf(store, 'in.zarr', 1, 2)
  for (const overwrite of [false, true]) {
    let isAppended = false
    const grown = new FaultStore(store, { faults: () => undefined })
    const original = grown.get?.bind(grown)
    grown.get = async (key, options) => {
      if (!isAppended && key.endsWith('a/c/0')) {
        isAppended = true
        await (await openZarr({ store, path: 'in.zarr/a' }, { kind: 'array', mode: 'r+' })).append(0, [1, 1])
      }
      return original!(key, options)
    }
    const copied = copyTree({ store: grown, path: 'in.zarr' }, { store, path: `out-${overwrite}.zarr` }, { overwrite })
    await expect(copied).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(isAppended).toBe(true)
    expect((await store.list('')).filter((key) => key === `out-${overwrite}.zarr/zarr.json`)).toEqual([])
  }
})

test('files that have the names of sidecars, and are none, are not replaced with a container', async () => {
  const store = new MemoryStore()
  const file = async (path: string): Promise<void> => {
    await using made = await create({ store, path })
    await made.createArray('x', { dtype: 'int8', shape: [2] }).set(null, [1, 2])
    await made.flush()
  }
  await file('y.af')
  await file('other.af')
  const strangers: [string, Uint8Array][] = [
    ['run.1.af', (await store.get('other.af'))!.bytes],
    ['run.2.af', new TextEncoder().encode('notes')],
    ['run.stats', new TextEncoder().encode('statistics of another program')],
  ]
  for (const [name, bytes] of strangers) {
    await store.put(name, bytes)
    const copied = copyTree({ store, path: 'y.af' }, { store, path: 'run.af' }, { overwrite: true })
    await expect(copied, name).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect((await store.get(name))?.bytes).toEqual(bytes)
    await store.delete(name)
  }
})

test('a failed export removes what it wrote, and nothing that others have put beside it', async () => {
  const store = new MemoryStore()
  await zarrOf(store, 'in.zarr', 1, 6)
  const source = await (await openZarr({ store, path: 'in.zarr' }, { kind: 'group' })).array('a')
  const arrays = [{ name: 'a', array: source, dimensionNames: ['x'], attributes: new Map() }]
  const failing = exportZarr(
    { attributes: new Map(), arrays: arrays as never },
    { store, path: 'out' },
    {
      onProgress: () => {
        void store.put('out/notes.txt', new Uint8Array([1]))
        throw new Error('stopped')
      },
    },
  )
  await expect(failing).rejects.toThrow('stopped')
  expect((await store.list('out/')).filter((key) => !key.includes('.hyperslab-'))).toEqual(['out/notes.txt'])
})

test('empty folders and temporary files do not keep a store from taking its place', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  await zarrOf(store, `${folder}/in.zarr`, 2, 3)
  await zarrOf(store, `${folder}/out.zarr`, 1, 6)
  await rm(`${folder}/out.zarr/sub`, { recursive: true })
  await mkdir(`${folder}/out.zarr/sub/b/c`, { recursive: true })
  await writeFile(`${folder}/out.zarr/a/c/0.123-0123456789abcdef01234567.tmp`, 'x')
  for (let times = 0; times < 2; times++) {
    await copyTree(`${folder}/in.zarr`, `${folder}/out.zarr`, { overwrite: true })
    expect(await numberIn(store, `${folder}/out.zarr`)).toBe(2)
  }
})

/** Lets time pass, for which an owner does not renew its claim, and puts a running process in its place. */
async function loseClaim(store: Store, workspace: string): Promise<boolean> {
  const found = await readWhole(store, `${workspace}owner.json`, { maxBytes: 65_536 })
  if (found === undefined) return false
  vi.setSystemTime(Date.now() + 60_000)
  const claim = { ...JSON.parse(new TextDecoder().decode(found.bytes)), pid: process.ppid, instance: 'another' }
  await asWritable(store).put(`${workspace}owner.json`, new TextEncoder().encode(JSON.stringify(claim)))
  return true
}

test.each(places)(
  'an owner that is paused until another has taken over the place changes nothing afterwards: %s',
  async (name, make) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    let taken = 0
    // Files are slow. Every fifth operation of a run is a sample, from another one on each time.
    const step = name === 'files' ? 5 : 1
    for (let point = Math.floor(Math.random() * step), isOver = false; !isOver; point += step) {
      const { store, root } = await make()
      await zarrOf(store, `${root}second.zarr`, 2, 3)
      await zarrOf(store, `${root}third.zarr`, 3, 5)
      await zarrOf(store, `${root}out.zarr`, 1, 6)
      const replaceBy = (name: string, to: Store) =>
        copyTree({ store, path: `${root}${name}.zarr` }, { store: to, path: `${root}out.zarr` }, { overwrite: true })
      let after: unknown
      const standing = new FaultStore(store, {
        faults: async ({ number }) => {
          if (number !== point || !(await loseClaim(store, `${root}out.zarr/.hyperslab-next/`))) return undefined
          taken++
          await replaceBy('third', store)
          after = await numberIn(store, `${root}out.zarr`)
          return undefined
        },
      })
      const end = await replaceBy('second', standing).catch((error: { tag: string }) => error.tag)
      isOver = standing.log.length <= point
      if (after !== undefined) {
        expect(after).toBe(3)
        expect(end, standing.log.at(point)).not.toBeUndefined()
        expect(await numberIn(store, `${root}out.zarr`), `${point} ${standing.log.at(point)}`).toBe(3)
      }
      await replaceBy('second', store)
      expect(await numberIn(store, `${root}out.zarr`)).toBe(2)
      // Owners that may still run keep their drafts.
      const keys = await store.list!(`${root}out.zarr/`, { deep: true })
      expect(keys.filter((key) => !key.includes('.hyperslab-next/')).length).toBe(8)
    }
    expect(taken).toBeGreaterThan(50 / step)
  },
  300_000,
)

test.each([
  ['copyTree with overwrite', undefined],
  ['hyperslab cp … --overwrite', 'hyperslab cp … --overwrite'],
])('a place that is half switched names %s, which completes it', async (shown, command) => {
  const messages = new Set<string>()
  for (let point = 0, isOver = false; !isOver; point++) {
    const store = new MemoryStore()
    await zarrOf(store, 'in.zarr', 2, 3)
    await zarrOf(store, 'out.zarr', 1, 6)
    const faults = new FaultStore(store, {
      faults: ({ number }) => (number === point ? { kind: 'crash', done: true } : undefined),
    })
    const options = { overwrite: true, ...(command !== undefined && { command }) }
    await copyTree({ store, path: 'in.zarr' }, { store: faults, path: 'out.zarr' }, options).then(() => {
      isOver = true
    }, String)
    await openZarr({ store, path: 'out.zarr' }, { kind: 'group' }).catch(({ message }: Error) => messages.add(message))
  }
  expect([...messages].map((message) => message.replace(/^.*to complete it: /, ''))).toEqual([shown])
})

test('a place that is half switched is not written without overwriting, and its replacement is completed', async () => {
  const seen = new Set<unknown>()
  for (const version of [2, 3] as const)
    for (let point = 0, isOver = false; !isOver; point++) {
      const store = new MemoryStore()
      const make = version === 2 ? zarr2Of : zarrOf
      await make(store, 'in.zarr', 2, 3)
      await make(store, 'out.zarr', 1, 6)
      const faults = new FaultStore(store, {
        faults: ({ number }) => (number === point ? { kind: 'crash', done: point % 2 === 0 } : undefined),
      })
      const from = { store, path: 'in.zarr' }
      const to = { store, path: 'out.zarr' }
      await copyTree(from, { store: faults, path: 'out.zarr' }, { overwrite: true }).then(() => {
        isOver = true
      }, String)
      const value = await numberIn(store, 'out.zarr')
      const plain = await copyTree(from, to, {}).catch((error: { tag: string }) => error.tag)
      expect(await numberIn(store, 'out.zarr')).toBe(value)
      // A copy of the same version that is complete succeeds once more.
      if (value !== 2) expect(['AlreadyExistsError', 'ConflictError']).toContain(plain)
      seen.add(value)
      await copyTree(from, to, { overwrite: true })
      expect(await numberIn(store, 'out.zarr')).toBe(2)
      const names = (key: string): Promise<string[]> =>
        store.list(`${key}/`).then((keys) => keys.map((each) => each.slice(key.length)).sort())
      expect(await names('out.zarr')).toEqual(await names('in.zarr'))
    }
  expect(seen).toEqual(new Set([1, 2, undefined]))
}, 300_000)

test('a claim that comes after its draft was removed is taken back', async () => {
  for (const version of [2, 3] as const) {
    const store = new MemoryStore()
    const make = version === 2 ? zarr2Of : zarrOf
    await make(store, 'in.zarr', 2, 3)
    await make(store, 'out.zarr', 1, 6)
    const claimed = await store.get('out.zarr/zarr.json')
    const replaced = claimed === undefined ? null : new TextDecoder().decode(claimed.bytes)
    const claim = { command: 'cp', draft: '0123456789abcdef01234567', replaced }
    await store.put('out.zarr/zarr.json', encodeDocument(replacingDocument(claim)))
    expect(await numberIn(store, 'out.zarr')).toBeUndefined()
    const gone = copyTree({ store, path: 'gone.zarr' }, { store, path: 'out.zarr' }, { overwrite: true })
    await expect(gone).rejects.toMatchObject({ tag: 'NotFoundError' })
    await copyTree({ store, path: 'in.zarr' }, { store, path: 'out.zarr' }, { overwrite: true })
    expect(await numberIn(store, 'out.zarr')).toBe(2)
  }
})

test('objects that killed writers left do not keep a store from being replaced', async () => {
  const folder = await temporaryFolder()
  const stores: [Store, string, readonly string[]][] = [
    [
      new FileStore(),
      `${folder}/`,
      [
        'zarr.json.lock',
        'a/c/1.lock',
        'a/zarr.json.lock',
        'a/.hyperslab-append.lock',
        '.hyperslab-next/owner.json.lock',
        '.hyperslab-next/journal-0123456789abcdef01234567.json.lock',
        '.hyperslab-next/old-0123456789abcdef01234567/a/c/1.lock',
        '.hyperslab-next/new-0123456789abcdef01234567/zarr.json.lock',
      ],
    ],
    [new MemoryStore(), '', ['zarr.json.0123456789abcdef01234567.tmp', 'a/c/0.0123456789abcdef01234567.tmp']],
  ]
  for (const [store, root, names] of stores) {
    await zarrOf(store, `${root}in.zarr`, 2, 3)
    await zarrOf(store, `${root}out.zarr`, 1, 6)
    for (const name of names) {
      await store.files?.makeFolder(`${root}out.zarr/${name}`)
      await asWritable(store).put(
        `${root}out.zarr/${name}`,
        new TextEncoder().encode('{"token":"a","pid":1,"machine":"gone","time":0}'),
      )
    }
    if (root !== '') for (const name of names) await utimes(`${root}out.zarr/${name}`, 0, 0)
    for (let times = 0; times < 2; times++) {
      await copyTree({ store, path: `${root}in.zarr` }, { store, path: `${root}out.zarr` }, { overwrite: true })
      expect(await numberIn(store, `${root}out.zarr`)).toBe(2)
    }
    const workspace = `${root}out.zarr/.hyperslab-next/`
    expect(await store.list!(workspace, { deep: true })).toEqual([])
    if (root !== '') await expect(readdir(workspace)).rejects.toMatchObject({ code: 'ENOENT' })
  }
})

test('a root with metadata that are too long for a claim is replaced, too', async () => {
  const store = new MemoryStore()
  await zarrOf(store, 'in.zarr', 2)
  const long = await createZarr({ store, path: 'out.zarr' }, { attributes: { value: 1, text: 'x'.repeat(1_200_000) } })
  for (const name of ['a', 'sub/b']) await long.createArray(name, { dtype: 'int32', shape: [2], fillValue: 1 })
  await copyTree({ store, path: 'in.zarr' }, { store, path: 'out.zarr' }, { overwrite: true })
  expect(await numberIn(store, 'out.zarr')).toBe(2)
})

test('a store that is half replaced is not copied, and costs no other store', async () => {
  let refused = 0
  for (let point = 0, isOver = false; !isOver; point++) {
    const store = new MemoryStore()
    await zarrOf(store, 'in.zarr', 2, 3)
    await zarrOf(store, 'half.zarr', 1, 6)
    await zarrOf(store, 'good.zarr', 4)
    const faults = new FaultStore(store, { faults: ({ number }) => (number === point ? 'crash' : undefined) })
    await copyTree({ store, path: 'in.zarr' }, { store: faults, path: 'half.zarr' }, { overwrite: true }).then(() => {
      isOver = true
    }, String)
    if ((await numberIn(store, 'half.zarr')) !== undefined) continue
    refused++
    for (const [path, overwrite] of [
      ['good.zarr', true],
      ['fresh.zarr', false],
    ] as const)
      await expect(copyTree({ store, path: 'half.zarr' }, { store, path }, { overwrite })).rejects.toMatchObject({
        tag: 'ConflictError',
      })
    expect(await numberIn(store, 'good.zarr')).toBe(4)
    expect((await store.list('fresh.zarr/')).filter((key) => !key.includes('.hyperslab-next'))).toEqual([])
  }
  expect(refused).toBeGreaterThan(5)
})

test('a copy without overwriting adds nothing to a store that is complete', async () => {
  for (const make of [zarrOf, zarr2Of]) {
    const store = new MemoryStore()
    await make(store, 'in.zarr', 2)
    await make(store, 'out.zarr', 2)
    const chunk = (await store.list('out.zarr/a/')).find((key) => key.endsWith('0'))!
    await store.delete(chunk)
    const before = (await store.list('out.zarr/')).sort()
    const copied = copyTree({ store, path: 'in.zarr' }, { store, path: 'out.zarr' })
    await expect(copied).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect((await store.list('out.zarr/')).filter((key) => !key.includes('.hyperslab-next')).sort()).toEqual(before)
  }
})

test('a folder that holds only temporary files does not stop a switch', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  await zarrOf(store, `${folder}/in.zarr`, 2, 3)
  await zarrOf(store, `${folder}/out.zarr`, 1, 6)
  await rm(`${folder}/out.zarr/sub`, { recursive: true })
  await mkdir(`${folder}/out.zarr/sub/b/c`, { recursive: true })
  await writeFile(`${folder}/out.zarr/sub/b/c/0.123-0123456789abcdef01234567.tmp`, 'x')
  await copyTree(`${folder}/in.zarr`, `${folder}/out.zarr`, { overwrite: true })
  expect(await numberIn(store, `${folder}/out.zarr`)).toBe(2)
})

test('files that appear beside a container while it is half switched stay', async () => {
  const file = async (store: Store, path: string, value: number): Promise<void> => {
    await using made = await create({ store, path })
    const array = made.createArray('a', { dtype: 'int8', shape: [2] })
    for (const each of [0, value]) {
      await array.set(null, each)
      await made.flush()
    }
  }
  for (let point = 0, isOver = false; !isOver; point++) {
    const store = new MemoryStore()
    await file(store, 'in.af', 2)
    await file(store, 'out.af', 1)
    const faults = new FaultStore(store, { faults: ({ number }) => (number === point ? 'crash' : undefined) })
    const replaced = (to: Store) => copyTree({ store, path: 'in.af' }, { store: to, path: 'out.af' }, { overwrite: true })
    await replaced(faults).then(() => {
      isOver = true
    }, String)
    const mine = new Uint8Array([1, 2, 3])
    await store.put('out.9.af', mine)
    await replaced(store).catch((error: { tag: string }) => expect(error.tag).toBe('AlreadyExistsError'))
    expect((await store.get('out.9.af'))?.bytes).toEqual(mine)
    // A claim is not overwritten by a new container, either.
    const half = await open({ store, path: 'out.af' }).catch((error: { tag: string }) => error.tag)
    if (half === 'ConflictError')
      await expect(create({ store, path: 'out.af' }, { overwrite: true })).rejects.toMatchObject({ tag: 'ConflictError' })
  }
})

test('a place of a store is not replaced by arrays that are read from it, through whatever operations', async () => {
  const store = new MemoryStore()
  await zarrOf(store, 'data/a.zarr', 1)
  await zarrOf(store, 'data/b.zarr', 2)
  await importZarr({ store, path: 'data/a.zarr' }, { store, path: 'data/a.af' })
  const references = { version: 1, refs: { '.zgroup': '{"zarr_format":2}', 'v/0': ['a.zarr/a/c/0', 0, 8] } }
  const refs = references.refs as Record<string, unknown>
  refs['v/.zarray'] = JSON.stringify({ ...{ zarr_format: 2, shape: [2], chunks: [2], dtype: '<i4', order: 'C' }, fill_value: 0, compressor: null, filters: null }) // biome-ignore format: one line
  refs['v/.zattrs'] = '{"_ARRAY_DIMENSIONS":["x"]}'
  await store.put('data/refs.json', encodeDocument(references))
  const before = new Map(
    await Promise.all((await store.list('')).map(async (key) => [key, await readWhole(store, key, {})] as const)),
  )
  const refused = { tag: 'InvalidArgumentError', message: expect.stringContaining('the same place') }
  const a = await openZarr({ store, path: 'data/a.zarr' }, { kind: 'group' })
  const b = await openZarr({ store, path: 'data/b.zarr' }, { kind: 'group' })
  const container = await open({ store, path: 'data/a.af' })
  const [one, other, third] = [await a.array('a'), await b.array('a'), container.array('a')]
  const pointed = await (await openZarr({ store, path: 'data/refs.json' }, { kind: 'group' })).array('v')
  const sum = broadcast((x: number, y: number) => x + y, one as never, other as never)
  const joined = concat([other.flip(0), sum, third] as never)
  const write = (array: unknown, path: string): Promise<unknown> =>
    exportZarr({ attributes: new Map(), arrays: [arrayAsStored('a', array as never)] }, { store, path }, { overwrite: true })
  for (const [array, paths] of [
    [one, ['data/a.zarr', 'data/a.zarr/', 'data/a.zarr/sub', 'data', '']],
    [joined, ['data/a.zarr', 'data/b.zarr', 'data']],
    [third, ['data']],
    [pointed, ['data/a.zarr', 'data']],
  ] as const)
    for (const path of paths) await expect(write(array, path), path).rejects.toMatchObject(refused)
  for (const path of ['data/a.zarr', 'data/a.zarr/new.zarr']) {
    await using ds = await openDataset({ store, path: 'data/a.zarr' }, { group: '/' })
    await expect(ds.write({ store, path }, { overwrite: true })).rejects.toMatchObject(refused)
  }
  await using labelled = await openDataset({ store, path: 'data/a.af' })
  for (const path of ['data/a.af', 'data/a.zarr']) {
    const own = labelled.get('a')
    const both = new Dataset({ a: own, b: { dims: own.dims, data: one } } as never)
    await expect(both.write({ store, path }, { overwrite: true })).rejects.toMatchObject(refused)
  }
  for (const path of ['data/a.zarr', 'data/a.zarr/copy.zarr', 'data'])
    for (const overwrite of [true, false])
      await expect(copyTree({ store, path: 'data/a.zarr' }, { store, path }, { overwrite })).rejects.toMatchObject(refused)
  const after = new Map(
    await Promise.all((await store.list('')).map(async (key) => [key, await readWhole(store, key, {})] as const)),
  )
  expect(after).toEqual(before)
  // Another store may have the same names, and a place beside it is apart.
  const elsewhere = new MemoryStore()
  await zarrOf(elsewhere, 'data/a.zarr', 3)
  await exportZarr(
    { attributes: new Map(), arrays: [arrayAsStored('a', one)] },
    { store: elsewhere, path: 'data/a.zarr' },
    { overwrite: true },
  )
  await write(one, 'data/b.zarr')
})

test('a replacement changes nothing behind a link that has the name of its own folder', async () => {
  const folder = await temporaryFolder()
  const store = new FileStore()
  const old = `${'0'.repeat(24)}`
  await mkdir(`${folder}/mine/new-${old}`, { recursive: true })
  for (const name of ['notes.tmp', `new-${old}/a`]) await writeFile(`${folder}/mine/${name}`, 'mine')
  await zarrOf(store, `${folder}/x.zarr`, 1)
  await symlink('../mine', `${folder}/x.zarr/.hyperslab-next`)
  const file = await create(`${folder}/x.af`)
  file.createArray('a', { dtype: 'int8', shape: [2] })
  await file.close()
  await symlink('mine', `${folder}/x.hyperslab-next`)
  const before = (await store.list(`${folder}/`, { deep: true })).sort()
  const refused = { tag: 'UnsupportedError', message: expect.stringContaining('is a symbolic link') }
  await expect(createZarr(`${folder}/x.zarr`, { overwrite: true })).rejects.toMatchObject(refused)
  await zarrOf(store, `${folder}/y.zarr`, 2)
  await expect(copyTree(`${folder}/y.zarr`, `${folder}/x.zarr`, { overwrite: true })).rejects.toMatchObject(refused)
  const mine = async (): Promise<string[]> => (await store.list(`${folder}/mine/`, { deep: true })).sort()
  expect(await mine()).toEqual([`${folder}/mine/new-${old}/a`, `${folder}/mine/notes.tmp`])
  expect((await store.list(`${folder}/`, { deep: true })).filter((key) => !key.includes('y.zarr')).sort()).toEqual(before)
  expect(await numberIn(store, `${folder}/x.zarr`)).toBe(1)
})

test('a refused copy advises to overwrite only where that succeeds', async () => {
  const store = new MemoryStore()
  await zarrOf(store, 'a.zarr', 1)
  await zarrOf(store, 'b.zarr', 2)
  const copy = (overwrite: boolean) => copyTree({ store, path: 'a.zarr' }, { store, path: 'b.zarr' }, { overwrite })
  await expect(copy(false)).rejects.toMatchObject({ message: expect.stringMatching(/`overwrite` replaces it$/) })
  // A copy of another store was killed before its root metadata were written.
  await store.delete('b.zarr/zarr.json')
  await store.put('b.zarr/c/zarr.json', new Uint8Array(1))
  const refused = { tag: 'AlreadyExistsError', message: expect.stringMatching(/no Zarr metadata at its root.*empty it$/) }
  await expect(copy(false)).rejects.toMatchObject(refused)
  await expect(copy(true)).rejects.toMatchObject(refused)
})

test('a store that is replaced while its arrays are copied is not published as a mixture', async () => {
  for (const make of [zarrOf, zarr2Of])
    for (const kind of ['zarr', 'af', 'dataset'] as const) {
      const store = new MemoryStore()
      await make(store, 'in.zarr', 1, 8)
      await make(store, 'other.zarr', 2, 8)
      const watched = new FaultStore(store, { faults: () => undefined })
      let reads = 0
      const original = watched.get.bind(watched)
      watched.get = async (key, options) => {
        if (/\/a\/(c\/)?\d$/.test(key) && ++reads === 2)
          await copyTree({ store, path: 'other.zarr' }, { store, path: 'in.zarr' }, { overwrite: true })
        return original(key, options)
      }
      const source = { store: watched, path: 'in.zarr' }
      const target = { store, path: kind === 'af' ? 'out.af' : 'out.zarr' }
      const copying = async (): Promise<unknown> => {
        if (kind === 'af') return importZarr(source, target, { chunks: { dim_0: 8 } })
        if (kind === 'dataset') return (await openDataset(source, { group: '/' })).write(target)
        const array = await (await openZarr(source, { kind: 'group' })).array('a')
        return exportZarr({ attributes: new Map(), arrays: [arrayAsStored('a', array)] }, target, {})
      }
      await expect(copying(), kind).rejects.toMatchObject({ tag: 'ConflictError' })
      expect(reads).toBeGreaterThan(1)
      expect((await store.list('')).filter((key) => key.startsWith('out') && !key.includes('.hyperslab'))).toEqual([])
    }
})

test('a store whose arrays have other ranks is replaced, where folders take the places of files', async () => {
  const folder = await temporaryFolder()
  const make = async (name: string, shape: number[], value: number): Promise<void> => {
    const array = await (await createZarr(`${folder}/${name}`)).createArray('x', {
      dtype: 'int8',
      shape,
      chunks: shape.map(() => 2),
    })
    await array.set(null, new Int8Array(shape.reduce((product, length) => product * length)).fill(value))
  }
  await make('flat.zarr', [4], 1)
  await make('square.zarr', [4, 4], 2)
  for (const [from, value, rank] of [
    ['square', 2, 2],
    ['flat', 1, 1],
  ] as const) {
    await make('out.zarr', rank === 2 ? [4] : [4, 4], 9)
    await copyTree(`${folder}/${from}.zarr`, `${folder}/out.zarr`, { overwrite: true })
    const { shape, data } = (await (await openZarr(`${folder}/out.zarr/x`, { kind: 'array' })).get()) as {
      shape: number[]
      data: Int8Array
    }
    expect(shape).toHaveLength(rank)
    expect(new Set(data)).toEqual(new Set([value]))
    await rm(`${folder}/out.zarr`, { recursive: true })
  }
})
