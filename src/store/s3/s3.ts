import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { checkMatch } from '../conditions.ts'
import { CLIENT_CHECKS, type HttpClientOptions } from '../http/client.ts'
import type { RequestContext } from '../http/context.ts'
import { isCrossOrigin } from '../http/fetch.ts'
import { HttpReader } from '../http/reader.ts'
import { statusError } from '../http/status-error.ts'
import { listPages } from '../listing.ts'
import { REQUEST_CHECKS, type RequestOptions } from '../requester.ts'
import type {
  ConditionalWrites,
  DeleteOptions,
  ListOptions,
  RangeOptions,
  SharedUploads,
  Stage,
  StoreOptions,
  WritableStore,
} from '../store.ts'
import { ADDRESS_CHECKS, S3Address, type S3AddressOptions } from './address.ts'
import { parsePage, readBody } from './answers.ts'
import { S3Client } from './client.ts'
import { S3Conditions } from './conditions.ts'
import { sharedUploads } from './shared-uploads.ts'
import { type S3CredentialsSource, signing } from './sign.ts'
import { S3Stage, splitBytes } from './stage.ts'
import { type CopiedPart, MAX_PARTS, S3Writer } from './writer.ts'

/** Options of {@link S3Store}. */
export interface S3StoreOptions extends S3AddressOptions, RequestOptions, HttpClientOptions {
  /**
   * Credentials, or a function that returns them. The function is called for every request, so it should
   * cache valid credentials. Without credentials requests are unsigned, which suffices for public buckets.
   */
  readonly credentials?: S3CredentialsSource
  /**
   * Whether the bucket may be listed. Default: true. If false, the store does not write. It treats 403 as
   * "not found", because S3 answers this without permission to list, and requests sidecars one by one.
   */
  readonly listing?: boolean
  /** Statuses treated as "not found". Default: 404 and 410, and 403 with `listing: false`. */
  readonly notFound?: readonly number[] | undefined
  /**
   * Size of the parts of a multipart upload, in bytes, at least 5 MiB. Default: 8 MiB. Larger objects are
   * written in parts. A stage keeps up to one part in memory.
   */
  readonly partBytes?: number
}

const MIB = 2 ** 20

const CHECKS: Checks<S3StoreOptions> = {
  ...ADDRESS_CHECKS,
  ...REQUEST_CHECKS,
  ...CLIENT_CHECKS,
  credentials: 'plain object or function',
  listing: 'boolean',
  notFound: 'list of integers',
  partBytes: `integer from ${5 * MIB} to ${2 ** 30}`,
}

/**
 * Store of the objects in a bucket of S3, or of a server with the same protocol. Keys are those of the
 * bucket.
 *
 * Objects are created by `If-None-Match: *`, and replaced or deleted by `If-Match`. Each store tests once
 * whether its server honours these conditions; Amazon is known to honour the first. While a large object is
 * written, its parts are stored beside it as `{key}.….tmp`. A crashed writer leaves these parts, and
 * incomplete multipart uploads, to the lifecycle rules of the bucket.
 * @example
 * const store = new S3Store({ bucket: 'climate', endpoint: 'https://s3.example.org', listing: false })
 * await using file = await open({ store, path: 'climate.af' })
 * console.log(await file.array('tas').get([0, 0, 0])) // 280
 */
export class S3Store extends HttpReader implements WritableStore {
  readonly sharedUploads: SharedUploads
  /** Lists all keys that start with `prefix`, including other folders. Absent with `listing: false`. */
  readonly list?: (prefix: string, options?: ListOptions) => Promise<string[]>
  readonly #address: S3Address
  readonly #s3: S3Client
  readonly #writer: S3Writer
  readonly #conditions: S3Conditions
  readonly #missing: readonly number[]
  readonly #partBytes: number

  /** @throws InvalidArgumentError for an invalid bucket, endpoint, part size or limit */
  constructor(options: S3StoreOptions) {
    checkOptions('S3Store', options, CHECKS)
    checkValue('S3Store', 'bucket', Object(options).bucket, 'string')
    const { credentials, listing = true, partBytes = 8 * MIB } = options
    const address = new S3Address(options)
    super(options, credentials && signing(credentials, address.region))
    this.#address = address
    this.#s3 = new S3Client(address, this.client, this.requester)
    this.#writer = new S3Writer(this.#s3)
    this.#conditions = new S3Conditions(this.#writer, address)
    this.sharedUploads = sharedUploads(this.#writer, this.#conditions)
    this.#missing = options.notFound ?? (listing ? [404, 410] : [403, 404, 410])
    this.#partBytes = partBytes
    if (listing) this.list = (prefix, options = {}) => this.#list(prefix, options)
  }

  override describe(key: string): string {
    return this.#address.describe(key)
  }

  async put(key: string, bytes: Uint8Array, { signal }: StoreOptions = {}): Promise<void> {
    if (bytes.length <= this.#partBytes) await this.#writer.put(key, bytes, { signal })
    else await this.#writer.putParts(key, splitBytes(bytes, this.#partBytes), { signal })
  }

  async copy(from: string, to: string, { ifMatch, signal }: RangeOptions = {}): Promise<boolean> {
    const info = await this.stat(from, { signal })
    if (info === undefined) return false
    checkMatch(this.describe(from), ifMatch, info)
    // The tag makes the server check that the object still has this version.
    const source = { key: from, size: info.size, etag: info.etag }
    if (info.size <= MAX_COPY_BYTES) await this.#writer.copy(to, source, signal)
    else await this.#writer.putParts(to, copiedParts(source), { signal })
    return true
  }

  async delete(key: string, { ifMatch, signal }: DeleteOptions = {}): Promise<void> {
    const condition = ifMatch === undefined ? {} : { ifMatch: await this.#conditions.matching(ifMatch, 'remove', key) }
    await this.#writer.delete(key, { ...condition, signal })
  }

  async stage(near: string): Promise<Stage> {
    return new S3Stage({
      store: this,
      writer: this.#writer,
      conditions: this.#conditions,
      partBytes: this.#partBytes,
      near,
    })
  }

  conditionalWrites(near: string): Promise<ConditionalWrites> {
    return this.#conditions.all(near)
  }

  protected override place(key: string): RequestContext {
    const url = this.#address.url(key)
    return {
      url,
      file: this.describe(key),
      missing: this.#missing,
      forbidden: FORBIDDEN,
      crossOrigin: isCrossOrigin(url),
      knowsHead: true,
    }
  }

  #list(prefix: string, { signal, shallow = false }: ListOptions): Promise<string[]> {
    const file = this.describe(prefix)
    return listPages(file, (token) => {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        prefix,
        ...(shallow && { delimiter: '/' }),
        ...(token !== undefined && { 'continuation-token': token }),
      }
      return this.#s3.send(
        { method: 'GET', key: '', about: prefix, query },
        [403],
        async (answer) => {
          const xml = await readBody(answer)
          if (answer.status === 403) throw statusError(403, this.place(prefix))
          return parsePage(xml, file)
        },
        signal,
      )
    })
  }
}

/** Maximum size in bytes of one copy request in S3. */
const MAX_COPY_BYTES = 5 * 2 ** 30

/** Returns the parts for the copy of a large object, as few as S3 allows. */
function copiedParts({ size, ...source }: CopiedPart): CopiedPart[] {
  const length = Math.max(2 ** 29, Math.ceil(size / MAX_PARTS))
  return Array.from({ length: Math.ceil(size / length) }, (_, i) => ({
    ...source,
    offset: i * length,
    size: Math.min(length, size - i * length),
  }))
}

const FORBIDDEN =
  'S3 answers so for what does not exist, too, when the bucket may not be listed: pass `notFound: [403, 404]` to read there all the same, or `listing: false` to new S3Store'
