import { describe, expect, test } from 'vitest'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Stage } from '../../src/store/store.ts'
import { type ListedStore, raceWriters, storeConformance } from '../../src/testing/index.ts'

/** A store in memory of which some part is not what it should be. */
const broken = (part: (store: MemoryStore) => Partial<ListedStore>) => async () => {
  const store = new MemoryStore()
  const wrong = part(store)
  const view = new Proxy(store, {
    get: (_, name) => {
      const value = (wrong as Record<PropertyKey, unknown>)[name] ?? (store as unknown as Record<PropertyKey, unknown>)[name]
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
  return { store: view as unknown as ListedStore, prefix: 'data/' }
}

const publishing = (publish: (stage: Stage) => Stage['publish']) => (store: MemoryStore) => ({
  stage: async () => {
    const stage = await store.stage()
    const inner = { publish: publish(stage), append: stage.append.bind(stage), read: stage.read.bind(stage) }
    return { ...inner, discard: stage.discard.bind(stage), get size() { return stage.size } } // biome-ignore format: one line
  },
})

const FAULTS: [string, (store: MemoryStore) => Partial<ListedStore>, RegExp][] = [
  ['takes another version', (s) => ({ getRange: (key, offset, length) => s.getRange(key, offset, length) }), /a version is read/],
  ['gives its own bytes away', (s) => sharing(s), /results belong/],
  ['fails for what is missing', () => ({ stat: async () => Promise.reject(new Error('404')) }), /a missing object/],
  ['lists everything', (s) => ({ list: () => s.list('') }), /nothing in an empty store|put, stat/],
  ['keeps what is deleted', () => ({ delete: async () => {} }), /put, stat/],
  ['overwrites', publishing((stage) => (key, tail) => stage.publish(key, tail, { ifAbsent: false })), /exactly one wins/],
  ['forgets the tail', publishing((stage) => (key, _, options) => stage.publish(key, new Uint8Array(), options)), /a stage is/],
  ['never replaces', publishing((stage) => (key, tail) => stage.publish(key, tail, { ifAbsent: true })), /replaces it/],
]

/** Answers with the same bytes every time, so that one caller's changes are seen by the next. */
function sharing(store: MemoryStore): Partial<ListedStore> {
  const given = new Map<string, Uint8Array | undefined>()
  return {
    getRange: async (key, offset, length, options) => {
      const name = `${key} ${offset} ${length}`
      if (!given.has(name)) given.set(name, await store.getRange(key, offset, length, options))
      return given.get(name)
    },
  }
}

const failures = async (make: Parameters<typeof storeConformance>[0]): Promise<string[]> => {
  const failed: string[] = []
  for (const { name, run } of storeConformance(make)) await run().catch(() => failed.push(name))
  return failed
}

describe('the conformance suite finds a store that', () => {
  test('behaves', async () => {
    expect(await failures(broken(() => ({})))).toEqual([])
  })

  test.each(FAULTS)('%s', async (_, part, expected) => {
    expect((await failures(broken(part))).join('\n')).toMatch(expected)
  })
})

test('the race finds a store on which two writers can have one number', async () => {
  const { store } = await broken(publishing((stage) => (key, tail) => stage.publish(key, tail, { ifAbsent: false })))()
  await expect(raceWriters({ storeFor: () => store, path: 'a.af', seed: 1 })).rejects.toThrow(/expected/)
})
