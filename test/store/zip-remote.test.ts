import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { create, open } from '../../src/runtime/index.ts'
import { HttpStore } from '../../src/store/http/http.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { ZipStore } from '../../src/store/zip/zip.ts'
import { FaultStore, readableConformance } from '../../src/testing/index.ts'
import { type Files, haveZip, WRITE_ALL, zipped, zippedByPython } from '../support/archives.ts'
import { testAll } from '../support/conformance.ts'
import { RudeServer } from '../support/rude-server.ts'

const there = haveZip()
const content = Uint8Array.from({ length: 1000 }, (_, i) => i >> 2)

let rude: RudeServer
beforeAll(async () => {
  rude = await RudeServer.start()
})
afterAll(() => rude.stop())
beforeEach(() => rude.reset())

describe.skipIf(!there)('a stored file', () => {
  // Another one in front: its place changes with its size.
  const archiveOf = (bytes: Uint8Array): Uint8Array => zippedByPython({ 'a.af': bytes, 'x.af': bytes }, WRITE_ALL())
  describe('of an archive in memory', () => {
    testAll(
      readableConformance(async (bytes) => {
        const inner = new MemoryStore()
        const replace = (other: Uint8Array) => inner.put('x.zip', archiveOf(other))
        await replace(bytes)
        return { store: new ZipStore({ store: inner, path: 'x.zip' }), key: 'x.af', missing: 'none.af', replace }
      }),
    )
  })
  describe('of an archive behind a URL', () => {
    testAll(
      readableConformance(async (bytes) => {
        const path = rude.put('x.zip', archiveOf(bytes))
        const replace = async (other: Uint8Array) => void rude.put('x.zip', archiveOf(other))
        return { store: new ZipStore({ store: new HttpStore(), path }), key: 'x.af', missing: 'none.af', replace }
      }),
    )
  })
})

describe.skipIf(!there)('the directory', () => {
  let archive: Uint8Array
  beforeAll(() => {
    archive = zipped({ a: content, b: content })
  })
  const faulty = async () => {
    const memory = new MemoryStore()
    await memory.put('x.zip', archive)
    const store = new FaultStore(memory)
    return { memory, store, zip: new ZipStore({ store, path: 'x.zip' }) }
  }

  test('is read once for all who ask, a header once for all who read', async () => {
    const { store, zip } = await faulty()
    await Promise.all(Array.from({ length: 10 }, () => zip.getRange('a', 10, 5)))
    expect(store.log.filter((entry) => entry.startsWith('stat')).length).toBe(1)
    // The end of the archive, the header, ten ranges.
    expect(store.log.filter((entry) => entry.startsWith('get')).length).toBe(12)
    expect((await zip.list('')).sort()).toEqual(['a', 'b'])
    expect(await zip.getRange('none', 0, 1)).toBeUndefined()
    expect(store.log.length).toBe(13)
  })

  test('is read again after each failure', async () => {
    const { store, zip } = await faulty()
    // Size, end of the archive, header, range.
    for (let step = 0; step < 4; step++) {
      store.faultAfter(step === 1 ? 1 : 0)
      await expect(zip.getRange('a', 0, 4), `step ${step}`).rejects.toThrow()
    }
    expect(await zip.getRange('a', 0, 1000)).toEqual(content)
  })

  test('goes on being read when one of those who wait gives up', async () => {
    const { zip } = await faulty()
    const controller = new AbortController()
    const one = zip.getRange('a', 0, 4, { signal: controller.signal })
    const other = zip.getRange('a', 0, 1000)
    controller.abort(new Error('enough'))
    await expect(one).rejects.toThrow('enough')
    expect(await other).toEqual(content)
  })

  test('is read again when the archive was replaced; who wants the old version is told', async () => {
    const { memory, zip } = await faulty()
    const { etag } = (await zip.getTail('b', 1))!
    await memory.put('x.zip', zipped({ b: content.slice(0, 7), c: content }))
    const conflict = { tag: 'ConflictError', details: { file: 'memory:x.zip/b' } }
    await expect(zip.getRange('b', 0, 4, { ifMatch: etag })).rejects.toMatchObject(conflict)
    await expect(zip.getRange('b', 0, 4, { ifMatch: etag })).rejects.toMatchObject(conflict)
    expect((await zip.getTail('b', 100))!.bytes).toEqual(content.slice(0, 7))
    expect((await zip.list('')).sort()).toEqual(['b', 'c'])
    await memory.delete('x.zip')
    const gone = { tag: 'NotFoundError', details: { file: 'memory:x.zip' } }
    await expect(zip.getRange('b', 0, 4)).rejects.toMatchObject(gone)
  })
})

describe.skipIf(!there)('a container in an archive', () => {
  const VALUES = Float32Array.from({ length: 40_000 }, (_, i) => Math.fround(Math.sin(i)))
  let files: Files
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperslab-zip-'))
    const file = await create(join(folder, 'climate.af'), { codec: 'none' })
    file.attrs.set('title', 'climate')
    await file.flush()
    const array = file.createArray('tas', { dtype: 'float32', shape: [100, 400], chunks: [10, 400] })
    await array.set([], { data: VALUES, shape: [100, 400] })
    await file.flush()
    await array.set([5], new Float32Array(400).fill(7))
    await file.flush()
    await file.close()
    const names = readdirSync(folder)
    expect(names.sort()).toEqual(['climate.1.af', 'climate.2.af', 'climate.af', 'climate.stats'])
    files = Object.fromEntries(names.map((name) => [name, Uint8Array.from(readFileSync(join(folder, name)))]))
    rmSync(folder, { recursive: true })
  })

  test('opens with its sidecars and cannot be written', async () => {
    const store = new MemoryStore()
    await store.put('data.zip', zipped(files))
    await using file = await open({ store: new ZipStore({ store, path: 'data.zip' }), path: 'climate.af' })
    expect(file.layers().length).toBe(3)
    const expected = VALUES.slice()
    expected.fill(7, 2000, 2400)
    expect((await file.array('tas', 'float32').get()).data).toEqual(expected)
    expect(await file.stats('tas')).toMatchObject({ max: 7 })
    await expect(file.array('tas').set([0, 0], 1)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('one whose newest layer is compressed is read with it', async () => {
    const store = new MemoryStore()
    const command = 'zip -0 -q ../x.zip climate.af climate.1.af && zip -q ../x.zip climate.2.af'
    await store.put('data.zip', zipped(files, command))
    await using file = await open({ store: new ZipStore({ store, path: 'data.zip' }), path: 'climate.af' })
    expect(file.layers().length).toBe(3)
    expect(await file.stats('tas')).toMatchObject({ max: 7 })
  })

  test('is read in place over HTTP: by ranges, each asked for once', async () => {
    const path = rude.put('data.zip', zipped(files))
    const zip = new ZipStore({ store: new HttpStore(), path })
    await using file = await open({ store: zip, path: 'climate.af' })
    // The end of the archive with its directory; of each of three files the header and the footer; whether
    // the base is still there.
    expect(rude.log.length).toBe(8)
    expect(rude.log.at(-1)).toBe('HEAD')
    expect(rude.log[0]).toBe('GET bytes=-65633')
    await file.array('tas').get([50])
    expect(rude.log.length).toBe(9)
    const ranges = rude.seen.slice(1).filter(({ method }) => method === 'GET')
    expect(ranges.map(({ headers }) => headers['if-match'])).toEqual(Array(7).fill('"v1"'))
  })

  test('a large directory costs one request more', async () => {
    const many = zippedByPython({ a: content }, WRITE_ALL("for i in range(2000): z.writestr('%0100d' % i, b'')"))
    const zip = new ZipStore({ store: new HttpStore(), path: rude.put('data.zip', many) })
    await zip.getRange('a', 0, 4)
    // End, directory, header, range.
    expect(rude.log.length).toBe(4)
  })
})
