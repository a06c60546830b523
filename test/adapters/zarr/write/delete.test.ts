import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ZarrGroup } from '../../../../src/adapters/zarr/group.ts'
import { withMembers } from '../../../../src/core/overlay.ts'
import { createZarr, openZarr } from '../../../../src/runtime/zarr.ts'
import { FileStore } from '../../../../src/store/fs/file.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import { folderInMemory } from '../../../support/folder.ts'

async function temporaryFolder(): Promise<string> {
  const folder = await folderInMemory('delete')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Everything in a folder: the bytes of files, and the targets of links. */
function contentOf(folder: string, at = folder): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(at).map((name) => {
      const path = join(at, name)
      const stats = lstatSync(path)
      if (stats.isDirectory()) return contentOf(folder, path)
      return { [relative(folder, path)]: stats.isSymbolicLink() ? `-> ${readlinkSync(path)}` : readFileSync(path, 'latin1') }
    }),
  )
}

const opened = async (path: string): Promise<ZarrGroup> => openZarr(path, { kind: 'group', mode: 'r+' })

/** Makes `name` with an array and a group with one, and the file of a user. */
async function zarrIn(path: string): Promise<ZarrGroup> {
  const group = await createZarr(path)
  for (const name of ['t', 'g/t']) {
    const array = await group.createArray(name, { dtype: 'int8', shape: [4, 2], chunks: [1, 2] })
    await array.set(null, [1, 2, 3, 4, 5, 6, 7, 8])
  }
  return group
}

const isLink = (name: string) => ({
  tag: 'UnsupportedError',
  message: expect.stringMatching(new RegExp(`${name}' is a symbolic link.*remove the link itself`)),
})

describe('deleting from a group', () => {
  test('a deletion tests each folder of chunks once for being a link, however many it contains', async () => {
    const folder = await temporaryFolder()
    const tested: string[] = []
    const inner = new FileStore()
    const isLink = (key: string): Promise<boolean> => {
      tested.push(key)
      return inner.files.isLink(key)
    }
    const store = withMembers(inner, { files: withMembers(inner.files, { isLink }) })
    const group = await createZarr({ store, path: join(folder, 'a.zarr') })
    const array = await group.createArray('t', { dtype: 'int8', shape: [100, 2], chunks: [1, 1], fillValue: 0 })
    await array.set(null, 1)
    tested.length = 0
    await group.delete('t')
    expect(readdirSync(join(folder, 'a.zarr'))).toEqual(['zarr.json'])
    // One test of the path before anything is removed, one of the folder of metadata, and one of each folder
    // of chunks with those above it.
    expect(tested.length).toBe(1 + 1 + 102)
    expect(new Set(tested).size).toBe(102)
  })

  test('a group deletes no name that leads through a symbolic link, and touches nothing behind it', async () => {
    const folder = await temporaryFolder()
    await zarrIn(join(folder, 'other.zarr'))
    writeFileSync(join(folder, 'other.zarr/notes.txt'), 'mine')
    const group = await zarrIn(join(folder, 'x.zarr'))
    symlinkSync('../other.zarr/t', join(folder, 'x.zarr/array'))
    symlinkSync(join(folder, 'other.zarr'), join(folder, 'x.zarr/group'))
    symlinkSync('g', join(folder, 'x.zarr/alias'))
    symlinkSync('../../other.zarr/g', join(folder, 'x.zarr/g/group'))
    await group.consolidate()
    const before = contentOf(folder)
    for (const name of ['array', 'group', 'alias']) await expect(group.delete(name), name).rejects.toMatchObject(isLink(name))
    await expect(group.delete('group/t')).rejects.toMatchObject(isLink('group'))
    await expect(group.delete('alias/t')).rejects.toMatchObject(isLink('alias'))
    await expect((await group.group('group')).delete('g')).rejects.toMatchObject(isLink('group'))
    await expect((await group.group('g')).delete('group')).rejects.toMatchObject(isLink('g/group'))
    // A link within a group is not deleted with the group.
    await expect(group.delete('g')).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringMatching(/g\/group', a symbolic link/),
    })
    expect(contentOf(folder)).toEqual(before)
    await group.delete('t')
    expect(existsSync(join(folder, 'x.zarr/t'))).toBe(false)
  })

  test('a store whose root is a symbolic link stays usable', async () => {
    const folder = await temporaryFolder()
    await zarrIn(join(folder, 'other.zarr'))
    symlinkSync('other.zarr', join(folder, 'x.zarr'))
    const group = await opened(join(folder, 'x.zarr'))
    await (await group.array('g/t')).resize([2, 2])
    expect(Object.keys(contentOf(join(folder, 'other.zarr/g/t/c')))).toEqual(['0/0', '1/0'])
    await group.delete('g')
    await (await createZarr(join(folder, 'x.zarr'), { overwrite: true })).createGroup('new')
    expect(lstatSync(join(folder, 'x.zarr')).isSymbolicLink()).toBe(true)
    expect(Object.keys(contentOf(join(folder, 'other.zarr'))).sort()).toEqual(['new/zarr.json', 'zarr.json'])
  })

  test('links to single objects are removed, and their targets stay', async () => {
    const folder = await temporaryFolder()
    const group = await zarrIn(join(folder, 'x.zarr'))
    mkdirSync(join(folder, 'objects'))
    // As git-annex keeps files.
    for (const [number, name] of ['t/c/0/0', 't/c/3/0', 'g/t/c/1/0', 'g/t/zarr.json', 'g/zarr.json'].entries()) {
      renameSync(join(folder, 'x.zarr', name), join(folder, `objects/${number}`))
      symlinkSync(join(folder, `objects/${number}`), join(folder, 'x.zarr', name))
    }
    const before = contentOf(join(folder, 'objects'))
    expect((await (await (await opened(join(folder, 'x.zarr'))).array('g/t')).get()).data).toEqual(
      Int8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
    )
    const t = await group.array('t')
    await t.resize([3, 2])
    expect((await t.get()).data).toEqual(Int8Array.of(1, 2, 3, 4, 5, 6))
    await t.set([0], 0)
    expect((await t.get()).data).toEqual(Int8Array.of(0, 0, 3, 4, 5, 6))
    await group.delete('t')
    await group.delete('g')
    expect(readdirSync(join(folder, 'x.zarr'))).toEqual(['zarr.json'])
    expect(contentOf(join(folder, 'objects'))).toEqual(before)
  })

  test('a group deletes no folder with a file that does not belong to the hierarchy, and names the file', async () => {
    const folder = await temporaryFolder()
    const group = await zarrIn(join(folder, 'x.zarr'))
    await group.consolidate()
    for (const file of ['g/notes.txt', 'g/t/c/0/note', 'g/t/c/0/0.bak', 'g/images/a.png', 'g/t/0.0', 'g/u/zarr.json']) {
      mkdirSync(join(folder, 'x.zarr', file, '..'), { recursive: true })
      writeFileSync(join(folder, 'x.zarr', file), 'mine')
      const before = contentOf(folder)
      const refused = { tag: 'UnsupportedError', message: expect.stringContaining(`/x.zarr/${file}'`) }
      await expect(group.delete('g'), file).rejects.toMatchObject(refused)
      if (file.startsWith('g/t/')) await expect(group.delete('g/t'), file).rejects.toMatchObject(refused)
      expect(contentOf(folder)).toEqual(before)
      rmSync(join(folder, 'x.zarr', file))
    }
    await group.delete('g')
    expect(existsSync(join(folder, 'x.zarr/g'))).toBe(false)
  })

  test('arrays of either version are deleted with all their objects, and those of killed writers', async () => {
    const store = new MemoryStore()
    const text = (value: object): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
    const v2 = {
      zarr_format: 2,
      shape: [4],
      chunks: [2],
      dtype: '|i1',
      compressor: null,
      fill_value: 0,
      order: 'C',
      filters: null,
    }
    await store.put('x/.zgroup', text({ zarr_format: 2 }))
    await store.put('x/a/.zarray', text(v2))
    await store.put('x/a/.zattrs', text({}))
    await store.put('x/b/.zarray', text({ ...v2, shape: [4, 4], chunks: [2, 2], dimension_separator: '/' }))
    await store.put('x/s/.zarray', text({ ...v2, shape: [], chunks: [] }))
    for (const key of ['a/0', 'a/1', 'b/0/0', 'b/1/1', 's/0', 'a/.hyperslab-append', `a/1.17-${'0'.repeat(24)}.tmp`, 'b/'])
      await store.put(`x/${key}`, key === 'b/' ? new Uint8Array(0) : Uint8Array.of(1, 2))
    const group = (await openZarr({ store, path: 'x' }, { kind: 'group', mode: 'r+' })) as ZarrGroup
    for (const name of ['a', 'b', 's']) await group.delete(name)
    expect(await store.list('')).toEqual(['x/.zgroup'])
  })
})

test('every method of a group that creates or deletes by name refuses names that no node has', async () => {
  const folder = await temporaryFolder()
  const group = await zarrIn(join(folder, 'x.zarr'))
  writeFileSync(join(folder, 'x.zarr/notes.txt'), 'mine')
  const before = contentOf(folder)
  const names = [
    '',
    '/',
    '.',
    '..',
    't/',
    '/t',
    './t',
    't/.',
    'g//t',
    'g/../t',
    '../x.zarr/t',
    'zarr.json',
    'g/.zarray',
    '.hyperslab-next',
  ]
  for (const at of [group, await group.group('g')])
    for (const name of names)
      for (const work of [
        () => at.delete(name),
        () => at.createGroup(name),
        () => at.createArray(name, { dtype: 'int8', shape: [1] }),
      ])
        await expect(work(), `${at.path} ${name} ${work}`).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  expect(contentOf(folder)).toEqual(before)
})

test('an array behind a symbolic link is read and written, and loses no objects', async () => {
  const folder = await temporaryFolder()
  await zarrIn(join(folder, 'other.zarr'))
  const group = await createZarr(join(folder, 'x.zarr'))
  symlinkSync('../other.zarr/t', join(folder, 'x.zarr/t'))
  const t = await group.array('t')
  await t.append(0, [9, 10])
  await t.set([0], 11)
  const before = contentOf(folder)
  await expect(t.resize([1, 2])).rejects.toMatchObject(isLink('x.zarr/t'))
  await expect(t.resize({ 0: 9 } as never)).rejects.toThrow()
  expect(contentOf(folder)).toEqual(before)
  expect((await t.get()).data).toEqual(Int8Array.of(11, 11, 3, 4, 5, 6, 7, 8, 9, 10))
})

test('an array is not created over objects behind a symbolic link', async () => {
  const folder = await temporaryFolder()
  const group = await createZarr(join(folder, 'x.zarr'))
  mkdirSync(join(folder, 'mine/c'), { recursive: true })
  writeFileSync(join(folder, 'mine/c/0'), 'mine')
  symlinkSync('../mine', join(folder, 'x.zarr/t'))
  const before = contentOf(folder)
  await expect(group.createArray('t', { dtype: 'int8', shape: [4], chunks: [2] })).rejects.toMatchObject(isLink('x.zarr/t'))
  expect(contentOf(folder)).toEqual(before)
})
