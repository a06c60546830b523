import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { open } from '../../src/runtime/index.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { plainZip } from '../support/plain-zip.ts'
import { hyperslab, smallContainer, temporaryFolder } from './support.ts'

const range = Float32Array.from({ length: 24 }, (_, i) => i)

async function smallStore(folder: string): Promise<void> {
  const group = await createZarr(join(folder, 'in.zarr'), { attributes: { title: 'small' } })
  const array = await group.createArray('sub/a', { dtype: 'float32', shape: [4, 6], chunks: [1, 6] })
  await array.set(null, range)
}

async function expectSame(folder: string, name: string): Promise<void> {
  const array = await (await openZarr(join(folder, name), { kind: 'group' })).array('sub/a')
  expect(await array.get()).toMatchObject({ data: range })
}

test('files that are not read here are copied as they are', async () => {
  const folder = await temporaryFolder()
  for (const [name, content] of Object.entries({
    'a.csv': 'x,y\n1,2\n',
    'a.h5': '\x89HDF\r\n\x1a\n',
    'a.tif': 'II*\0 and more',
  })) {
    await writeFile(join(folder, name), content, 'latin1')
    await copyTree(join(folder, name), join(folder, `copy-${name}`))
    expect(await readFile(join(folder, `copy-${name}`), 'latin1')).toBe(content)
  }
})

test('an archive without a Zarr store replaces none, and is no file with the name of one', async () => {
  const folder = await temporaryFolder()
  await smallStore(folder)
  const text = (content: string): Uint8Array => new TextEncoder().encode(content)
  const archives = {
    empty: plainZip([]),
    readme: plainZip([['readme.txt', text('hello')]]),
    attributes: plainZip([['.zattrs', text('{}')]]),
    damaged: plainZip([['zarr.json', text('not json')]]),
    other: plainZip([['zarr.json', text('{"zarr_format":3,"node_type":"bowl"}')]]),
  }
  for (const [name, bytes] of Object.entries(archives)) {
    await writeFile(join(folder, `${name}.zip`), bytes)
    const copying = copyTree(join(folder, `${name}.zip`), join(folder, 'in.zarr'), { overwrite: true })
    await expect(copying, name).rejects.toMatchObject({ tag: expect.stringMatching(/^(NotFound|Format)Error$/) })
    await expectSame(folder, 'in.zarr')
  }
  for (const name of ['empty', 'readme', 'attributes'])
    await expect(copyTree(join(folder, `${name}.zip`), join(folder, 'new.zarr')), name).rejects.toMatchObject({
      tag: 'NotFoundError',
    })
  await writeFile(join(folder, 'some.bin'), 'bytes of anything')
  await expect(copyTree(join(folder, 'some.bin'), join(folder, 'new.zarr'))).rejects.toMatchObject({
    tag: 'InvalidArgumentError',
    message: expect.stringContaining('new.zarr has the name of a Zarr store'),
  })
  await expect(copyTree(join(folder, 'in.zarr'), join(folder, 'new.af'))).rejects.toMatchObject({
    tag: 'InvalidArgumentError',
    message: expect.stringContaining('new.af has the name of a file'),
  })
  expect((await readdir(folder)).filter((name) => name.startsWith('new'))).toEqual([])
})

test('an archive behind other bytes, such as a program that unpacks it, is read and unpacked', async () => {
  const folder = await temporaryFolder()
  await smallStore(folder)
  const names = (await readdir(join(folder, 'in.zarr'), { recursive: true, withFileTypes: true })).filter((each) => each.isFile())
  const entries = names.map(({ parentPath, name }) => join(parentPath, name))
  const contents = await Promise.all(entries.map((path) => readFile(path)))
  const archive = plainZip(entries.map((path, i) => [relative(join(folder, 'in.zarr'), path), contents[i]!]))
  await writeFile(join(folder, 'self.zip'), Buffer.concat([Buffer.alloc(1500, '#!'), archive]))
  await expectSame(folder, 'self.zip')
  await copyTree(join(folder, 'self.zip'), join(folder, 'out.zarr'))
  await expectSame(folder, 'out.zarr')
})

test('a container with its sidecars, a Zarr store and a file are copied, once', { timeout: 60_000 }, async () => {
  const folder = await smallContainer()
  await smallStore(folder)
  await writeFile(join(folder, 'notes.bin'), new Uint8Array(20 * 2 ** 20).fill(7))
  const run = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await hyperslab(folder, ['cp', ...args])
    return [exitCode, stdout + stderr]
  }
  expect(await run('small.af', 'copy.af')).toEqual([0, expect.stringMatching(/^copy.af: \d objects, /)])
  await using before = await open(join(folder, 'small.af'))
  await using after = await open(join(folder, 'copy.af'))
  expect(after.layers().length).toBe(before.layers().length)
  expect(await after.array('t').get()).toEqual(await before.array('t').get())
  expect(await run('in.zarr', 'out.zarr')).toEqual([0, expect.stringMatching(/^out.zarr: 7 objects, /)])
  await expectSame(folder, 'out.zarr')
  expect(await run('in.zarr', 'out.zarr')).toEqual([0, 'out.zarr: 0 objects, 0 B, 7 there already\n'])
  await mkdir(join(folder, 'inner'))
  expect(await run('notes.bin', 'inner/')).toEqual([0, 'inner/: 1 object, 20.0 MiB\n'])
  expect((await readFile(join(folder, 'inner/notes.bin'))).equals(await readFile(join(folder, 'notes.bin')))).toBe(true)
  expect(await run('no.zarr', 'x.zarr')).toEqual([
    1,
    expect.stringContaining('there is neither a file nor a Zarr array or group'),
  ])
  for (const [from, to] of [
    ['in.zarr', './in.zarr'],
    ['small.af', 'small.af'],
  ] as const)
    expect(await run(from, to, '--overwrite')).toEqual([1, expect.stringContaining('are the same place')])
  await expectSame(folder, 'in.zarr')
})

test('what is there and is not the same is refused, and replaced with overwrite', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder()
  await smallStore(folder)
  const [from, to] = [join(folder, 'in.zarr'), join(folder, 'out.zarr')]
  await copyTree(from, to)
  // As long, with another byte.
  const chunk = join(to, 'sub/a/c/0/0')
  const bytes = await readFile(chunk)
  bytes[bytes.length - 1]! ^= 1
  await writeFile(chunk, bytes)
  await expect(copyTree(from, to)).rejects.toMatchObject({ tag: 'AlreadyExistsError', details: { file: chunk } })
  expect(await copyTree(from, to, { overwrite: true })).toMatchObject({ objects: 1, kept: 6 })
  await expectSame(folder, 'out.zarr')
  // Chunks that the source has not would be read as its own.
  await mkdir(join(to, 'sub/b'))
  await writeFile(join(to, 'sub/b/zarr.json'), '{}')
  await expect(copyTree(from, to, { overwrite: true })).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
  await writeFile(join(to, 'sub/b/zarr.json'), '{"zarr_format":3,"node_type":"group"}')
  await expect(copyTree(from, to)).rejects.toMatchObject({ message: expect.stringContaining('the source has no such object') })
  await copyTree(from, to, { overwrite: true })
  await expect(stat(join(to, 'sub/b/zarr.json'))).rejects.toThrow('ENOENT')
  expect((await readdir(join(to, 'sub'))).includes('a')).toBe(true)
})

test('a copy that ends at any operation goes on, and opens only when it is whole', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder()
  await smallStore(folder)
  const from = join(folder, 'in.zarr')
  for (let point = 0; ; point++) {
    const store = new MemoryStore()
    const faults = new FaultStore(store, {
      faults: ({ number }) => (number === point ? { kind: 'crash', done: point % 2 === 0 } : undefined),
    })
    const end = await copyTree(from, { store: faults, path: 'out.zarr' }).catch(String)
    const isThere = (await store.stat('out.zarr/zarr.json')) !== undefined
    const { objects, kept } = await copyTree(from, { store, path: 'out.zarr' })
    expect(objects + kept).toBe(7)
    if (isThere) expect(objects).toBe(0)
    const array = await (await openZarr({ store, path: 'out.zarr' }, { kind: 'group' })).array('sub/a')
    expect(await array.get()).toMatchObject({ data: range })
    if (typeof end !== 'string') break
  }
})

test('a store that cannot list is copied by its metadata', async () => {
  const folder = await temporaryFolder()
  await smallStore(folder)
  const group = await openZarr(join(folder, 'in.zarr'), { kind: 'group', mode: 'r+' })
  await group.consolidate()
  const store = new MemoryStore()
  for (const name of ['zarr.json', 'sub/zarr.json', 'sub/a/zarr.json', ...[0, 1, 2, 3].map((i) => `sub/a/c/${i}/0`)])
    await store.put(`in.zarr/${name}`, await readFile(join(folder, 'in.zarr', name)))
  const { list: _, ...blind } = Object.fromEntries(
    ['describe', 'stat', 'getRange', 'get']
      .map((name) => [name, (store as never)[name] as () => unknown])
      .map(([name, call]) => [name, (call as () => unknown).bind(store)]),
  ) as never as MemoryStore
  expect(await copyTree({ store: blind as never, path: 'in.zarr' }, join(folder, 'out.zarr'))).toMatchObject({ objects: 7 })
  await expectSame(folder, 'out.zarr')
})
