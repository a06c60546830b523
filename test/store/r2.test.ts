import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { type R2BucketLike, type R2Condition, type R2GetOptions, R2Store } from '../../src/store/r2.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'
import { MemoryBucket } from '../support/r2-bucket.ts'

// Against a bucket in workerd, `npm run test:runtimes -- workerd` runs the whole conformance. Here is what
// that one never does: fail.

const ENOUGH = { retryDelay: 1 }
const BUSY = new Error('put: Reduce your concurrent request rate for the same object. (10058)')
const INTERNAL = new Error('get: We encountered an internal error. Please try again. (10001)')
const FORBIDDEN = new Error('get: Access denied. (10003)')

/** A bucket of one object, `x`, which fails as told before it does anything. */
class OneObject implements R2BucketLike {
  readonly calls: string[] = []
  readonly failures: Error[] = []
  /** Failures of writes that are carried out. */
  readonly lost: Error[] = []
  /** Versions of the object, returned one after another. The last one stays. */
  versions: Uint8Array[]

  constructor(...versions: Uint8Array[]) {
    this.versions = versions
  }

  async head() {
    return this.#object('head')
  }

  async get(_key: string, { range, onlyIf }: R2GetOptions = {}) {
    const object = this.#object('get')
    if (object === null || (onlyIf && onlyIf.etagMatches !== object.etag)) return object
    const content = this.versions[0]!
    if (this.versions.length > 1) this.versions.shift()
    const bytes = range && 'offset' in range ? content.slice(range.offset, range.offset + range.length) : content.slice()
    return { ...object, arrayBuffer: async () => bytes.buffer }
  }

  async put(_key: string, bytes: Uint8Array, { onlyIf }: { readonly onlyIf?: R2Condition } = {}) {
    const object = this.#object('put')
    if (onlyIf?.etagDoesNotMatch === '*' && object !== null) return null
    if (onlyIf?.etagMatches !== undefined && object?.etag !== onlyIf.etagMatches) return null
    this.versions = [bytes]
    const lost = this.lost.shift()
    if (lost) throw lost
    return { size: bytes.length, etag: String(bytes[0]) }
  }

  async delete() {
    this.#object('delete')
    this.versions = []
  }

  async list() {
    this.#object('list')
    return { objects: [], truncated: false }
  }

  #object(call: string) {
    this.calls.push(call)
    const failure = this.failures.shift()
    if (failure) throw failure
    const [bytes] = this.versions
    return bytes === undefined ? null : { size: bytes.length, etag: String(bytes[0]) }
  }
}

const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value)

describe('the conformance, with a bucket in memory', () => {
  testAll(storeConformance(async () => ({ store: new R2Store(new MemoryBucket(), ENOUGH), prefix: 'a/' })))
})

describe('R2 store', () => {
  test('a folder alone is listed with the folders in it', async () => {
    const store = new R2Store(new MemoryBucket(), ENOUGH)
    for (const key of ['g/x', 'g/a/y', 'g/a/b/z', 'h/x']) await store.put(key, filled(1, 1))
    expect(await store.list('g/', { shallow: true })).toEqual(['g/x', 'g/a/'])
    expect((await store.list('g/')).length).toBe(3)
  })

  test('passing failures are repeated, others are not', async () => {
    const bucket = new OneObject(filled(3, 1))
    const store = new R2Store(bucket, ENOUGH)
    bucket.failures.push(BUSY, INTERNAL)
    expect(await store.stat('x')).toEqual({ size: 3, etag: '1' })
    expect(bucket.calls).toEqual(['head', 'head', 'head'])
    bucket.failures.push(FORBIDDEN)
    const refused = { tag: 'StoreError', details: { file: 'r2:x', cause: FORBIDDEN } }
    await expect(store.put('x', filled(1, 2))).rejects.toMatchObject(refused)
    expect(bucket.calls.length).toBe(4)
  })

  test('a range is repeated, and its error is not mistaken for one beyond the end', async () => {
    const bucket = new OneObject(filled(3, 1))
    const store = new R2Store(bucket, ENOUGH)
    bucket.failures.push(INTERNAL)
    expect(await store.getRange('x', 0, 2)).toEqual(filled(2, 1))
    expect(bucket.calls).toEqual(['get', 'head', 'get'])
    bucket.failures.push(FORBIDDEN)
    await expect(store.getRange('x', 0, 2)).rejects.toMatchObject({ tag: 'StoreError', details: { cause: FORBIDDEN } })
    bucket.failures.push(INTERNAL)
    await expect(store.getRange('x', 2, 2)).rejects.toMatchObject({ tag: 'FormatError', details: { actual: 3, expected: 4 } })
  })

  test('after failures without end the error says so', async () => {
    const bucket = new OneObject(filled(3, 1))
    for (let i = 0; i < 4; i++) bucket.failures.push(INTERNAL)
    await expect(new R2Store(bucket, { retries: 2, retryDelay: 1 }).stat('x')).rejects.toMatchObject({
      tag: 'StoreError',
      message: expect.stringMatching(/^r2:x: .*internal error/),
    })
    expect(bucket.calls.length).toBe(3)
  })

  test('publishing if absent: a refusal is repeated, an unclear end is not; the stage can go again', async () => {
    const bucket = new OneObject()
    const stage = await new R2Store(bucket, ENOUGH).stage('x')
    await stage.append(filled(2, 7))
    bucket.failures.push(BUSY, INTERNAL)
    await expect(stage.publish('x', filled(1, 8), { ifAbsent: true })).rejects.toMatchObject({ tag: 'StoreError' })
    expect(bucket.calls).toEqual(['put', 'put'])
    expect(await stage.publish('x', filled(1, 8), { ifAbsent: true })).toEqual({ size: 3, etag: '7' })
    await expect(stage.publish('x', filled(1, 8), { ifAbsent: true })).rejects.toMatchObject({ tag: 'ConflictError' })
    bucket.failures.push(INTERNAL)
    expect(await stage.publish('x', filled(2, 8), { ifAbsent: false })).toEqual({ size: 4, etag: '7' })
  })

  test('publishing over a version replaces that one and no other, nor one that is gone', async () => {
    const bucket = new OneObject(filled(3, 1))
    const store = new R2Store(bucket, ENOUGH)
    const stage = await store.stage('x')
    const publish = (value: number, ifMatch: string) => stage.publish('x', filled(2, value), { ifAbsent: false, ifMatch })
    expect(await publish(2, '1')).toEqual({ size: 2, etag: '2' })
    const changed = { tag: 'ConflictError', details: { file: 'r2:x', actual: '2', expected: '1' } }
    await expect(publish(3, '1')).rejects.toMatchObject(changed)
    expect(await store.getRange('x', 0, 2)).toEqual(filled(2, 2))
    await store.delete('x')
    await expect(publish(3, '2')).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(await store.stat('x')).toBeUndefined()
  })

  test('replacing a version is repeated after a refusal, and not after an unclear end: the second would take the first for another', async () => {
    const bucket = new OneObject(filled(3, 1))
    const stage = await new R2Store(bucket, ENOUGH).stage('x')
    const publish = (value: number, ifMatch: string) => stage.publish('x', filled(2, value), { ifAbsent: false, ifMatch })
    bucket.failures.push(BUSY)
    expect(await publish(2, '1')).toEqual({ size: 2, etag: '2' })
    bucket.lost.push(INTERNAL)
    await expect(publish(3, '2')).rejects.toMatchObject({ tag: 'StoreError', details: { cause: INTERNAL } })
    expect(bucket.calls).toEqual(['put', 'put', 'put'])
    expect(bucket.versions).toEqual([filled(2, 3)])
  })

  test('a compaction whose answer is lost is known by the identity of its base', async () => {
    const bucket = new MemoryBucket()
    const store = new R2Store(bucket, ENOUGH)
    await using file = await ArrayFile.create(store, 'a.af')
    await file.createArray('x', { dtype: 'uint8', shape: [2] }).set(null, 1)
    await file.flush()
    await file.array('x').set([1], 2)
    await file.flush()
    bucket.losing = 'a.af'
    await file.compact()
    expect(bucket.losing).toBeUndefined()
    await using reader = await ArrayFile.open(store, 'a.af')
    expect(reader.layers().map(({ number }) => number)).toEqual([0])
    expect((await reader.array('x').get()).data).toEqual(Uint8Array.of(1, 2))
  })

  test('ranges are of one version, also when the object is replaced between requests', async () => {
    const size = 9 * 2 ** 20
    const bucket = new OneObject(filled(size, 1), filled(size, 2))
    const both = [
      { offset: 0, length: 1 },
      { offset: size - 1, length: 1 },
    ]
    expect(await new R2Store(bucket).getRanges('x', both)).toEqual([filled(1, 2), filled(1, 2)])
    expect(bucket.calls.filter((call) => call === 'head').length).toBe(2)
  })

  test('a truncated answer is not taken for the whole', async () => {
    class Truncating extends OneObject {
      override async get(key: string, options?: R2GetOptions) {
        const object = await super.get(key, options)
        return object && { ...object, arrayBuffer: async () => new ArrayBuffer(1) }
      }
    }
    const store = new R2Store(new Truncating(filled(5, 1)), { retries: 1, retryDelay: 1 })
    const truncated = { tag: 'StoreError', details: { file: 'r2:x', actual: 1, expected: 2 } }
    await expect(store.getRange('x', 0, 2)).rejects.toMatchObject(truncated)
    await expect(store.getTail('x', 2)).rejects.toMatchObject(truncated)
  })

  test('a whole object is asked for once; one that is too large is given up, not read', async () => {
    let given = 0
    const bucket = new OneObject(new Uint8Array(40))
    const body = { cancel: async () => void given++ }
    const get = async () => ({ ...(await bucket.head())!, body, arrayBuffer: () => Promise.reject(new Error('read')) })
    const store = new R2Store({ ...bucket, get } as never, ENOUGH)
    await expect(store.get('x', { maxBytes: 39 })).rejects.toMatchObject({
      tag: 'TooLargeError',
      details: { file: 'r2:x', actual: 40, expected: 39 },
    })
    expect(given).toBe(1)
    const other = new OneObject(Uint8Array.of(7, 8))
    expect(await new R2Store(other, ENOUGH).get('x')).toEqual({ size: 2, etag: '7', bytes: Uint8Array.of(7, 8) })
    expect(other.calls).toEqual(['get'])
  })

  test('who aborts waits no longer, and asks for nothing more', async () => {
    class Hanging extends OneObject {
      override get(): Promise<never> {
        this.calls.push('get')
        return new Promise(() => undefined)
      }
    }
    const bucket = new Hanging(filled(40 * 2 ** 20, 1))
    const controller = new AbortController()
    const { signal } = controller
    const read = new R2Store(bucket).getRange('x', 0, 40 * 2 ** 20, { signal, ifMatch: '1' })
    controller.abort(new Error('enough'))
    await expect(read).rejects.toThrow('enough')
    expect(bucket.calls.length).toBe(6)
    await expect(new R2Store(bucket).stat('x', { signal })).rejects.toThrow('enough')
    expect(bucket.calls.length).toBe(6)
  })
})
