import { parseJson } from '../../core/json.ts'
import { withMembers } from '../../core/overlay.ts'
import type { Signal } from '../../core/signal.ts'
import type {
  ByteRange,
  ObjectInfo,
  ObjectStart,
  ObjectTail,
  RangeOptions,
  ReadOptions,
  StartOptions,
  Store,
  WholeOptions,
} from '../store.ts'
import { readTail } from '../store.ts'
import type { PersistentEntries } from './entries.ts'

/** A range of known bytes. */
interface Part extends ByteRange {
  readonly bytes: Uint8Array
}

/** Parameters of a signed URL of S3. They change with each signature and do not affect the content. */
const SIGNATURE = /(?<=[?&])X-Amz-(Algorithm|Credential|Date|Expires|SignedHeaders|Signature|Security-Token)=[^&\s]*&?/gi

/**
 * Returns a store whose reads are answered from persistent entries. Each entry is a range of one version of
 * an object. A read that names no version always contacts the server, so no replaced object is returned.
 * Local stores, and stores that cannot identify versions, are returned unchanged.
 */
export function persisted(store: Store, entries: PersistentEntries): Store {
  if (store.identify === undefined || store.getRanges === undefined) return store
  const reads = new PersistedReads(store, entries)
  const members: Partial<Store> = {
    getRange: async (key, offset, length, options) => (await reads.ranges(key, [{ offset, length }], options))?.[0],
    getRanges: (key, ranges, options) => reads.ranges(key, ranges, options),
    getTail: (key, length, options) => reads.tail(key, length, options),
    ...(store.getStart && { getStart: (key, length, options) => reads.start(key, length, options) }),
    ...(store.get && { get: (key, options) => reads.whole(key, options) }),
  }
  return withMembers<Store>(store, members)
}

const lastRange = (size: number, length: number): ByteRange => {
  const wanted = Math.min(length, size)
  return { offset: size - wanted, length: wanted }
}

/** An answer of a server: the first or the last bytes of an object. */
type Answer = ObjectInfo & { readonly bytes: Uint8Array; readonly tail?: Uint8Array | undefined }

/** Ways to answer a read of the current version: from entries, or by the store. */
interface Answers<T> {
  readonly found: (info: ObjectInfo, bytes: readonly Uint8Array[]) => T
  readonly fetch: () => Promise<T | undefined>
}

class PersistedReads {
  readonly #store: Store
  readonly #entries: PersistentEntries

  constructor(store: Store, entries: PersistentEntries) {
    this.#store = store
    this.#entries = entries
  }

  /** Reads ranges. If the version is known, only the ranges without an entry are requested. */
  async ranges(key: string, ranges: readonly ByteRange[], options: RangeOptions = {}): Promise<Uint8Array[] | undefined> {
    const { ifMatch, fresh, signal } = options
    const version = ifMatch === undefined ? undefined : this.#identify(key, ifMatch)
    const fetch = (wanted: readonly ByteRange[]) => this.#store.getRanges!(key, wanted, options)
    if (version === undefined || ranges.length === 0) return fetch(ranges)
    const found = fresh ? [] : await this.#load(version, ranges, signal)
    const missing = ranges.filter((_, i) => found[i] === undefined)
    const fetched = missing.length === 0 ? [] : await fetch(missing)
    if (fetched === undefined) return undefined
    await this.#save(
      version,
      missing.map((range, i) => ({ ...range, bytes: fetched[i]! })),
    )
    let next = 0
    return ranges.map((_, i) => found[i] ?? fetched[next++]!)
  }

  tail(key: string, length: number, options?: ReadOptions): Promise<ObjectTail | undefined> {
    return this.#current<ObjectTail>(key, options, ({ size }) => [lastRange(size, length)], {
      found: (info, [bytes]) => ({ ...info, bytes: bytes! }),
      fetch: () => readTail(this.#store, key, length, options),
    })
  }

  start(key: string, length: number, options: StartOptions = {}): Promise<ObjectStart | undefined> {
    const { tailBytes = 0 } = options
    const toRanges = ({ size }: ObjectInfo) => [
      { offset: 0, length: Math.min(length, size) },
      lastRange(size, size > length ? tailBytes : 0),
    ]
    return this.#current<ObjectStart>(key, options, toRanges, {
      found: (info, [bytes, tail]) => ({ ...info, bytes: bytes!, ...(tail!.length > 0 && { tail: tail! }) }),
      fetch: () => this.#store.getStart!(key, length, options),
    })
  }

  whole(key: string, options: WholeOptions = {}): Promise<ObjectTail | undefined> {
    const { maxBytes = Infinity } = options
    return this.#current<ObjectTail>(key, options, ({ size }) => (size > maxBytes ? undefined : [{ offset: 0, length: size }]), {
      found: (info, [bytes]) => ({ ...info, bytes: bytes! }),
      fetch: () => this.#store.get!(key, options),
    })
  }

  /**
   * Reads the current version. If the version of the last read has entries for all ranges, the server is
   * asked only whether this version is still current.
   */
  async #current<T extends Answer>(
    key: string,
    { signal }: ReadOptions = {},
    toRanges: (info: ObjectInfo) => readonly ByteRange[] | undefined,
    { found, fetch }: Answers<T>,
  ): Promise<T | undefined> {
    const last = await this.#lastVersion(key)
    const version = last && this.#identify(key, last.etag)
    const ranges = version === undefined ? undefined : toRanges(last!)
    const bytes = ranges && (await this.#load(version!, ranges, signal))
    if (bytes?.every((each) => each !== undefined)) {
      const now = await this.#store.stat(key, { signal })
      if (now?.etag === last!.etag && now.size === last!.size) return found(now, bytes)
    }
    const answer = await fetch()
    if (answer !== undefined) await this.#keep(key, answer, toRanges(answer))
    return answer
  }

  /** Stores the bytes of an answer under the ranges that a later read of this kind looks for. */
  async #keep(key: string, answer: Answer, ranges: readonly ByteRange[] | undefined): Promise<void> {
    const { size, etag, bytes, tail } = answer
    const version = this.#identify(key, etag)
    if (version === undefined || ranges === undefined) return
    const known: Part[] = [
      { offset: ranges[0]!.offset, length: bytes.length, bytes },
      ...(tail ? [{ offset: size - tail.length, length: tail.length, bytes: tail }] : []),
    ]
    await this.#save(
      version,
      ranges.flatMap((range) => findPart(known, range) ?? []),
    )
    await this.#entries.save(this.#nameOf(key)!, new TextEncoder().encode(JSON.stringify([size, etag])))
  }

  /** Returns the size and version that the last read found. */
  async #lastVersion(key: string): Promise<ObjectInfo | undefined> {
    const name = this.#nameOf(key)
    const stored = name && (await this.#entries.load(name))
    if (!stored) return undefined
    const [size, etag] = parseJson(stored, 'an entry of the cache') as [number, string]
    return { size, etag }
  }

  async #load(version: string, ranges: readonly ByteRange[], signal: Signal | undefined): Promise<(Uint8Array | undefined)[]> {
    const found = await Promise.all(
      ranges.map(async (range) => {
        if (range.length === 0) return new Uint8Array(0)
        const bytes = await this.#entries.load(rangeName(version, range))
        return bytes?.length === range.length ? bytes : undefined
      }),
    )
    signal?.throwIfAborted()
    return found
  }

  async #save(version: string, parts: readonly Part[]): Promise<void> {
    for (const part of parts) if (part.length > 0) await this.#entries.save(rangeName(version, part), part.bytes)
  }

  /** Returns the entry name of an object, which all its versions share. */
  #nameOf(key: string): string | undefined {
    const name = this.#identify(key, '""')
    return name && `last ${name}`
  }

  #identify(key: string, etag: string): string | undefined {
    return this.#store.identify!(key, etag)?.replace(SIGNATURE, '')
  }
}

const rangeName = (version: string, { offset, length }: ByteRange): string => `range ${offset}+${length} ${version}`

/** Returns the bytes of a range; undefined if no part contains all of it. */
function findPart(parts: readonly Part[], { offset, length }: ByteRange): Part | undefined {
  const part = parts.find((each) => each.offset <= offset && offset + length <= each.offset + each.length)
  return part && { offset, length, bytes: part.bytes.subarray(offset - part.offset, offset - part.offset + length) }
}
