import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MemoryStore } from '../../../src/store/memory.ts'
import { PersistentEntries } from '../../../src/store/persistent/entries.ts'
import { FolderBackend } from '../../../src/store/persistent/folder-backend.ts'
import { persisted } from '../../../src/store/persistent/persisted.ts'
import type { Store } from '../../../src/store/store.ts'
import { runs, timeLimit } from '../../support/budget.ts'
import type { Manners, RudeServer } from '../../support/rude-server.ts'
import { counting, serve, slow } from '../../support/served.ts'

let rude: RudeServer
let url: string
serve(100, (server, address) => {
  rude = server
  url = address
})

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-persisted-'))
})
const all: PersistentEntries[] = []
afterEach(async () => {
  for (const entries of all.splice(0)) await entries.flush()
  await rm(folder, { recursive: true })
})

function newEntries(): PersistentEntries {
  const entries = new PersistentEntries(async () => new FolderBackend(folder), 2 ** 20)
  all.push(entries)
  return entries
}

/** Runs reads in a process of its own, as it were, and returns their results with the requests. */
async function visit<T>(read: (store: Store) => Promise<T>): Promise<{ found: T; log: string[] }> {
  const entries = newEntries()
  rude.seen.length = 0
  const found = await read(persisted(slow(), entries))
  await entries.flush()
  return { found, log: rude.log }
}

describe('a second visit asks for the version alone, and gets the same', () => {
  test.each<[string, (store: Store) => Promise<unknown>, string[]]>([
    ['a whole object', (store) => store.get!(url), ['HEAD']],
    ['its first bytes', (store) => store.getStart!(url, 30), ['HEAD']],
    ['its first and last bytes', (store) => store.getStart!(url, 30, { tailBytes: 20 }), ['HEAD']],
    ['more first bytes than there are', (store) => store.getStart!(url, 300, { tailBytes: 200 }), ['HEAD']],
    ['its last bytes', (store) => store.getTail!(url, 30), ['HEAD']],
    ['ranges of a known version', (store) => store.getRanges!(url, RANGES, { ifMatch: '"v1"' }), []],
    ['a range of a known version', (store) => store.getRange(url, 90, 10, { ifMatch: '"v1"' }), []],
  ])('%s', async (_, read, expected) => {
    const first = await visit(read)
    expect(first.log.filter((line) => line.startsWith('GET'))).not.toEqual([])
    const second = await visit(read)
    expect(second.log).toEqual(expected)
    expect(second.found).toEqual(first.found)
    rude.put('x.af', counting(100).reverse())
    const plain = await read(slow()).catch((error: Error) => error)
    const changed = await visit((store) => read(store).catch((error: Error) => error))
    // A version that is gone is still known; reads of the current one see the change.
    if (expected.length === 0) expect(changed.found).toEqual(first.found)
    else expect(changed.found).toEqual(plain)
  })
})

const RANGES = [
  { offset: 5, length: 10 },
  { offset: 70, length: 0 },
  { offset: 40, length: 30 },
]

test('only the ranges without an entry are requested', async () => {
  const options = { ifMatch: '"v1"' }
  await visit((store) => store.getRanges!(url, [RANGES[0]!], options))
  const { found, log } = await visit((store) => store.getRanges!(url, RANGES, options))
  expect(found).toEqual([counting(100).subarray(5, 15), new Uint8Array(0), counting(100).subarray(40, 70)])
  expect(log).toEqual(['GET bytes=40-69'])
  const fresh = await visit((store) => store.getRanges!(url, [RANGES[0]!], { ...options, fresh: true }))
  expect(fresh.log).toEqual(['GET bytes=5-14'])
})

test('an object that appears, changes and disappears is never read as it was', async () => {
  const whole = (store: Store) => store.get!(`${rude.origin}/y`)
  expect((await visit(whole)).found).toBeUndefined()
  for (const bytes of [counting(10), counting(20), counting(10).reverse(), new Uint8Array(0), counting(10)]) {
    rude.put('y', bytes)
    for (const _visit of [1, 2]) expect((await visit(whole)).found?.bytes).toEqual(bytes)
  }
  rude.reset()
  expect((await visit(whole)).found).toBeUndefined()
})

test.each<[string, Manners]>([
  ['weak', { weakEtag: true }],
  ['no', { noEtag: true }],
])('objects with %s ETags are requested each time', async (_, manners) => {
  for (const _visit of [1, 2]) {
    rude.manners = manners
    const { found, log } = await visit((store) => store.get!(url))
    expect([found?.bytes, log]).toEqual([counting(100), ['GET']])
  }
})

test('an answer of more than `maxBytes` is refused whether or not an entry has it', async () => {
  await visit((store) => store.get!(url))
  await expect(visit((store) => store.get!(url, { maxBytes: 40 }))).rejects.toMatchObject({ tag: 'TooLargeError' })
})

test('a new signature of S3 in the query finds the same entries, another query does not', async () => {
  const at = (query: string) => visit((store) => store.get!(`${url}?${query}`))
  const signed = (signature: string) => `X-Amz-Date=${signature}&versionId=3&X-Amz-Signature=${signature}`
  expect((await at(signed('1'))).log).toEqual(['GET'])
  expect((await at(signed('2'))).log).toEqual(['HEAD'])
  expect((await at(signed('2').replace('versionId=3', 'versionId=4'))).log).toEqual(['GET'])
})

test('an aborted read stores nothing wrong and ends with the reason', async () => {
  const controller = new AbortController()
  rude.manners = { stall: 40 }
  const aborted = visit((store) => store.get!(url, { signal: controller.signal }))
  setTimeout(() => controller.abort(new Error('enough')), 50)
  await expect(aborted).rejects.toThrow('enough')
  await rude.idle()
  rude.manners = {}
  expect((await visit((store) => store.get!(url))).found?.bytes).toEqual(counting(100))
  const signal = AbortSignal.abort(new Error('before'))
  const options = { signal, ifMatch: '"v1"' }
  await expect(visit((store) => store.getRange(url, 0, 100, options))).rejects.toThrow('before')
})

test('stores on this machine are returned as they are', () => {
  const store = new MemoryStore()
  expect(persisted(store, newEntries())).toBe(store)
})

test(
  'any sequence of writes, reads and visits returns the current bytes',
  async () => {
    const length = fc.nat(40)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), length, seed: fc.nat(250) }),
      fc.record({ kind: fc.constant('visit' as const) }),
      fc.record({ kind: fc.constantFrom('get', 'start', 'tail', 'range'), length, other: length }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
        let entries = newEntries()
        await entries.clear()
        let store = persisted(slow(), entries)
        let bytes = counting(30)
        rude.put('z', bytes)
        const key = `${rude.origin}/z`
        for (const each of steps) {
          if (each.kind === 'put') {
            bytes = new Uint8Array(each.length).fill(each.seed)
            rude.put('z', bytes)
          } else if (each.kind === 'visit') {
            await entries.flush()
            entries = newEntries()
            store = persisted(slow(), entries)
          } else if ('other' in each) {
            if (each.kind === 'get') expect((await store.get!(key))?.bytes).toEqual(bytes)
            if (each.kind === 'tail')
              expect((await store.getTail!(key, each.length))?.bytes).toEqual(bytes.slice(-each.length || bytes.length))
            if (each.kind === 'start') {
              const found = await store.getStart!(key, each.length + 1, { tailBytes: each.other })
              expect(found?.bytes).toEqual(bytes.slice(0, each.length + 1))
              if (found?.tail) expect(found.tail).toEqual(bytes.slice(bytes.length - found.tail.length))
            }
            if (each.kind === 'range') {
              const { etag, size } = (await store.stat(key))!
              const offset = Math.min(each.other, size)
              const count = Math.min(each.length, size - offset)
              const found = await store.getRange(key, offset, count, { ifMatch: etag })
              expect(found).toEqual(bytes.slice(offset, offset + count))
            }
          }
        }
      }),
      { numRuns: runs(60) },
    )
  },
  timeLimit(60_000),
)
