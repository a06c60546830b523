import { describe, expect, test } from 'vitest'
import type { AsyncBuffer } from '../../src/core/async-buffer.ts'
import { BlobStore } from '../../src/store/blob.ts'
import { readableConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'

const missing = 'none.af'

describe('a Blob', () => {
  testAll(
    readableConformance(async (content) => {
      const store = new BlobStore(new Blob([Uint8Array.from(content)]))
      return { store, key: store.key, missing }
    }),
  )
})

describe.each(['views', 'buffers'])('an AsyncBuffer that answers with %s out of a cache', (kind) => {
  testAll(
    readableConformance(async (content) => {
      const cached = new Map<string, Uint8Array<ArrayBuffer>>()
      const slice = async (start: number, end: number): Promise<Uint8Array | ArrayBuffer> => {
        const key = `${start}-${end}`
        if (!cached.has(key)) cached.set(key, Uint8Array.from(content.slice(start, end)))
        return kind === 'views' ? cached.get(key)! : cached.get(key)!.buffer
      }
      const store = new BlobStore({ byteLength: content.length, slice })
      return { store, key: store.key, missing }
    }),
  )
})

describe('an ArrayBuffer', () => {
  testAll(
    readableConformance(async (content) => {
      const store = new BlobStore(Uint8Array.from(content).buffer)
      return { store, key: store.key, missing }
    }),
  )
})

test('is called what a container can be called', () => {
  const named = (name: string) => new BlobStore(new File([], name, { lastModified: 5 })).key
  expect(new BlobStore(new Blob([])).key).toBe('blob.af')
  expect(named('x.af')).toBe('x.af')
  expect(named('x')).toBe('x.af')
  expect(named('')).toBe('blob.af')
  expect(named('.af')).toBe('.af.af')
  expect(new BlobStore(new Uint8Array(3), 'tas').key).toBe('tas.af')
  expect(new BlobStore(new File([], 'x')).describe('x.af')).toBe('x')
})

test('files of one name and size but another date are two versions', async () => {
  const [a, b] = await Promise.all(
    [1, 2].map((lastModified) => new BlobStore(new File(['a'], 'x.af', { lastModified })).stat('x.af')),
  )
  expect(a!.etag).not.toBe(b!.etag)
})

test('a source that breaks its word is named', async () => {
  const broken = (slice: AsyncBuffer['slice']) => new BlobStore({ byteLength: 10, slice }, 'x.af').getRange('x.af', 2, 4)
  await expect(broken(() => new Uint8Array(3))).rejects.toMatchObject({
    tag: 'FormatError',
    details: { file: 'x.af', actual: 3, expected: 4 },
  })
  await expect(broken(() => Promise.reject(new Error('gone')))).rejects.toMatchObject({
    tag: 'StoreError',
    message: expect.stringContaining('gone'),
  })
})

test('an abort ends the wait for a source that does not answer', async () => {
  const store = new BlobStore({ byteLength: 10, slice: () => new Promise(() => {}) })
  const controller = new AbortController()
  const read = store.getRange(store.key, 0, 1, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(read).rejects.toThrow('enough')
})
