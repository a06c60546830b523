import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CacheBackend } from '../../../src/store/persistent/backend.ts'
import { BrowserBackend } from '../../../src/store/persistent/browser-backend.ts'
import { PersistentEntries } from '../../../src/store/persistent/entries.ts'
import { FolderBackend } from '../../../src/store/persistent/folder-backend.ts'
import { runs } from '../../support/budget.ts'
import { FakeCaches } from '../../support/fake-caches.ts'

let folder: string
let fake: FakeCaches

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-entries-'))
  fake = new FakeCaches()
  vi.stubGlobal('caches', fake)
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await rm(folder, { recursive: true })
})

const bytesOf = (length: number, seed = 1): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7 + seed) % 251)

const sizeOf = async (backend: CacheBackend): Promise<number> => (await backend.list()).reduce((sum, { bytes }) => sum + bytes, 0)

/** A backend with replaced methods. */
const failing = (backend: CacheBackend, methods: Partial<CacheBackend>): CacheBackend => ({
  read: (name) => backend.read(name),
  write: (name, bytes) => backend.write(name, bytes),
  remove: (name) => backend.remove(name),
  list: () => backend.list(),
  touch: (uses) => backend.touch(uses),
  ...methods,
})

const PLACES: [string, () => Promise<CacheBackend>][] = [
  ['a folder', async () => new FolderBackend(join(folder, 'cache'))],
  ['the Cache API', () => BrowserBackend.open('test')],
]

describe.each(PLACES)('persistent entries in %s', (_, open) => {
  const entriesOf = (maxBytes = 2 ** 20, wrap = (backend: CacheBackend) => backend) =>
    new PersistentEntries(async () => wrap(await open()), maxBytes)

  test('are found by later caches, until one removes all', async () => {
    const first = entriesOf()
    expect(await first.load('a')).toBeUndefined()
    await first.save('a', bytesOf(1000))
    await first.flush()
    const second = entriesOf()
    expect(await second.load('a')).toEqual(bytesOf(1000))
    expect(await second.load('b')).toBeUndefined()
    expect(second.figures).toEqual({ hits: 1, misses: 1, bytes: 0, evictions: 0 })
    await second.clear()
    expect(await first.load('a')).toBeUndefined()
    expect(await sizeOf(await open())).toBe(0)
  })

  test('store the bytes as they were when they were saved', async () => {
    const entries = entriesOf()
    const bytes = bytesOf(100)
    await entries.save('a', bytes)
    bytes.fill(0)
    await entries.flush()
    expect(await entries.load('a')).toEqual(bytesOf(100))
  })

  test('are misses and removed after any damage, and where they are those of another name', async () => {
    const entries = entriesOf()
    await entries.save('a', bytesOf(50))
    await entries.save('b', bytesOf(50, 2))
    await entries.flush()
    const backend = await open()
    const [first, second] = await backend.list()
    const stored = (await backend.read(first!.name))!
    const other = (await backend.read(second!.name))!
    const flipped = stored.map((_byte, at) => at).filter((at) => at % 7 === 0 || at > stored.length - 4)
    const damaged = [...flipped].map((at) => stored.map((byte, i) => (i === at ? byte ^ 1 : byte)))
    for (const bad of [...damaged, stored.slice(0, -1), stored.slice(0, 20), new Uint8Array(0), other]) {
      await backend.write(first!.name, bad)
      const found = await Promise.all(['a', 'b'].map((key) => entries.load(key)))
      expect(found.filter((each) => each === undefined)).toHaveLength(1)
      expect(await backend.read(first!.name)).toBeUndefined()
    }
    await backend.write(first!.name, stored)
    expect(await Promise.all(['a', 'b'].map((key) => entries.load(key)))).toEqual([bytesOf(50), bytesOf(50, 2)])
  })

  test('stay within the bound, and the least recently used are evicted first', async () => {
    const entries = entriesOf(10_000)
    for (let i = 0; i < 40; i++) {
      await entries.save(`entry ${i}`, bytesOf(800, i))
      await entries.flush()
      // The first entry is used all the time, by a cache of its own.
      if (i % 3 === 0) {
        const reader = entriesOf(10_000)
        expect(await reader.load('entry 0'), `after ${i}`).toEqual(bytesOf(800, 0))
        await reader.flush()
      }
      expect(await sizeOf(await open())).toBeLessThanOrEqual(10_000)
    }
    expect(entries.figures.evictions).toBeGreaterThan(20)
    const found = await Promise.all(Array.from({ length: 40 }, (_entry, i) => entries.load(`entry ${i}`)))
    const kept = [...found.keys()].filter((i) => found[i] !== undefined)
    expect(kept[0]).toBe(0)
    // Besides it, the last ones.
    expect(kept.slice(1)).toEqual(Array.from({ length: kept.length - 1 }, (_entry, i) => 41 - kept.length + i))
    expect(kept.length).toBeGreaterThan(7)
  })

  test('that are larger than the bound are not stored', async () => {
    const entries = entriesOf(1000)
    await entries.save('small', bytesOf(500))
    await entries.save('large', bytesOf(1001))
    await entries.save('large with its header', bytesOf(999))
    await entries.flush()
    expect(await entries.load('small')).toEqual(bytesOf(500))
    expect(entries.figures.evictions).toBe(0)
  })

  test('of two writers are right and bounded in any order of operations', async () => {
    const operation = fc.record({ writer: fc.nat(1), key: fc.nat(9), length: fc.nat(900), isRead: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
        const writers = [entriesOf(6000), entriesOf(6000)]
        await writers[0]!.clear()
        // Content follows from the key, as the bytes of a version of an object do.
        const contentOf = (key: number, length: number) => bytesOf(length, key)
        await Promise.all(
          operations.map(async ({ writer, key, length, isRead }) => {
            const entries = writers[writer]!
            if (!isRead) return entries.save(`${key} ${length}`, contentOf(key, length))
            const found = await entries.load(`${key} ${length}`)
            if (found !== undefined) expect(found).toEqual(contentOf(key, length))
          }),
        )
        await Promise.all(writers.map((each) => each.flush()))
        // Each writer may have written a sixteenth and one entry since it counted those of the other.
        expect(await sizeOf(await open())).toBeLessThanOrEqual(6000 + 2 * (6000 / 16 + 1100))
        for (const { key, length } of operations) {
          const found = await writers[0]!.load(`${key} ${length}`)
          if (found !== undefined) expect(found).toEqual(contentOf(key, length))
        }
        expect(writers.map(({ figures }) => figures.failure)).toEqual([undefined, undefined])
      }),
      { numRuns: runs(40) },
    )
  })

  test.each<keyof CacheBackend>(['read', 'write', 'list', 'remove', 'touch'])(
    'fail no caller where `%s` fails, and the statistics name the failure',
    async (method) => {
      const refuse = () => Promise.reject(new Error(`no ${method}`))
      const entries = entriesOf(3000, (backend) => failing(backend, { [method]: refuse }))
      for (let i = 0; i < 6; i++) {
        await entries.save(`${i}`, bytesOf(1000, i))
        await entries.flush()
        const found = await entries.load(`${i}`)
        if (found !== undefined) expect(found).toEqual(bytesOf(1000, i))
      }
      await entries.clear()
      expect(entries.figures.failure).toBe(`Error: no ${method}`)
    },
  )

  test.each([
    ['a full disk', () => Object.assign(new Error('no space'), { code: 'ENOSPC' })],
    ['a refused quota', () => new DOMException('Quota exceeded.', 'QuotaExceededError')],
  ])('keep to the room that there is after %s, and go on', async (_name, failure) => {
    const room = 4000
    const entries = entriesOf(100_000, (backend) =>
      failing(backend, {
        write: async (name, bytes) => {
          if ((await sizeOf(backend)) + bytes.length > room) throw failure()
          await backend.write(name, bytes)
        },
      }),
    )
    for (let i = 0; i < 20; i++) await entries.save(`${i}`, bytesOf(700, i))
    await entries.flush()
    expect(await entries.load('19')).toEqual(bytesOf(700, 19))
    expect(await entries.load('0')).toBeUndefined()
    expect(await sizeOf(await open())).toBeLessThanOrEqual(room)
    expect(entries.figures.failure).toMatch(/no space|Quota/)
  })
})

test('a place that cannot be opened is a miss, tried once', async () => {
  let opened = 0
  const entries = new PersistentEntries(async () => {
    opened++
    throw new DOMException('The operation is insecure.', 'SecurityError')
  }, 1000)
  await entries.save('a', bytesOf(10))
  await entries.flush()
  expect(await entries.load('a')).toBeUndefined()
  expect([opened, entries.figures.failure]).toEqual([1, 'SecurityError: The operation is insecure.'])
})

describe('a folder of entries', () => {
  test('keeps files of others, and removes temporary files of killed writers after an hour', async () => {
    const entries = new PersistentEntries(async () => new FolderBackend(folder), 5000)
    const name = 'a'.repeat(64)
    const others = ['notes.txt', `${name}.txt`, `x${name}.cache`, 'index', `${name}.tmp`]
    for (const each of others) await writeFile(join(folder, each), 'mine')
    const temporary = ['', '0'].map((digit) => `${name}.${crypto.randomUUID().slice(digit.length)}${digit}.tmp`)
    for (const each of temporary) await writeFile(join(folder, each), 'half')
    const old = Date.now() / 1000 - 7200
    await utimes(join(folder, temporary[0]!), old, old)
    await entries.save('x', bytesOf(100))
    await entries.flush()
    await entries.clear()
    expect((await readdir(folder)).sort()).toEqual([...others, temporary[1]!].sort())
    for (const each of others) expect(await readFile(join(folder, each), 'utf8')).toBe('mine')
  })

  test('is made by the first write, for its owner alone', async () => {
    const path = join(folder, 'a/b/')
    const entries = new PersistentEntries(async () => new FolderBackend(path), 5000)
    expect(await entries.load('x')).toBeUndefined()
    expect(await readdir(folder)).toEqual([])
    await entries.save('x', bytesOf(10))
    await entries.flush()
    const [file] = await readdir(path)
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe('700')
    expect(((await stat(join(path, file!))).mode & 0o777).toString(8)).toBe('600')
    await truncate(join(path, file!), 30)
    expect(await entries.load('x')).toBeUndefined()
  })
})

test('a damaged index of the Cache API changes only the order of eviction', async () => {
  const entries = new PersistentEntries(() => BrowserBackend.open('test'), 5000)
  await entries.save('x', bytesOf(100))
  await entries.flush()
  const cache = await fake.open('hyperslab:test')
  for (const text of ['', '{', '{}', '[1]', '[["x"]]']) {
    await cache.put('https://hyperslab.invalid/index', new Response(text))
    const later = new PersistentEntries(() => BrowserBackend.open('test'), 5000)
    expect(await later.load('x'), text).toEqual(bytesOf(100))
    await later.save('y', bytesOf(100))
    await later.flush()
    expect(await later.load('y'), text).toEqual(bytesOf(100))
    expect(later.figures.failure, text).toBeUndefined()
  }
})
