import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { raceAbort, type Signal } from '../core/signal.ts'
import { exists, unmatched } from './conditions.ts'
import { emptyRanges } from './empty-ranges.ts'
import { listPages } from './listing.ts'
import { MemoryStage } from './memory.ts'
import { type MergeLimits, planRangeReads, putParts } from './ranges.ts'
import { retrying, Transient } from './retry.ts'
import type {
  ByteRange,
  ConditionalWrites,
  DeleteOptions,
  ListOptions,
  ObjectInfo,
  ObjectTail,
  PublishCondition,
  RangeOptions,
  Stage,
  StoreOptions,
  WholeOptions,
  WritableStore,
} from './store.ts'
import { changed, endsBefore, readVersion } from './store.ts'
import { checkWhole } from './whole.ts'

/** The used part of an R2 bucket, as bound to a Cloudflare Worker. */
export interface R2BucketLike {
  head(key: string): Promise<R2ObjectLike | null>
  get(key: string, options?: R2GetOptions): Promise<R2ObjectLike | null>
  put(key: string, bytes: Uint8Array, options?: { readonly onlyIf?: R2Condition }): Promise<R2ObjectLike | null>
  delete(key: string): Promise<void>
  list(options: { readonly prefix: string; readonly cursor?: string; readonly delimiter?: string }): Promise<R2Page>
}

export interface R2ObjectLike {
  readonly size: number
  readonly etag: string
  /** Reads the body. Present only in results of `get` whose condition held. */
  arrayBuffer?(): Promise<ArrayBuffer>
  /** The same body as a stream; `cancel` discards it. */
  readonly body?: { cancel(): Promise<void> } | null
}

export interface R2GetOptions {
  readonly range?: { readonly offset: number; readonly length: number } | { readonly suffix: number }
  readonly onlyIf?: R2Condition
}

export interface R2Condition {
  readonly etagMatches?: string
  readonly etagDoesNotMatch?: string
}

export interface R2Page {
  readonly objects: readonly { readonly key: string }[]
  /** Folders whose content is not listed; present with a delimiter. */
  readonly delimitedPrefixes?: readonly string[]
  readonly truncated: boolean
  readonly cursor?: string
}

/** Options of {@link R2Store}. */
export interface R2StoreOptions {
  /** Size of the largest file that can be written, in bytes. Default: 32 MiB. See {@link R2Store}. */
  readonly maxFileBytes?: number
  /** Number of retries after a transient failure of R2. Default: 4. */
  readonly retries?: number
  /** Wait before the first retry, in ms. It doubles with each retry, with jitter. Default: 100. */
  readonly retryDelay?: number
}

const CHECKS: Checks<R2StoreOptions> = {
  maxFileBytes: 'number from 0',
  retries: 'integer from 0',
  retryDelay: 'number from 0',
}

/** Requests at a time: workerd has 6 connections for one event. At most 24 MiB are in flight. */
const REQUESTS = 6
const LIMITS: MergeLimits = { maxGapBytes: 64 * 1024, maxRequestBytes: 4 * 2 ** 20 }
const MAX_FILE_BYTES = 32 * 2 ** 20

const NO_REMOVAL = 'R2 does not delete on condition of a version'

/** Error codes of R2, found at the end of a message. */
/** Code of too many requests for one key. R2 has refused the operation and done nothing. */
const BUSY = 10058
/** Codes of internal errors, an unavailable service and a lost connection. R2 may have done the operation. */
const UNCLEAR = [10001, 10043, 10054]

/**
 * Store of the objects of a Cloudflare R2 bucket, through the binding of a Worker. Keys are those of the
 * bucket; messages name objects `r2:key`.
 *
 * A written file collects in memory and is published by one conditional `put`. Multipart uploads accept no
 * condition, so two writers could overwrite each other. Publishing holds the file in memory twice, and a
 * Worker has 128 MB, so files are limited to 32 MiB after compression. Larger files are refused with an
 * `UnsupportedError` before anything is stored. Flush more often, or write large containers elsewhere and
 * upload them. Reading has no limit.
 *
 * Requests to a Worker may share a store, because it keeps no promises. They may not share a container that
 * was opened through it.
 * @example
 * // In a Cloudflare Worker, where `env` has the binding of a bucket.
 * const file = await open({ store: new R2Store(env.BUCKET), path: 'climate.af' })
 * console.log(await file.array('tas').get([0, 0, 0])) // 280
 */
export class R2Store implements WritableStore {
  readonly #bucket: R2BucketLike
  readonly #options: Required<R2StoreOptions>

  /** @throws InvalidArgumentError for a value that is no bucket, and for invalid options */
  constructor(bucket: R2BucketLike, options: R2StoreOptions = {}) {
    checkValue('R2Store', 'bucket.get', Object(bucket).get, 'function')
    checkOptions('R2Store', options, CHECKS)
    const { maxFileBytes = MAX_FILE_BYTES, retries = 4, retryDelay = 100 } = options
    this.#bucket = bucket
    this.#options = { maxFileBytes, retries, retryDelay }
  }

  describe(key: string): string {
    return `r2:${key}`
  }

  /**
   * Names the bytes by key and tag. The tag of R2 is a hash of the content, so buckets need not be
   * distinguished.
   */
  identify(key: string, etag: string): string {
    return `r2:${key} ${etag}`
  }

  async stat(key: string, { signal }: StoreOptions = {}): Promise<ObjectInfo | undefined> {
    const object = await this.#run(key, () => this.#bucket.head(key), signal)
    return object === null ? undefined : toInfo(object)
  }

  async getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return (await this.getRanges(key, [{ offset, length }], options))?.[0]
  }

  async getRanges(key: string, ranges: readonly ByteRange[], options: RangeOptions = {}): Promise<Uint8Array[] | undefined> {
    const requests = planRangeReads(ranges, LIMITS)
    if (requests.length === 0) return emptyRanges(this, key, ranges, options)
    // All requests must read the same version.
    if (requests.length > 1 && options.ifMatch === undefined) {
      const { signal } = options
      return readVersion(this, key, { signal }, ({ etag }) => this.getRanges(key, ranges, { signal, ifMatch: etag }))
    }
    const results = ranges.map(({ length }) => new Uint8Array(length))
    let missing = false
    await forEachLimited(requests, REQUESTS, async (request) => {
      const { offset, length } = request
      const bytes = await this.#range(key, { offset, length }, options)
      if (bytes === undefined) missing = true
      else putParts(results, request, bytes)
    })
    return missing ? undefined : results
  }

  async getTail(key: string, length: number, { signal }: StoreOptions = {}): Promise<ObjectTail | undefined> {
    if (length === 0) {
      const info = await this.stat(key, { signal })
      return info && { ...info, bytes: new Uint8Array(0) }
    }
    const found = await this.#get(key, { range: { suffix: length } }, signal, ({ size }) => Math.min(length, size))
    return found && { ...toInfo(found.object), bytes: found.bytes }
  }

  get(key: string, { maxBytes, signal }: WholeOptions = {}): Promise<ObjectTail | undefined> {
    const file = this.describe(key)
    const attempt = async (): Promise<ObjectTail | undefined> => {
      const object = await this.#bucket.get(key)
      if (object === null) return undefined
      try {
        checkWhole(file, object.size, maxBytes)
      } catch (error) {
        await object.body?.cancel().catch(() => undefined)
        throw error
      }
      const bytes = new Uint8Array(await object.arrayBuffer!())
      checkLength(file, bytes, object.size)
      return { ...toInfo(object), bytes }
    }
    return this.#run(key, attempt, signal)
  }

  list(prefix: string, { signal, shallow = false }: ListOptions = {}): Promise<string[]> {
    return listPages(this.describe(prefix), async (cursor) => {
      const from = { prefix, ...(cursor !== undefined && { cursor }), ...(shallow && { delimiter: '/' }) }
      const page = await this.#run(prefix, () => this.#bucket.list(from), signal)
      const keys = [...page.objects.map(({ key }) => key), ...(page.delimitedPrefixes ?? [])]
      return { keys, truncated: page.truncated, next: page.cursor }
    })
  }

  async put(key: string, bytes: Uint8Array, { signal }: StoreOptions = {}): Promise<void> {
    await this.#run(key, () => this.#bucket.put(key, bytes), signal)
  }

  /** @throws UnsupportedError with `ifMatch`, because R2 does not delete on condition */
  async delete(key: string, { ifMatch, signal }: DeleteOptions = {}): Promise<void> {
    if (ifMatch !== undefined) throw new HyperslabError('UnsupportedError', NO_REMOVAL, { file: this.describe(key) })
    await this.#run(key, () => this.#bucket.delete(key), signal)
  }

  async stage(near: string): Promise<Stage> {
    const { maxFileBytes } = this.#options
    return new MemoryStage(
      (key, bytes, condition) => this.#publish(key, bytes, condition),
      (size) => {
        if (size <= maxFileBytes) return
        const text = `a file of ${size} bytes is more than the ${maxFileBytes} that can be written to R2 at once; flush more often`
        throw new HyperslabError('UnsupportedError', text, { file: this.describe(near), actual: size, expected: maxFileBytes })
      },
    )
  }

  async conditionalWrites(): Promise<ConditionalWrites> {
    return { replace: true, remove: false, reason: NO_REMOVAL }
  }

  /**
   * Publishes under a condition, without retries after unclear failures. If the answer were lost, a retry
   * would mistake its own write for that of another writer.
   */
  async #publish(key: string, bytes: Uint8Array, { ifAbsent, ifMatch }: PublishCondition): Promise<ObjectInfo> {
    if (!ifAbsent && ifMatch === undefined) return toInfo((await this.#run(key, () => this.#bucket.put(key, bytes)))!)
    const onlyIf = ifMatch === undefined ? { etagDoesNotMatch: '*' } : { etagMatches: ifMatch }
    const object = await this.#run(key, () => this.#bucket.put(key, bytes, { onlyIf }), undefined, [BUSY])
    if (object !== null) return toInfo(object)
    if (ifMatch === undefined) throw exists(this.describe(key))
    throw unmatched(this.describe(key), ifMatch, (await this.stat(key))?.etag)
  }

  async #range(key: string, { offset, length }: ByteRange, { ifMatch, signal }: RangeOptions): Promise<Uint8Array | undefined> {
    const file = this.describe(key)
    const options = { range: { offset, length }, ...(ifMatch !== undefined && { onlyIf: { etagMatches: ifMatch } }) }
    const found = await this.#get(key, options, signal, ({ etag, size }) => {
      if (ifMatch !== undefined && etag !== ifMatch) throw changed(file)
      if (offset + length > size) throw endsBefore(file, size, offset + length)
      return length
    })
    return found?.bytes
  }

  /** @param expected returns the expected number of bytes; throws if the object cannot have the range */
  #get(
    key: string,
    options: R2GetOptions,
    signal: Signal | undefined,
    expected: (object: R2ObjectLike) => number,
  ): Promise<{ object: R2ObjectLike; bytes: Uint8Array } | undefined> {
    return this.#run(
      key,
      async () => {
        const { object, bytes, error } = await this.#answer(key, options)
        if (object === null) return undefined
        const length = expected(object)
        if (bytes.length !== length && error !== undefined) throw error
        checkLength(this.describe(key), bytes, length)
        return { object, bytes }
      },
      signal,
    )
  }

  /**
   * Reads from the bucket. R2's error for a range beyond the end differs between runtimes and lacks the size,
   * so every error is followed by a `head`.
   */
  async #answer(
    key: string,
    options: R2GetOptions,
  ): Promise<{ object: R2ObjectLike | null; bytes: Uint8Array; error?: unknown }> {
    const none = new Uint8Array(0)
    try {
      const object = await this.#bucket.get(key, options)
      // Read every body: an unread one would occupy one of the few connections.
      return { object, bytes: object?.arrayBuffer ? new Uint8Array(await object.arrayBuffer()) : none }
    } catch (error) {
      return { object: await this.#bucket.head(key), bytes: none, error }
    }
  }

  /**
   * Runs `work`, and retries failures with one of `codes`. R2 cannot abort an operation, but after an abort
   * the caller no longer waits for it.
   */
  #run<T>(key: string, work: () => Promise<T>, signal?: Signal, codes: readonly number[] = [BUSY, ...UNCLEAR]): Promise<T> {
    const attempt = async (): Promise<T> => {
      try {
        return await raceAbort(work(), signal)
      } catch (cause) {
        if (signal?.aborted || isHyperslabError(cause) || cause instanceof Transient) throw cause
        const reason = cause instanceof Error ? cause.message : String(cause)
        const error = new HyperslabError('StoreError', `R2 failed: ${reason}`, { file: this.describe(key), cause })
        throw codes.includes(parseErrorCode(cause)) ? new Transient(error) : error
      }
    }
    return retrying(this.#options, attempt, signal)
  }
}

const toInfo = ({ size, etag }: R2ObjectLike): ObjectInfo => ({ size, etag })

/**
 * Checks the number of received bytes.
 * @throws Transient
 */
function checkLength(file: string, { length: actual }: Uint8Array, expected: number): void {
  if (actual === expected) return
  throw new Transient(new HyperslabError('StoreError', `R2 gave ${actual} bytes of ${expected}`, { file, actual, expected }))
}

const parseErrorCode = (error: unknown): number => Number(/\((\d+)\)\s*$/.exec(error instanceof Error ? error.message : '')?.[1])
