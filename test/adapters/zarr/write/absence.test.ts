import { describe, expect, test } from 'vitest'
import type { ZarrArray } from '../../../../src/adapters/zarr/group.ts'
import { openNode } from '../../../../src/adapters/zarr/open.ts'
import type { Fetch } from '../../../../src/store/http/fetch.ts'
import { S3Store } from '../../../../src/store/s3/s3.ts'

const ARRAY = {
  zarr_format: 3,
  node_type: 'array',
  shape: [8],
  data_type: 'int8',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [4] } },
  chunk_key_encoding: { name: 'default' },
  fill_value: 0,
  codecs: [{ name: 'bytes' }],
}
const SHARDED = {
  ...ARRAY,
  codecs: [
    {
      name: 'sharding_indexed',
      configuration: {
        chunk_shape: [2],
        codecs: [{ name: 'bytes' }],
        index_codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
      },
    },
  ],
}

type Bytes = Uint8Array<ArrayBuffer>

/**
 * A bucket whose policy denies reading some objects, and stores what is written where conditions allow it.
 */
class Bucket {
  readonly objects = new Map<string, { bytes: Bytes; etag: string }>()
  /** Whether an object may not be read. Keys that nothing has are answered 403, too. */
  denied: (key: string) => boolean = () => false
  /** Whether conditions are honoured. */
  honours = true
  /** Called between a read and the write after it. */
  beforePut: (key: string) => void = () => undefined
  #versions = 0

  constructor(metadata: object) {
    this.put('a.zarr/zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
  }

  put(key: string, bytes: Bytes): void {
    this.objects.set(key, { bytes, etag: `"${++this.#versions}"` })
  }

  bytesOf(key: string): number[] | undefined {
    const found = this.objects.get(key)
    return found && [...found.bytes]
  }

  open(options: { readonly endpoint?: string } = {}): Promise<ZarrArray> {
    const fetch: Fetch = async (url, init) =>
      this.#answer(decodeURIComponent(new URL(url).pathname.replace(/^\/(b\/)?/, '')), init)
    const store = new S3Store({ bucket: 'b', fetch, retryDelay: 1, notFound: [403, 404], ...options })
    return openNode(store, 'a.zarr', { mode: 'r+' }) as Promise<ZarrArray>
  }

  #answer(key: string, { method, headers, body }: Parameters<Fetch>[1]): Response {
    const found = this.objects.get(key)
    if (method === 'PUT') {
      this.beforePut(key)
      const now = this.objects.get(key)
      if (this.honours && headers['if-none-match'] === '*' && now !== undefined) return refused(412, 'PreconditionFailed')
      if (this.honours && headers['if-match'] !== undefined && headers['if-match'] !== now?.etag)
        return refused(412, 'PreconditionFailed')
      this.put(key, new Uint8Array(body as Uint8Array))
      return new Response('', { headers: { etag: this.objects.get(key)!.etag } })
    }
    if (method === 'DELETE') {
      if (this.honours && headers['if-match'] !== undefined && headers['if-match'] !== found?.etag)
        return refused(412, 'PreconditionFailed')
      this.objects.delete(key)
      return new Response(null, { status: 204 })
    }
    if (found === undefined || this.denied(key)) return refused(403, 'AccessDenied')
    const { bytes, etag } = found
    return new Response(method === 'HEAD' ? null : bytes, { headers: { etag, 'content-length': String(bytes.length) } })
  }
}

const refused = (status: number, code: string): Response =>
  new Response(`<Error><Code>${code}</Code><Message>No</Message></Error>`, { status })

const CHUNK = 'a.zarr/c/0'
const KINDS = [
  ['a chunk', ARRAY],
  ['a shard', SHARDED],
] as const

describe.each(KINDS)('%s that is answered 403', (_, metadata) => {
  /** With values in it, written by a caller who may read. */
  async function stored(): Promise<{ bucket: Bucket; before: number[] }> {
    const bucket = new Bucket(metadata)
    await (await bucket.open()).set([{ start: 0, stop: 4, step: 1 }], Int8Array.of(1, 2, 3, 4))
    return { bucket, before: bucket.bytesOf(CHUNK)! }
  }
  const unreadable = { tag: 'StoreError', message: expect.stringMatching(/answered 403.*may not be read: it was not changed/s) }

  test.each([
    ['other values', 9],
    ['the fill value', 0],
  ])('an existing object answered with 403 keeps its bytes if a part of it is set to %s', async (_, value) => {
    const { bucket, before } = await stored()
    bucket.denied = (key) => key === CHUNK
    await expect((await bucket.open()).set([1], value)).rejects.toMatchObject(unreadable)
    expect(bucket.bytesOf(CHUNK)).toEqual(before)
    bucket.denied = () => false
    const { data } = (await (await bucket.open()).get([null])) as { data: Int8Array }
    expect([...data]).toEqual([1, 2, 3, 4, 0, 0, 0, 0])
  })

  test('and does not exist is created', async () => {
    const bucket = new Bucket(metadata)
    const array = await bucket.open()
    await array.set([1], 9)
    expect([...((await array.get([null])) as { data: Int8Array }).data]).toEqual([0, 9, 0, 0, 0, 0, 0, 0])
  })

  test('and is created by another writer meanwhile keeps the bytes of that one', async () => {
    const bucket = new Bucket(metadata)
    const array = await bucket.open()
    const { before, bucket: other } = await stored()
    bucket.beforePut = (key) => {
      if (key === CHUNK) bucket.put(CHUNK, other.objects.get(CHUNK)!.bytes)
    }
    await expect(array.set([1], 9)).rejects.toMatchObject({ tag: 'StoreError' })
    expect(bucket.bytesOf(CHUNK)).toEqual(before)
  })

  test('keeps its bytes where the server ignores conditions', async () => {
    const { bucket, before } = await stored()
    bucket.denied = (key) => key === CHUNK
    bucket.honours = false
    await expect((await bucket.open({ endpoint: 'http://127.0.0.1:9' })).set([1], 9)).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringContaining('ignores If-None-Match'),
    })
    expect(bucket.bytesOf(CHUNK)).toEqual(before)
  })

  test('keeps its bytes when the session has ended after it was opened', async () => {
    const { bucket, before } = await stored()
    const array = await bucket.open()
    bucket.denied = () => true
    await expect(array.set([1], 9)).rejects.toMatchObject({ tag: 'StoreError' })
    await expect(array.set([1], 0)).rejects.toMatchObject({ tag: 'StoreError' })
    expect(bucket.bytesOf(CHUNK)).toEqual(before)
  })
})
