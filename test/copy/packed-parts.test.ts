import { beforeEach, expect, test } from 'vitest'
import { PackedParts } from '../../src/copy/packed-parts.ts'
import { Scratch } from '../../src/copy/scratch.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { SharedUploads } from '../../src/store/store.ts'

const MIB = 2 ** 20
const ENOUGH = new Error('enough')

/** Uploads that are open. */
let open: Set<string>
let uploads: SharedUploads
let begun: (id: string) => void

beforeEach(() => {
  open = new Set()
  begun = () => undefined
  let count = 0
  uploads = {
    minPartBytes: MIB,
    maxParts: 10,
    check: async () => undefined,
    begin: async () => {
      const id = `upload ${++count}`
      open.add(id)
      begun(id)
      return id
    },
    put: async (_key, id, number) => {
      expect(open).toContain(id)
      return `${number}`
    },
    open: async () => [],
    complete: () => Promise.reject(new Error('not completed here')),
    abort: async (_key, id) => void open.delete(id),
  }
})

/** Two workers on one job. */
function workers() {
  const store = Object.assign(new MemoryStore(), { sharedUploads: uploads })
  const worker = () =>
    new PackedParts({ store, key: 'x.af', mark: 'job' }, new Scratch(async () => ({ store, path: 'scratch/' })))
  return [worker(), worker()] as const
}

test('a worker whose signal aborts when its upload has begun drops it', async () => {
  const [first, second] = workers()
  const controller = new AbortController()
  begun = () => controller.abort(ENOUGH)
  await expect(first.add([], new Uint8Array(MIB), 1, { signal: controller.signal })).rejects.toBe(ENOUGH)
  expect([...open]).toEqual([])
  begun = () => undefined
  expect(await second.add([], new Uint8Array(MIB), 1, {})).toMatchObject({ at: { upload: 'upload 2', tag: '1' } })
  await second.abandon()
  expect([...open]).toEqual([])
})

test('two workers that begin at once share one upload', async () => {
  const [first, second] = workers()
  const both = await Promise.all([first, second].map((worker, i) => worker.add([], new Uint8Array(MIB), i + 1, {})))
  const [id] = [...open]
  expect([...open]).toEqual([id])
  expect(both).toMatchObject([{ at: { upload: id } }, { at: { upload: id } }])
})
