import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { importContainer } from '../../src/copy/import-container.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { create, open, verify, writeImmutable } from '../../src/runtime/index.ts'
import { importNetcdf } from '../../src/runtime/netcdf.ts'
import { createZarr, importZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { folderInMemory } from '../support/folder.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

async function containerOf(store: Store, path: string, value: number, layers = 0): Promise<void> {
  await using file = await create({ store, path })
  const x = file.createArray('x', { dtype: 'int32', shape: [4], dimensionNames: ['x'] })
  await x.fill(value)
  await file.flush()
  for (let i = 0; i < layers; i++) {
    await x.set([i], value)
    await file.flush()
  }
}

async function zarrOf(store: Store, path: string): Promise<void> {
  const group = await createZarr({ store, path })
  const array = await group.createArray('x', { dtype: 'int32', shape: [4], chunks: [2], dimensionNames: ['x'] })
  await array.set(null, [1, 2, 3, 4])
}

const NETCDF = writeNetcdf({
  dimensions: [['x', 2]],
  variables: [{ name: 'x', dimensions: ['x'], type: 'int', values: [7, 8] }],
})

const SEVENS = new DiskArray({ dtype: 'int16', shape: [3], chunks: [3], readBlock: (_, out) => void out.data.fill(7) })

let made: MemoryStore | undefined

/** A store with containers, a Zarr store, a NetCDF file and text. */
async function places(): Promise<MemoryStore> {
  if (made === undefined) {
    made = new MemoryStore()
    await containerOf(made, 'a.af', 1)
    await containerOf(made, 'b.af', 9)
    await containerOf(made, 'layered.af', 5, 2)
    await zarrOf(made, 'z.zarr')
    await made.put('a.nc', NETCDF)
    await made.put('notes', utf8('notes of somebody'))
  }
  const store = new MemoryStore()
  for (const key of await made.list('')) await store.put(key, (await made.get(key))!.bytes)
  return store
}

async function allOf(store: Store): Promise<Map<string, string>> {
  const keys = (await store.list!('', { deep: true })).sort()
  return new Map(await Promise.all(keys.map(async (key) => [key, String((await store.get!(key))?.bytes)] as const)))
}

/** Every way to write a container or a single file to a place. */
const WRITERS: Record<string, (store: MemoryStore, path: string, overwrite: boolean) => Promise<unknown>> = {
  create: async (store, path, overwrite) => (await create({ store, path }, { overwrite })).close(),
  writeImmutable: (store, path, overwrite) => writeImmutable({ y: SEVENS }, { store, path }, { overwrite }),
  importNetcdf: (store, path, overwrite) => importNetcdf({ store, path: 'a.nc' }, { store, path }, { overwrite }),
  importZarr: (store, path, overwrite) => importZarr({ store, path: 'z.zarr' }, { store, path }, { overwrite }),
  importContainer: (store, path, overwrite) => importContainer({ store, path: 'b.af' }, { store, path }, { overwrite }),
  'ds.write': async (store, path, overwrite) => {
    await using ds = await openDataset({ store, path: 'b.af' })
    return await ds.write({ store, path }, { overwrite, format: 'container' })
  },
  'copyTree of a container': (store, path, overwrite) => copyTree({ store, path: 'b.af' }, { store, path }, { overwrite }),
  'copyTree of layers': (store, path, overwrite) => copyTree({ store, path: 'layered.af' }, { store, path }, { overwrite }),
  'copyTree of NetCDF': (store, path, overwrite) => copyTree({ store, path: 'a.nc' }, { store, path }, { overwrite }),
  'copyTree of text': (store, path, overwrite) => copyTree({ store, path: 'notes' }, { store, path }, { overwrite }),
  'copyTree of Zarr': (store, path, overwrite) => copyTree({ store, path: 'z.zarr' }, { store, path }, { overwrite }),
}

test.each(Object.entries(WRITERS))('%s takes no name of a sidecar', async (_, write) => {
  for (const path of ['a.1.af', 'a.3.af', 'none.12.af'])
    for (const overwrite of [false, true]) {
      const store = await places()
      const before = await allOf(store)
      await expect(write(store, path, overwrite), path).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringContaining('sidecar of another container'),
      })
      expect(await allOf(store)).toEqual(before)
    }
})

test('no copy takes the name of statistics, nor a name of a sidecar that differs by case or is behind a link', async () => {
  const store = await places()
  for (const path of ['a.stats', 'none.STATS', 'a.2.AF'])
    for (const from of ['b.af', 'a.nc', 'z.zarr'])
      await expect(copyTree({ store, path: from }, { store, path }), path).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  const folder = await folderInMemory('occupied')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const name of ['a.af', 'b.af']) await (await create(join(folder, name))).close()
  await symlink('a.1.af', join(folder, 'link.af'))
  for (const overwrite of [false, true]) {
    const to = join(folder, 'link.af')
    await expect(copyTree(join(folder, 'b.af'), to, { overwrite })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(create(to, { overwrite })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  }
  expect((await readdir(folder)).sort()).toEqual(['a.af', 'b.af', 'link.af'])
})

test('nothing is written to a link that leads nowhere, and the message says so', async () => {
  const folder = await folderInMemory('dangling')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const ds = new Dataset({ x: { dims: ['x'], data: Float64Array.of(1, 2) } })
  for (const name of ['link.af', 'link.nc']) {
    const to = join(folder, name)
    await symlink('nowhere', to)
    const text = `${to}: this is a symbolic link that leads nowhere; remove it, or write to the place that it names`
    const reason = { tag: 'InvalidArgumentError', message: text }
    for (const overwrite of [false, true]) await expect(ds.write(to, { overwrite }), name).rejects.toMatchObject(reason)
  }
  await expect(create(join(folder, 'link.af'))).rejects.toMatchObject({ message: expect.stringContaining('leads nowhere') })
  expect((await readdir(folder)).sort()).toEqual(['link.af', 'link.nc'])
})

test.each(Object.entries(WRITERS).filter(([name]) => !/text|Zarr$/.test(name) || name === 'importZarr'))(
  '%s replaces a container only with a container, and no other file',
  async (name, write) => {
    const isNetcdf = name === 'copyTree of NetCDF'
    for (const [kind, bytes] of Object.entries({
      text: utf8('notes, which end in ARRF'),
      netcdf: NETCDF,
      json: utf8('{"version":1,"refs":{".zgroup":"{}"}}'),
      binary: Uint8Array.from({ length: 40 }, (_, i) => i),
    })) {
      const store = await places()
      await store.put('q.af', bytes)
      const before = await allOf(store)
      if (isNetcdf && kind === 'netcdf') continue
      await expect(write(store, 'q.af', true), kind).rejects.toMatchObject({
        tag: 'AlreadyExistsError',
        details: { file: 'memory:q.af' },
      })
      expect(await allOf(store), kind).toEqual(before)
    }
    const store = await places()
    await store.put('q.af', new Uint8Array(0))
    await write(store, 'q.af', true)
    // A file of footer version 6 is not written beside statistics.
    await store.delete('a.stats')
    if (isNetcdf) await expect(write(store, 'a.af', true)).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    else await write(store, 'a.af', true)
  },
)

test.each(Object.entries(WRITERS).filter(([name]) => /^(create|import|ds|copyTree of layers)/.test(name)))(
  '%s neither removes nor replaces files beside the container that are no parts of it',
  async (_, write) => {
    for (const [key, bytes] of [
      ['q.stats', utf8('statistics of somebody')],
      ['q.1.af', utf8('notes of somebody')],
    ] as const)
      for (const path of ['missing', 'there'])
        for (const overwrite of [false, true]) {
          const store = await places()
          if (path === 'there') await containerOf(store, 'q.af', 3)
          await store.put(key, bytes)
          await expect(write(store, 'q.af', overwrite), key).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
          expect((await store.get(key))?.bytes).toEqual(bytes)
        }
  },
)

test('a copied file replaces a file of its kind, and lies in no Zarr store', async () => {
  const store = await places()
  const copy = (from: string, to: string, overwrite = true) => copyTree({ store, path: from }, { store, path: to }, { overwrite })
  await store.put('old.nc', NETCDF.slice().fill(1, NETCDF.length - 1))
  await store.put('old.txt', utf8('old'))
  await copy('a.nc', 'old.nc')
  await copy('notes', 'old.txt')
  expect((await store.get('old.nc'))?.bytes).toEqual(NETCDF)
  const refused = { tag: 'AlreadyExistsError' }
  await expect(copy('a.nc', 'old.txt')).rejects.toMatchObject(refused)
  await expect(copy('notes', 'old.nc')).rejects.toMatchObject(refused)
  await store.put('some.bin', Uint8Array.of(0, 1, 2))
  await store.put('other.bin', Uint8Array.of(0, 3, 4))
  await expect(copy('some.bin', 'other.bin')).rejects.toMatchObject(refused)
  const before = await allOf(store)
  for (const from of ['a.nc', 'b.af', 'layered.af'])
    for (const to of ['z.zarr/x/c/0', 'z.zarr/x/c/9', 'z.zarr/zarr.json', 'z.zarr/new.nc', 'z.zarr/x/q.af'])
      for (const overwrite of [false, true])
        if (from.endsWith('.nc') || to.endsWith('.af'))
          await expect(copy(from, to, overwrite), to).rejects.toMatchObject({
            tag: 'InvalidArgumentError',
            message: expect.stringContaining('Zarr store'),
          })
  expect(await allOf(store)).toEqual(before)
})

test('a copied list of references replaces a list of references, and no other JSON', async () => {
  const folder = await folderInMemory('occupied')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const list = (n: number): string => JSON.stringify({ version: 1, refs: { '.zgroup': '{"zarr_format":2}', n: `${n}` } })
  await writeFile(join(folder, 'one.json'), list(1))
  await writeFile(join(folder, 'two.json'), list(2))
  await copyTree(join(folder, 'one.json'), join(folder, 'two.json'), { overwrite: true })
  expect(await readFile(join(folder, 'two.json'), 'utf8')).toBe(list(1))
  await mkdir(join(folder, 'settings'))
  for (const text of [
    '{"precious":1}',
    '{"version":"1.0","refs":{}}',
    '{"version":1,"refs":{"main":"abc"}}',
    '{"zarr_format":3',
    '[1]',
  ]) {
    await writeFile(join(folder, 'settings/x.json'), text)
    const copied = copyTree(join(folder, 'one.json'), join(folder, 'settings/x.json'), { overwrite: true })
    await expect(copied, text).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect(await readFile(join(folder, 'settings/x.json'), 'utf8')).toBe(text)
  }
})

test('a container is read as before after a refused replacement', async () => {
  const store = await places()
  await copyTree({ store, path: 'b.af' }, { store, path: 'a.1.af' }).catch(() => undefined)
  await using file = await open({ store, path: 'a.af' })
  expect([...(await file.array('x', 'int32').get()).data]).toEqual([1, 1, 1, 1])
})

test.each(['a store that lists', 'a store that cannot list'])(
  'a container in the place of a layer is refused by its number, in %s, and stays',
  async (kind) => {
    const store = await places()
    const other = (await store.get('b.af'))!.bytes
    await store.put('layered.2.af', other)
    const { list: _, ...blind } = Object.fromEntries(
      ['describe', 'stat', 'getRange', 'get', 'list'].map((name) => [name, (store as never)[name] as () => unknown]),
    )
    const unlisted = Object.fromEntries(Object.entries(blind).map(([name, call]) => [name, call.bind(store)])) as never as Store
    const place = { store: kind === 'a store that lists' ? store : unlisted, path: 'layered.af' }
    await expect(open(place)).rejects.toMatchObject({
      tag: 'FormatError',
      message: expect.stringMatching(/layered\.2\.af: .*layer 2 by its name, but layer 0.*by its footer/),
      details: { actual: 0, expected: 2 },
    })
    expect((await verify(place)).findings).toContainEqual(
      expect.objectContaining({ severity: 'error', file: 'memory:layered.2.af' }),
    )
    await expect(create({ store, path: 'layered.af' }, { overwrite: true })).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect((await store.get('layered.2.af'))?.bytes).toEqual(other)
  },
)
