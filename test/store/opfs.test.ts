import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { DirectoryHandleLike } from '../../src/store/handles.ts'
import { OpfsStore } from '../../src/store/opfs/opfs.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { coarseFiles } from '../support/coarse-files.ts'
import { testAll } from '../support/conformance.ts'

// The store itself is tested in browsers, by test/runtimes; here is what shows without one.

const absent = (): Promise<never> => Promise.reject(Object.assign(new Error('absent'), { name: 'NotFoundError' }))
const empty: DirectoryHandleLike = {
  kind: 'directory',
  name: 'data',
  getFileHandle: absent,
  getDirectoryHandle: absent,
  removeEntry: absent,
  async *values() {},
}

test.each(['', '/x.af', 'x//y.af', 'x/', '../x.af', 'a/../x.af', './x.af', '.hyperslab-stage-1/x.af', 'a/.hyperslab-stage-1'])(
  'the key %j is refused',
  async (key) => {
    const store = new OpfsStore(empty)
    const refused = { tag: 'InvalidArgumentError', details: { file: `data/${key}`, actual: key } }
    await expect(store.stat(key)).rejects.toMatchObject(refused)
    await expect(store.getRange(key, 0, 1)).rejects.toMatchObject(refused)
    await expect(store.put(key, Uint8Array.of(1))).rejects.toMatchObject(refused)
    await expect(store.delete(key)).rejects.toMatchObject(refused)
    await expect(store.stage(key)).rejects.toMatchObject(refused)
  },
)

test('a name that the browser does not take is a bad key', async () => {
  const store = new OpfsStore({ ...empty, getFileHandle: () => Promise.reject(new TypeError('Name is not allowed.')) })
  await expect(store.stat('a\\b')).rejects.toMatchObject({ tag: 'InvalidArgumentError', details: { file: 'data/a\\b' } })
})

test('where there is no such file system', async () => {
  const store = new OpfsStore()
  await expect(store.stat('x.af')).rejects.toMatchObject({ tag: 'UnsupportedError', details: { file: 'opfs:x.af' } })
  await expect(store.list('')).rejects.toMatchObject({ tag: 'UnsupportedError' })
})

test('errors of the browser are named', async () => {
  const failing = (name: string) => {
    const fail = () => Promise.reject(Object.assign(new Error('no'), { name }))
    return new OpfsStore({ ...empty, getFileHandle: fail, getDirectoryHandle: fail })
  }
  await expect(failing('NotAllowedError').stat('x')).rejects.toMatchObject({ tag: 'StoreError', details: { file: 'data/x' } })
  await expect(failing('SecurityError').list('a/')).rejects.toMatchObject({ tag: 'StoreError', details: { file: 'data/a/' } })
})

/** Web Locks of one thread. */
function locksOf() {
  const last = new Map<string, Promise<unknown>>()
  return {
    request(name: string, _: object, work: (lock: object) => Promise<unknown>) {
      const mine = (last.get(name) ?? Promise.resolve()).then(() => work({}))
      last.set(
        name,
        mine.catch(() => undefined),
      )
      return mine
    },
  }
}

describe.each([true, false])('with files that can be moved: %s', (movable) => {
  beforeEach(() => void vi.stubGlobal('navigator', { locks: locksOf() }))
  afterEach(() => void vi.unstubAllGlobals())

  testAll(storeConformance(async () => ({ store: new OpfsStore(coarseFiles({ movable })), prefix: '' })))

  test('versions have names of their own, however coarse the clock', async () => {
    const store = new OpfsStore(coarseFiles({ movable }))
    const etags = new Set<string>()
    for (let i = 0; i < 9; i++) {
      if (i % 3 === 2) await store.delete('x')
      await store.put('x', Uint8Array.of(i))
      etags.add((await store.stat('x'))!.etag)
    }
    expect(etags.size).toBe(9)
  })
})
