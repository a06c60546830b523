import fc from 'fast-check'
import { zipSync } from 'fflate'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { MemoryStore } from '../../src/store/memory.ts'
import type { RangeOptions } from '../../src/store/store.ts'
import { ZipStore } from '../../src/store/zip/zip.ts'

const text = new TextEncoder()
/** Bytes that compress, but not to nothing. */
const content = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * i) >> 9)

class CountingStore extends MemoryStore {
  reads: number[] = []
  override getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    this.reads.push(length)
    return super.getRange(key, offset, length, options)
  }
}

async function storeOf(archive: Uint8Array, options: { maxInflatedBytes?: number } = {}) {
  const store = new CountingStore()
  await store.put('x.zip', archive)
  return { store, zip: new ZipStore({ store, path: 'x.zip', ...options }) }
}

/** Returns the offsets of an entry's local header and of its header in the central directory. */
function headersOf(archive: Uint8Array, name: string): { local: number; central: number } {
  const bytes = Buffer.from(archive)
  const local = bytes.indexOf(Buffer.from(`PK\x03\x04`)) >= 0 ? bytes.indexOf(name) - 30 : -1
  return { local, central: bytes.lastIndexOf(name) - 46 }
}

/** The archive with another number of 32 bits in the central directory. */
function changed(archive: Uint8Array, name: string, field: number, value: number): Uint8Array {
  const copy = archive.slice()
  new DataView(copy.buffer).setUint32(headersOf(archive, name).central + field, value, true)
  return copy
}

/** To compare element by element takes long. */
const same = (a: Uint8Array | undefined, b: Uint8Array): boolean => a !== undefined && Buffer.compare(a, b) === 0

const [CRC, STORED_SIZE, SIZE] = [16, 20, 24]

afterEach(() => vi.unstubAllGlobals())

/** A platform that inflates only what has a frame. */
class FramesOnly {
  constructor(format: string) {
    throw new TypeError(`${format} is not known`)
  }
}
const PLATFORMS: [string, () => void][] = [
  ['the platform', () => {}],
  ['fflate, where the platform has no streams', () => vi.stubGlobal('DecompressionStream', undefined)],
  ['fflate, where streams need a frame', () => vi.stubGlobal('DecompressionStream', FramesOnly)],
]

describe.each(PLATFORMS)('compressed files, inflated by %s', (_, use) => {
  test('any ranges of files are those of what was packed, and each file is read once', async () => {
    use()
    const arbitrary = fc.record({
      files: fc.array(fc.oneof(fc.uint8Array({ maxLength: 3000 }), fc.nat(20_000).map(content)), { minLength: 1, maxLength: 4 }),
      level: fc.constantFrom(0 as const, 1 as const, 9 as const),
      picks: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { maxLength: 8 }),
    })
    await fc.assert(
      fc.asyncProperty(arbitrary, async ({ files, level, picks }) => {
        const named = Object.fromEntries(
          files.map((bytes, i) => [`c/${i}`, [bytes, { level }] as [Uint8Array, { level: 0 | 1 | 9 }]]),
        )
        const { store, zip } = await storeOf(zipSync(named))
        await zip.list('')
        store.reads = []
        const asked = new Set<number>()
        for (const [which, from, most] of picks) {
          const i = which % files.length
          const all = files[i]!
          const offset = from % (all.length + 1)
          const length = most % (all.length - offset + 1)
          expect(same(await zip.getRange(`c/${i}`, offset, length), all.slice(offset, offset + length))).toBe(true)
          expect(same((await zip.getTail(`c/${i}`, length))!.bytes, all.slice(all.length - length))).toBe(true)
          expect(same((await zip.get(`c/${i}`))!.bytes, all)).toBe(true)
          asked.add(i)
        }
        // Files that are stored are read by ranges.
        if (level > 0) expect(store.reads.length).toBeLessThanOrEqual(asked.size)
      }),
      { numRuns: 20 },
    )
  })

  test('a file that inflates beyond its announced size, or to less, is refused', async () => {
    use()
    const archive = zipSync({ bomb: new Uint8Array(20_000_000) }, { level: 9 })
    for (const size of [1, 19_999_999, 20_000_001]) {
      const { zip } = await storeOf(changed(archive, 'bomb', SIZE, size))
      const error = await zip.get('bomb').catch((reason) => reason)
      expect(error).toMatchObject({ tag: 'FormatError', details: { file: 'memory:x.zip/bomb' } })
    }
  })

  test('a file whose bytes are others than those of its checksum is an IntegrityError', async () => {
    use()
    const archive = zipSync({ a: content(1000) }, { level: 9 })
    const { zip } = await storeOf(changed(archive, 'a', CRC, 12345))
    await expect(zip.getRange('a', 0, 1)).rejects.toMatchObject({
      tag: 'IntegrityError',
      details: { file: 'memory:x.zip/a', expected: 12345 },
    })
  })

  test('changed bytes of a compressed file are never read as values', async () => {
    use()
    const bytes = content(4000)
    const archive = zipSync({ a: bytes }, { level: 9 })
    const { central } = headersOf(archive, 'a')
    const refused = new Set<string>()
    for (let at = 31; at < central; at += 23) {
      const damaged = archive.slice()
      damaged[at]! ^= 1 << (at % 8)
      const { zip } = await storeOf(damaged)
      const read = await zip.get('a').catch((error) => error)
      if (read.tag === undefined) expect(read.bytes, `byte ${at}`).toEqual(bytes)
      else refused.add(read.tag)
    }
    expect(
      [...refused].every((tag) => ['CodecError', 'IntegrityError', 'FormatError'].includes(tag)),
      [...refused].join(),
    ).toBe(true)
    expect(refused.has('IntegrityError')).toBe(true)
  })
})

test('sizes that deflate cannot reach are refused before anything is read or allocated', async () => {
  const archive = zipSync({ a: content(1000) }, { level: 9 })
  for (const [field, value] of [
    [SIZE, 0xfffffff0],
    [SIZE, 2_000_000],
  ] as const) {
    const { store, zip } = await storeOf(changed(archive, 'a', field, value))
    await zip.list('')
    store.reads = []
    await expect(zip.getRange('a', 0, 1)).rejects.toMatchObject({ tag: 'FormatError', details: { file: 'memory:x.zip/a' } })
    expect(store.reads).toEqual([])
  }
  const { zip } = await storeOf(changed(archive, 'a', STORED_SIZE, 0x0fffffff))
  await expect(zip.getRange('a', 0, 1)).rejects.toMatchObject({ tag: 'FormatError' })
})

test('a compressed file beyond the limit is refused, and the error says what to do', async () => {
  const { store, zip } = await storeOf(zipSync({ large: content(5000), small: content(999) }), { maxInflatedBytes: 1000 })
  await zip.list('')
  store.reads = []
  await expect(zip.getRange('large', 0, 1)).rejects.toMatchObject({
    tag: 'TooLargeError',
    details: { file: 'memory:x.zip/large', actual: 5000, expected: 1000, limit: 'maxInflatedBytes' },
    message: expect.stringMatching(/zip -0/),
  })
  expect(store.reads).toEqual([])
  expect(await zip.stat('large')).toMatchObject({ size: 5000 })
  expect((await zip.get('small'))!.bytes).toEqual(content(999))
})

test('readers of one compressed file at the same time share one read of it', async () => {
  const { store, zip } = await storeOf(zipSync({ a: content(5000) }))
  await zip.list('')
  store.reads = []
  const read = await Promise.all(Array.from({ length: 20 }, (_, i) => zip.getRange('a', i * 10, 10)))
  for (const [i, bytes] of read.entries()) expect(bytes).toEqual(content(5000).slice(i * 10, i * 10 + 10))
  expect(store.reads.length).toBe(1)
})

test('what is kept stays below the bound, and what had to go is inflated again', async () => {
  const { store, zip } = await storeOf(zipSync({ a: content(600), b: content(601) }), { maxInflatedBytes: 1000 })
  await zip.list('')
  store.reads = []
  for (const key of ['a', 'a', 'b', 'b', 'a']) await zip.getRange(key, 0, 1)
  expect(store.reads.length).toBe(3)
})

test('bytes that a reader changes are its own', async () => {
  const { zip } = await storeOf(zipSync({ a: content(600) }))
  for (const read of [() => zip.get('a').then((tail) => tail!.bytes), () => zip.getRange('a', 0, 600)]) {
    const bytes = (await read())!
    expect(bytes).toEqual(content(600))
    bytes.fill(7)
  }
  expect((await zip.getTail('a', 600))!.bytes).toEqual(content(600))
})

test('a replaced archive is inflated anew, and a pinned reader is told', async () => {
  const { store, zip } = await storeOf(zipSync({ a: text.encode('old old old old') }))
  const { etag } = (await zip.get('a'))!
  await store.put('x.zip', zipSync({ a: text.encode('new new new new') }))
  await zip.stat('a')
  expect((await zip.get('a'))!.bytes).toEqual(text.encode('new new new new'))
  await expect(zip.getRange('a', 0, 1, { ifMatch: etag })).rejects.toMatchObject({ tag: 'ConflictError' })
})

test('a reader that gives up leaves the others of the same file reading', async () => {
  const { zip } = await storeOf(zipSync({ a: content(9000) }))
  const controller = new AbortController()
  const ended = zip.getRange('a', 0, 1, { signal: controller.signal }).catch((error) => error)
  const other = zip.getRange('a', 0, 9)
  controller.abort(new Error('enough'))
  expect((await ended).message).toBe('enough')
  expect(await other).toEqual(content(9000).slice(0, 9))
})

test('warnings count the compressed files below a prefix, and none of what is stored', async () => {
  const { zip } = await storeOf(zipSync({ 'a/0': [content(600), { level: 9 }], 'b/0': [content(5), { level: 0 }] }))
  expect(await zip.warnings('')).toEqual([
    expect.stringMatching(/compresses 1 of 2 files \(600 bytes, 600 the largest\).*zip -0/s),
  ])
  expect((await zip.warnings('a/')).length).toBe(1)
  expect(await zip.warnings('b/')).toEqual([])
})
