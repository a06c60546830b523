import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { ZipStore } from '../../src/store/zip/zip.ts'
import { type Files, haveZip, runPython, WRITE_ALL, zipped, zippedByPython } from '../support/archives.ts'
import { plainZip } from '../support/plain-zip.ts'

const random = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7919 + (i >> 3)) & 255)
const FILES: Files = { 'climate.af': random(3000), 'folder/größe 温度.bin': random(300), empty: new Uint8Array() }
const text = new TextEncoder()

const concat = (...parts: Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(parts))

async function storeOf(archive: Uint8Array, options: { maxDirectoryBytes?: number } = {}): Promise<ZipStore> {
  const store = new MemoryStore()
  await store.put('x.zip', archive)
  return new ZipStore({ store, path: 'x.zip', ...options })
}

async function expectFiles(store: ZipStore, files: Files): Promise<void> {
  expect((await store.list('')).sort()).toEqual(Object.keys(files).sort())
  for (const [name, bytes] of Object.entries(files)) {
    // First, while nothing is known of where it begins.
    const whole = (await store.get(name))!
    expect(whole.bytes).toEqual(bytes)
    const { etag, size } = (await store.stat(name))!
    expect(await store.get(name)).toEqual({ size, etag, bytes })
    expect(whole).toEqual({ size, etag, bytes })
    expect(size).toBe(bytes.length)
    expect(await store.getRange(name, 0, size, { ifMatch: etag })).toEqual(bytes)
    expect(await store.getTail(name, 100)).toEqual({ size, etag, bytes: bytes.slice(-100) })
    if (size > 20) expect(await store.getRange(name, 5, 10)).toEqual(bytes.slice(5, 15))
  }
}

const there = haveZip()

describe.skipIf(!there)('archives that others write', () => {
  const DESCRIPTORS = `class Pipe(io.RawIOBase):
  def __init__(self): self.f = open(path, 'wb')
  def writable(self): return True
  def write(self, b): return self.f.write(b)
with ZipFile(Pipe(), 'w') as z:
  for name, content in files.items(): z.writestr(name, content)`
  const FORCED = `with ZipFile(path, 'w') as z:
  for name, content in files.items():
    with z.open(name, 'w', force_zip64=True) as f: f.write(content)`
  const shifted = (archive: Uint8Array): Uint8Array => concat(text.encode('#!/bin/sh\nexit 1\n'.repeat(50)), archive)
  const ADJUSTED = 'zip -0 -q -r ../a.zip . && (head -c 5000 /dev/zero; cat ../a.zip) > ../x.zip && zip -q -A ../x.zip'
  const ALIGNED = `with ZipFile(path, 'w') as z:
  for i, (name, content) in enumerate(files.items()):
    info = ZipInfo(name)
    z.writestr(info, content)
    # Other extra fields in the directory than in front of the content, as programs that align it write them.
    info.extra = bytes([0x35, 0xd9, 40, 0]) + bytes(40)`
  const LONG = `with ZipFile(path, 'w') as z:
  for name, content in files.items():
    info = ZipInfo(name)
    info.extra = bytes([0x35, 0xd9, 200, 0]) + bytes(200)
    z.writestr(info, content)`
  test.each<[string, () => Uint8Array]>([
    ['Python, long extra fields', () => zippedByPython(FILES, LONG)],
    ['zip -0', () => zipped(FILES)],
    ['zip -0, forced to Zip64', () => zipped(FILES, 'zip -0 -q -fz -r ../x.zip .')],
    ['zip -0 into a pipe, with data descriptors', () => zipped(FILES, 'zip -0 -q -r - . | cat > ../x.zip')],
    ['zip -0, commented', () => zipped(FILES, 'zip -0 -q -r ../x.zip . && echo a comment | zip -q -z ../x.zip')],
    ['Python', () => zippedByPython(FILES, WRITE_ALL())],
    ['Python, with data descriptors', () => zippedByPython(FILES, DESCRIPTORS)],
    ['Python, force_zip64', () => zippedByPython(FILES, FORCED)],
    ['Python, other extra fields in the directory', () => zippedByPython(FILES, ALIGNED)],
    ['Python, behind other bytes', () => zippedByPython(FILES, `open(path, 'wb').write(b'x' * 999)\n${WRITE_ALL('pass', 'a')}`)],
    ['Python, the longest comment', () => zippedByPython(FILES, WRITE_ALL("z.comment = b'PK' * 32767 + b'.'"))],
    ['a comment with a signature', () => zippedByPython(FILES, WRITE_ALL("z.comment = b'PK\\\\x05\\\\x06' + b'c' * 50"))],
    ['zip -9', () => zipped(FILES, 'zip -9 -q -r ../x.zip .')],
    ['zip -9, forced to Zip64', () => zipped(FILES, 'zip -9 -q -fz -r ../x.zip .')],
    ['zip -9 into a pipe, with data descriptors', () => zipped(FILES, 'zip -9 -q -r - . | cat > ../x.zip')],
    ['bytes put in front', () => shifted(zipped(FILES))],
    ['bytes put in front of Zip64', () => shifted(zipped(FILES, 'zip -0 -q -fz -r ../x.zip .'))],
    ['bytes put in front, offsets adjusted', () => zipped(FILES, ADJUSTED)],
  ])('%s', async (_, make) => {
    await expectFiles(await storeOf(make()), FILES)
  })

  test('more entries than 16 bits count', async () => {
    const store = await storeOf(zippedByPython({}, WRITE_ALL("for i in range(70000): z.writestr(str(i), b'%d' % i)")))
    expect((await store.list('')).length).toBe(70_000)
    expect(await store.getTail('69999', 9)).toMatchObject({ bytes: text.encode('69999') })
  })

  test('beyond 4 GiB', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperslab-zip-'))
    const store = new FileStore()
    try {
      const path = join(folder, 'x.zip')
      // Takes no room: a hole.
      const hole = 'open(path, "wb").truncate(5 * 2**30)\n'
      runPython(path, folder, [], `${hole}${WRITE_ALL("z.writestr('a', 'far away')", 'a')}`)
      const zip = new ZipStore({ store, path })
      expect(await zip.getRange('a', 4, 4)).toEqual(text.encode('away'))
    } finally {
      await store.close()
      rmSync(folder, { recursive: true })
    }
  })

  test('names that are no UTF-8 are those of the first PCs', async () => {
    const archive = zippedByPython({ 'caf?': random(9) }, WRITE_ALL())
    for (let at = 0; at < archive.length; at++) {
      if (text.encode('caf?').every((byte, i) => archive[at + i] === byte)) archive[at + 3] = 0x82
    }
    await expectFiles(await storeOf(archive), { café: random(9) })
  })

  test('of entries with one name the last counts', async () => {
    const store = await storeOf(zippedByPython({}, WRITE_ALL("z.writestr('a', 'old'); z.writestr('a', 'new')")))
    expect(await store.list('')).toEqual(['a'])
    expect(await store.getRange('a', 0, 3)).toEqual(text.encode('new'))
  })
})

describe.skipIf(!there)('what cannot be read', () => {
  const file = 'memory:x.zip/climate.af'
  const compressed = (method: string): Uint8Array => zippedByPython(FILES, WRITE_ALL().replace("'w'", `'w', ${method}`))
  test.each([
    ['bzip2', () => compressed('ZIP_BZIP2'), /bzip2; only stored and deflated entries can be read/],
    ['LZMA', () => compressed('ZIP_LZMA'), /lzma; only stored and deflated/],
    ['encryption', () => zipped(FILES, 'zip -0 -q -P secret -r ../x.zip .'), /encrypted; decrypt it/],
  ])('%s is unsupported, and still listed', async (_, make, message) => {
    const store = await storeOf(make())
    const refused = { tag: 'UnsupportedError', details: { file }, message: expect.stringMatching(message) }
    await expect(store.getRange('climate.af', 0, 1)).rejects.toMatchObject(refused)
    await expect(store.getTail('climate.af', 1)).rejects.toMatchObject(refused)
    await expect(store.stat('climate.af')).rejects.toMatchObject(refused)
    expect(await store.list('cli')).toEqual(['climate.af'])
  })

  test('an archive in several parts', async () => {
    const large = { 'climate.af': Uint8Array.from({ length: 300_000 }, (_, i) => (i * i) >> 5) }
    const store = await storeOf(zipped(large, 'zip -0 -q -s 64k ../x.zip climate.af'))
    const refused = { tag: 'UnsupportedError', details: { file: 'memory:x.zip' } }
    await expect(store.stat('climate.af')).rejects.toMatchObject(refused)
  })

  test('no archive, something else, an empty archive', async () => {
    const file = 'memory:x.zip'
    const none = new ZipStore({ store: new MemoryStore(), path: 'x.zip' })
    await expect(none.stat('a')).rejects.toMatchObject({ tag: 'NotFoundError', details: { file } })
    for (const bytes of [new Uint8Array(), random(10), random(200_000)])
      await expect((await storeOf(bytes)).list('')).rejects.toMatchObject({ tag: 'FormatError', details: { file } })
    await expectFiles(await storeOf(zippedByPython({}, WRITE_ALL())), {})
  })

  test('truncated anywhere, at either end', async () => {
    const archive = zipped({ a: random(50), b: random(60) })
    for (let cut = 1; cut < archive.length; cut++) {
      const head = await storeOf(archive.slice(0, -cut))
      await expect(head.getRange('a', 0, 50), `${cut} from the end`).rejects.toMatchObject({ tag: 'FormatError' })
      const rest = await storeOf(archive.slice(cut))
      await expect(rest.getRange('a', 0, 50), `${cut} from the start`).rejects.toMatchObject({ tag: 'FormatError' })
    }
  })

  test('a directory larger than is allowed', async () => {
    const store = await storeOf(zipped(FILES), { maxDirectoryBytes: 200 })
    const details = { file: 'memory:x.zip', expected: 200, actual: expect.any(Number) }
    await expect(store.list('')).rejects.toMatchObject({ tag: 'UnsupportedError', details })
  })

  test('changed bytes: what was in the archive, or an error that names it', async () => {
    const next = generator(42)
    const archives = [
      zipped(FILES),
      zipped(FILES, 'zip -0 -q -fz -r ../x.zip .'),
      zippedByPython(FILES, WRITE_ALL("z.comment = b'c'")),
    ]
    const outcomes = new Map<string, number>()
    for (let round = 0; round < 3000; round++) {
      const archive = archives[round % 3]!.slice()
      // Most of the bytes are content, in which a change has no effect on the structure.
      const structure = [...archive.keys()].filter((at) => at > archive.length - 600 || archive[at] === 0x50)
      for (let changes = next(3); changes >= 0; changes--) {
        const at = structure[next(structure.length)]! + next(12)
        if (at < archive.length) archive[at] = next(2) === 0 ? next(256) : [0, 255, 1, 0x50][next(4)]!
      }
      const outcome = await readAll(await storeOf(archive))
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
    // Each outcome is frequent, so that the changes hit the structure.
    const kinds = ['FormatError', 'IntegrityError', 'UnsupportedError', 'read']
    for (const outcome of kinds) expect(outcomes.get(outcome), outcome).toBeGreaterThan(20)
    expect([...outcomes.keys()].sort()).toEqual(kinds)
  })

  test('a changed byte of a stored file is found by each read of the whole file', async () => {
    const archive = plainZip([['a', random(5000)]])
    archive[30 + 1 + 4321]! ^= 1
    const store = await storeOf(archive)
    const failed = { tag: 'IntegrityError', details: { file: 'memory:x.zip/a' } }
    await expect(store.get!('a')).rejects.toMatchObject(failed)
    await expect(store.getRange('a', 0, 5000)).rejects.toMatchObject(failed)
    await expect(store.getTail!('a', 9000)).rejects.toMatchObject(failed)
    // A part says nothing of the whole.
    expect(await store.getRange('a', 1, 4999)).toHaveLength(4999)
    const inner = new MemoryStore()
    await inner.put('x.zip', archive)
    const getRanges: Store['getRanges'] = async (key, ranges, options) =>
      (await Promise.all(ranges.map(({ offset, length }) => inner.getRange(key, offset, length, options)))) as Uint8Array[]
    const ranged = new ZipStore({ store: Object.assign(inner, { getRanges }), path: 'x.zip' })
    const ranges = [
      { offset: 7, length: 2 },
      { offset: 0, length: 5000 },
    ]
    await expect(ranged.getRanges!('a', ranges)).rejects.toMatchObject(failed)
    expect(await ranged.getRanges!('a', ranges.slice(0, 1))).toEqual([archive.slice(38, 40)])
  })
})

async function readAll(store: ZipStore): Promise<string> {
  try {
    for (const name of await store.list('')) {
      const { size } = (await store.stat(name))!
      expect((await store.getRange(name, 0, size))!.length).toBe(size)
    }
    return 'read'
  } catch (error) {
    const { tag, details } = error as { tag?: string; details?: { file: string } }
    if (tag === undefined) throw error
    expect(details!.file).toContain('memory:x.zip')
    return tag
  }
}

/** Integers below a bound, the same at every run. */
function generator(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}
