import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { arrayAsStored, type ZarrExport } from '../../src/copy/stored-arrays.ts'
import { joinForeignKey } from '../../src/core/foreign-key.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { openDataset } from '../../src/runtime/dataset.ts'
import { create, generate } from '../../src/runtime/index.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { confined } from '../../src/store/confined.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { FoldedNames, LocalFiles } from '../../src/store/store.ts'
import { ZipStore } from '../../src/store/zip/zip.ts'
import { localFiles } from '../support/local-files.ts'
import { plainZip } from '../support/plain-zip.ts'

const GROUP = Buffer.from('{"zarr_format":3,"node_type":"group","attributes":{}}')
const VICTIM = 'of somebody else'

/** A folder with a file that nothing may touch, and below it one to work in. */
let outside: string
let folder: string
beforeEach(async () => {
  outside = await realpath(await mkdtemp(join(tmpdir(), 'hyperslab-names-')))
  folder = join(outside, 'work', 'inner')
  await mkdir(folder, { recursive: true })
  await writeFile(join(outside, 'victim'), VICTIM)
})
afterEach(() => rm(outside, { recursive: true }))

/** All files, but those of the place that is read. */
const written = async (): Promise<string[]> =>
  (await readdir(outside, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && !/source/.test(join(entry.parentPath, entry.name)))
    .map(({ name }) => name)

/** Expects that no file was written, and that the victim is unchanged. */
async function expectUntouched(): Promise<void> {
  expect(await written()).toEqual(['victim'])
  expect(await readFile(join(outside, 'victim'), 'utf8')).toBe(VICTIM)
}

const refused = (tag = /^(FormatError|InvalidArgumentError|UnsupportedError)$/) => ({ tag: expect.stringMatching(tag) })

const HOSTILE = [
  '../victim',
  '../../victim',
  'a/../../victim',
  'a/../../../victim',
  '/tmp/victim',
  '//victim',
  'a//b',
  './a',
  'a/.',
  'a/..',
  'nul\0byte',
  'half \ud800 of a pair',
]

/** A store of objects, which has a bad one after the good ones. */
async function bucketOf(...names: string[]): Promise<MemoryStore> {
  const store = new MemoryStore()
  await store.put('source.zarr/zarr.json', GROUP)
  for (const name of names) await store.put(`source.zarr/${name}`, Buffer.from('bytes'))
  return store
}

/** Memory that has the names of another system. */
class PlaceWithRules extends MemoryStore {
  readonly files: LocalFiles
  readonly puts: string[] = []

  constructor(windowsNames: boolean, folds: FoldedNames) {
    super()
    this.files = localFiles({ windowsNames, foldedNames: async () => folds })
  }

  override put(key: string, bytes: Uint8Array): Promise<void> {
    this.puts.push(key)
    return super.put(key, bytes)
  }
}

const numbers = generate((i) => i + 1, { dtype: 'float32', shape: [4], dimensionNames: ['x'] })
const exportOf = (...names: string[]): ZarrExport => ({
  attributes: new Map(),
  arrays: names.map((name) => arrayAsStored(name, numbers)),
})

describe('one function joins a root and a foreign key', () => {
  test.each(HOSTILE)('refuses %j', (key) => {
    expect(() => joinForeignKey('root', key)).toThrow(/is refused as a name below a folder/)
    expect(() => joinForeignKey('', key)).toThrow(/is refused/)
  })

  test('takes names that are ordinary where no Windows is', () => {
    for (const key of ['a', 'a/c/0/1', 'a\\b', 'C:', '...', '..a', 'a..', ' ', 'con', 'é', '😀', '%2e%2e/a'])
      expect(joinForeignKey('/data/x.zarr', key)).toBe(`/data/x.zarr/${key}`)
    expect(joinForeignKey('', 'a/b')).toBe('a/b')
    expect(joinForeignKey('/', 'a/b')).toBe('/a/b')
  })

  test.each([
    ...HOSTILE,
    ...[
      'a\\b',
      '..\\..\\x',
      'C:/x',
      'C:x',
      'a:stream',
      'a/NUL',
      'nul.txt',
      'Con .json',
      'com1',
      'LPT\u00b9.a',
      'CONIN$',
      'a.',
      'a. ',
      'a /b',
      'a?',
      'a\u0001',
    ],
  ])('refuses %j for files of Windows', (key) => {
    expect(() => joinForeignKey('C:\\data', key, { windowsNames: true })).toThrow(/is refused/)
  })

  test('takes names that Windows has, too', () => {
    for (const key of ['a', '.zattrs', 'a/c/0.0', 'console', 'com10', 'nulls', 'é 1'])
      expect(joinForeignKey('C:\\data', key, { windowsNames: true })).toBe(`C:\\data/${key}`)
  })
})

describe('a copy of objects as they are', () => {
  test.each(HOSTILE)('a copy refuses an object %j before the first byte', async (name) => {
    const store = await bucketOf('a/c/0', name)
    for (const overwrite of [false, true])
      await expect(copyTree({ store, path: 'source.zarr' }, join(folder, 'out.zarr'), { overwrite })).rejects.toMatchObject(
        refused(),
      )
    await expectUntouched()
  })

  test.each(['../../victim', '/victim', 'a/../../../victim', 'a/./b', 'x\0y', ''])(
    'a copy refuses an archive with the entry %j',
    async (name) => {
      const archive = plainZip([
        ['zarr.json', GROUP],
        ['a/c/0', Buffer.from('bytes')],
        [name, Buffer.from('evil')],
      ])
      await writeFile(join(folder, 'source.zip'), archive)
      await expect(copyTree(join(folder, 'source.zip'), join(folder, 'out.zarr'))).rejects.toMatchObject(refused())
      await expect(openZarr(join(folder, 'source.zip'))).rejects.toMatchObject({ tag: 'FormatError' })
      await expectUntouched()
    },
  )

  test('a copy refuses names of more than 4096 bytes, also in an archive', async () => {
    const long = `${'a/'.repeat(2047)}\u00e9b`
    const archive = plainZip([
      ['zarr.json', GROUP],
      [`${long}c`, GROUP],
    ])
    await writeFile(join(folder, 'source.zip'), archive)
    const error = { tag: 'FormatError', message: expect.stringMatching(/"(a\/){100}…".*more than 4096 bytes/) }
    await expect(openZarr(join(folder, 'source.zip'))).rejects.toMatchObject(error)
    const store = await bucketOf('a/c/0', `${long}c`)
    await expect(copyTree({ store, path: 'source.zarr' }, { store: new MemoryStore(), path: 'out.zarr' })).rejects.toMatchObject(
      error,
    )
    const memory = new MemoryStore()
    const longest = `a${long.slice(2)}`
    await memory.put('x.zip', plainZip([[longest, GROUP]]))
    expect(await new ZipStore({ store: memory, path: 'x.zip' }).list('')).toEqual([longest])
    await expectUntouched()
  })

  test('takes an archive whose entries have a backslash, and the last of two entries of one name', async () => {
    const store = new MemoryStore()
    const entries = [['a\\b', 'x'], ['twice', 'first'], ['twice', 'last'], ['folder/', '']] as const // biome-ignore format: a list
    await store.put('x.zip', plainZip(entries.map(([name, text]) => [name, Buffer.from(text)])))
    const archive = new ZipStore({ store, path: 'x.zip' })
    expect((await archive.list('')).sort()).toEqual(['a\\b', 'twice'])
    expect(Buffer.from((await archive.get('twice'))!.bytes).toString()).toBe('last')
  })

  test('leaves out empty objects that stand for folders', async () => {
    const store = await bucketOf('a/c/0', 'a/')
    await store.put('source.zarr/', new Uint8Array())
    await copyTree({ store, path: 'source.zarr' }, join(folder, 'out.zarr'))
    expect((await written()).sort()).toEqual(['0', 'victim', 'zarr.json'])
  })

  test('refuses an object that has the name of a folder of another one, before the first byte', async () => {
    const store = await bucketOf('a/c/0', 'a/c/0/zarr.json')
    await expect(copyTree({ store, path: 'source.zarr' }, join(folder, 'out.zarr'))).rejects.toMatchObject(refused())
    await expectUntouched()
    const bucket = new MemoryStore()
    await copyTree({ store, path: 'source.zarr' }, { store: bucket, path: 'out.zarr' })
    expect((await bucket.list('')).length).toBe(3)
  })

  test.each([
    ['T/zarr.json', 't/zarr.json', { case: true, unicode: false }],
    ['T/c/0', 't/c/1', { case: true, unicode: false }],
    ['stra\u00dfe', 'STRASSE', { case: true, unicode: false }],
    ['caf\u00e9', 'cafe\u0301', { case: false, unicode: true }],
    ['CAF\u00c9', 'cafe\u0301', { case: true, unicode: true }],
    ['a', 'ZARR.JSON', { case: true, unicode: false }],
  ] as const)('a copy refuses %j and %j only if they are one name', async (a, b, folds) => {
    const store = await bucketOf(a, b)
    const target = new PlaceWithRules(false, folds)
    await expect(copyTree({ store, path: 'source.zarr' }, { store: target, path: 'out.zarr' })).rejects.toMatchObject(refused())
    expect(target.puts).toEqual([])
    const other = new PlaceWithRules(false, { case: false, unicode: false })
    await copyTree({ store, path: 'source.zarr' }, { store: other, path: 'out.zarr' })
    expect((await other.list('out.zarr/')).length).toBe(3)
  })

  test('refuses names that lead elsewhere on Windows before the first byte', async () => {
    for (const name of ['..\\..\\victim', 'C:\\victim', 'nul', 'a.', 'a:b']) {
      const target = new PlaceWithRules(true, { case: true, unicode: false })
      const source = { store: await bucketOf('a/c/0', name), path: 'source.zarr' }
      await expect(copyTree(source, { store: target, path: 'out.zarr' })).rejects.toMatchObject(refused())
      expect(target.puts).toEqual([])
    }
  })

  test('refuses a file whose own name leads elsewhere', async () => {
    const store = new MemoryStore()
    await store.put('data/..', Buffer.from('bytes'))
    await expect(copyTree({ store, path: 'data/..' }, `${folder}/`)).rejects.toMatchObject(refused())
    await expectUntouched()
  })
})

describe('what is written of arrays by their names', () => {
  const names = HOSTILE.filter((name) => !name.includes('\ud800'))
  const cases = [
    ...names,
    '../../victim.zarr/x',
    'zarr.json',
    'a/zarr.json/b',
    '.zattrs',
    '.hyperslab-scratch',
    '.hyperslab-plan.json',
  ]

  test.each(cases)('an export refuses an array %j before the first byte', async (name) => {
    for (const overwrite of [false, true])
      await expect(exportZarr(exportOf('good', name), join(folder, 'out.zarr'), { overwrite })).rejects.toMatchObject(refused())
    await expectUntouched()
  })

  test.each(cases)('a group %j is refused before the first byte', async (name) => {
    const given = { ...exportOf('good'), groups: new Map([[name, new Map()]]) }
    await expect(exportZarr(given, join(folder, 'out.zarr'), {})).rejects.toMatchObject(refused())
    await expectUntouched()
  })

  test.each([[['a', 'a/c/0']], [['a/c/0', 'a']], [['a', 'a/b/c/d']], [['', 'a']], [['a', 'a']]])(
    'an export refuses arrays %j, of which one lies in another',
    async (arrays) => {
      await expect(exportZarr(exportOf(...arrays), join(folder, 'out.zarr'), {})).rejects.toMatchObject(refused())
      await expectUntouched()
    },
  )

  test('an export refuses names that the target cannot tell apart or have', async () => {
    for (const [arrays, target] of [
      [['T', 't'], new PlaceWithRules(false, { case: true, unicode: false })],
      [['g/T/x', 'G/t/y'], new PlaceWithRules(false, { case: true, unicode: false })],
      [['\u00e9', 'e\u0301'], new PlaceWithRules(false, { case: false, unicode: true })],
      [['A', 'a/b'], new PlaceWithRules(false, { case: true, unicode: false })],
      [['a\\..\\..\\b'], new PlaceWithRules(true, { case: true, unicode: false })],
      [['aux'], new PlaceWithRules(true, { case: true, unicode: false })],
    ] as const) {
      await expect(exportZarr(exportOf(...arrays), { store: target, path: 'out.zarr' }, {})).rejects.toMatchObject(refused())
      expect(target.puts).toEqual([])
    }
  })

  test('a container with a hostile name is refused by ds.write and by jobs, and touches nothing', async () => {
    const source = join(folder, 'source.af')
    const file = await create(source)
    await file.createArray('good', { dtype: 'float32', shape: [4], dimensionNames: ['x'] }).set(null, 1)
    await file.createArray('../../victim.zarr/x', { dtype: 'float32', shape: [4], dimensionNames: ['x'] }).set(null, 2)
    await file.flush()
    await file.close()
    await using ds = await openDataset(source)
    await expect(ds.write(join(folder, 'out.zarr'))).rejects.toMatchObject(refused())
    await expect(
      (async () =>
        local().run(await planJob({ method: 'copy', source: { dataset: source }, target: join(folder, 'out.zarr') })))(),
    ).rejects.toMatchObject(refused())
    const arrays = { '../../victim.zarr/x': { location: source, array: 'good' } }
    await expect(
      (async () => local().run(await planJob({ method: 'copy', source: { arrays }, target: join(folder, 'out.zarr') })))(),
    ).rejects.toMatchObject(refused())
    await expectUntouched()
  })

  test('createArray and createGroup refuse names that lead elsewhere', async () => {
    const group = await createZarr(join(folder, 'source.zarr'))
    for (const name of names) {
      await expect(group.createArray(name, { dtype: 'int8', shape: [2] })).rejects.toMatchObject(refused())
      await expect(group.createGroup(name)).rejects.toMatchObject(refused())
    }
    await expectUntouched()
  })

  test('a backslash is an ordinary character where no Windows is', async () => {
    const store = new MemoryStore()
    await exportZarr(exportOf('a\\b'), { store, path: 'x.zarr' }, {})
    const group = await openZarr({ store, path: 'x.zarr' }, { kind: 'group' })
    expect(await (await group.array('a\\b')).get([2])).toBe(3)
    const windows = Object.assign(new PlaceWithRules(true, { case: true, unicode: false }), { get: store.get.bind(store) })
    const there = await openZarr({ store: windows, path: 'x.zarr' }, { kind: 'group' })
    await expect(there.array('a\\b')).rejects.toMatchObject({ tag: 'FormatError' })
  })
})

describe('links in the target', () => {
  /** A target with links in it: to a folder and to files elsewhere, and to one that is not there. */
  async function farm(): Promise<string> {
    const target = join(folder, 'source-of-links.zarr')
    await mkdir(target)
    await mkdir(join(outside, 'elsewhere'))
    await symlink(join(outside, 'elsewhere'), join(target, 'a'))
    await symlink('../../../victim', join(target, 'b'))
    await symlink(join(outside, 'not there'), join(target, 'd'))
    return target
  }

  test.each(['a/c/0', 'a/zarr.json', 'a/deep/er/0', 'b', 'd', 'd/c/0'])(
    'a copy of %s is not written to where they lead',
    async (name) => {
      const target = await farm()
      const store = await bucketOf(name)
      // With `overwrite` links are replaced, or the copy is refused.
      for (const overwrite of [false, true])
        await copyTree({ store, path: 'source.zarr' }, target, { overwrite }).catch((error) =>
          expect(error).toMatchObject(refused(/./)),
        )
      expect(await readdir(join(outside, 'elsewhere'))).toEqual([])
      expect(await readFile(join(outside, 'victim'), 'utf8')).toBe(VICTIM)
      expect(await readdir(outside)).not.toContain('not there')
    },
  )

  test('a store that is confined to a folder follows no link out of it, to read, to write or to remove', async () => {
    const target = await farm()
    const store = confined(new FileStore(), target)
    for (const name of ['a/x', 'a/deep/x', 'b', 'd', 'd/x'])
      for (const work of [
        () => store.put(join(target, name), Buffer.from('x')),
        () => store.stat(join(target, name)),
        () => store.get(join(target, name)),
        () => store.getRange(join(target, name), 0, 1),
        () => store.files!.makeFolder(join(target, name, 'x')),
        () => store.stage(join(target, name)),
      ])
        await expect(work(), name).rejects.toMatchObject(refused(/^(UnsupportedError|NotFoundError)$/))
    await writeFile(join(outside, 'elsewhere/x'), '')
    await expect(store.delete(join(target, 'a/x'))).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await expect(store.list(join(target, 'a/'))).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await expect(store.put(`${target}/a/../../victim`, Buffer.from('x'))).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await expect(store.put('/tmp/victim', Buffer.from('x'))).rejects.toMatchObject({ tag: 'UnsupportedError' })
    // A link is removed, and not what it leads to.
    await store.delete(join(target, 'b'))
    expect(await readFile(join(outside, 'victim'), 'utf8')).toBe(VICTIM)
    expect(await readdir(join(outside, 'elsewhere'))).toEqual(['x'])
    const following = confined(new FileStore(), target, { followLinks: true })
    await following.put(join(target, 'a/y'), Buffer.from('x'))
    expect((await readdir(join(outside, 'elsewhere'))).sort()).toEqual(['x', 'y'])
    // Objects behind a link belong to another place, also if links are followed.
    for (const work of [
      () => following.delete(join(target, 'a/y')),
      () => following.files!.removeFolder(`${join(target, 'a')}/`),
      () => following.rename(join(target, 'a/y'), join(target, 'y')),
    ])
      await expect(work()).rejects.toMatchObject({ tag: 'UnsupportedError', message: expect.stringContaining('symbolic link') })
    expect((await readdir(join(outside, 'elsewhere'))).sort()).toEqual(['x', 'y'])
  })

  test('the target itself may be a link, and links within it are followed', async () => {
    await mkdir(join(outside, 'elsewhere/within'), { recursive: true })
    await symlink(join(outside, 'elsewhere'), join(folder, 'out.zarr'))
    const store = await bucketOf('b/c/0')
    await copyTree({ store, path: 'source.zarr' }, join(folder, 'out.zarr'))
    expect((await readdir(join(outside, 'elsewhere'))).sort()).toEqual(['b', 'within', 'zarr.json'])
    await symlink('within', join(outside, 'elsewhere/a'))
    const own = confined(new FileStore(), join(folder, 'out.zarr'))
    await own.put(join(folder, 'out.zarr/a/x'), Buffer.from('x'))
    expect(await readdir(join(outside, 'elsewhere/within'))).toEqual(['x'])
  })
})

test('a file system is tried for the names that it takes for one', async () => {
  const [upper, lower] = [join(folder, 'Aa'), join(folder, 'aA')]
  await writeFile(upper, '')
  const foldsCase = await readFile(lower).then(
    () => true,
    () => false,
  )
  await rm(upper)
  expect(await new FileStore().files.foldedNames(join(folder, 'not/there/yet'))).toMatchObject({ case: foldsCase })
  expect(await readdir(folder)).toEqual([])
})

test('names that differ by case are written where the file system tells them apart', async () => {
  const { case: folds } = await new FileStore().files.foldedNames(join(folder, 'x'))
  const writing = exportZarr(exportOf('T', 't'), join(folder, 'out.zarr'), {})
  if (folds) await expect(writing).rejects.toMatchObject(refused())
  else expect(await writing).toBe(true)
})
