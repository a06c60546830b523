import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { randomName } from '../conditions.ts'
import type { ConditionalWrites } from '../store.ts'
import type { S3Address } from './address.ts'
import type { CopiedPart, S3Writer, WriteOptions } from './writer.ts'

/** A tag as a server wants it in `If-Match`. */
type Spelling = (etag: string) => string

/**
 * As the standard has it, and without quotes: Ceph 16 compares them with the tag when it stores objects, so
 * that none ever matched.
 */
const SPELLINGS: readonly Spelling[] = [(etag) => etag, (etag) => etag.replace(/^"|"$/g, '')]

/** How a server wants tags, `undefined` where it takes no notice of them or refuses them all. */
interface Honoured {
  readonly put: Spelling | undefined
  readonly remove: Spelling | undefined
}

const NO_REPLACING = 'the server does not honour If-Match when it stores objects: writers would overwrite each other'
const NO_REMOVING = 'the server does not honour If-Match when it deletes objects'

/**
 * What a server does on condition. Some take no notice of it, and then of two writers one would lose what it
 * wrote, so servers are asked once, with temporary objects: whether they create objects only where there are
 * none (`If-None-Match: *`; Amazon's is known to), and whether they replace and delete only the version that
 * `If-Match` names.
 */
export class S3Conditions {
  readonly #writer: S3Writer
  readonly #address: S3Address
  readonly #asked = new Map<string, Promise<unknown>>()

  constructor(writer: S3Writer, address: S3Address) {
    this.#writer = writer
    this.#address = address
  }

  /** @throws UnsupportedError when whole objects are overwritten regardless */
  async checkPut(near: string): Promise<void> {
    if (this.#address.amazon) return
    if (await this.#once('absent', () => this.#tryAbsent(near))) return
    const text = 'the server ignores If-None-Match: writers would overwrite each other; only overwriting is possible there'
    throw new HyperslabError('UnsupportedError', text, { file: this.#address.describe(near) })
  }

  /** @throws UnsupportedError when completing an upload in parts overwrites what is there */
  async checkParts(near: string): Promise<void> {
    const looks = await this.#withTemporary(near, async (key) => {
      await this.#writer.put(key, Uint8Array.of(0))
      return this.ofParts({ key, size: 1 }, 'ifAbsent')
    })
    if (looks) return
    const text =
      'the server ignores If-None-Match when it puts the parts of an upload together, so that one writer could overwrite the object of another'
    throw new HyperslabError('UnsupportedError', text, { file: this.#address.describe(near) })
  }

  async all(near: string): Promise<ConditionalWrites> {
    const { put, remove } = await this.#honoured(near)
    const reasons = [put ? '' : NO_REPLACING, remove ? '' : NO_REMOVING].filter(Boolean)
    return { replace: !!put, remove: !!remove, ...(reasons.length > 0 && { reason: reasons.join('; ') }) }
  }

  /**
   * What `If-Match` must say for a version to be replaced or removed.
   * @throws UnsupportedError when the server does not honour it
   */
  async matching(etag: string, doing: keyof Honoured, near: string): Promise<string> {
    const spelling = (await this.#honoured(near))[doing]
    if (spelling !== undefined) return spelling(etag)
    const text = doing === 'put' ? NO_REPLACING : NO_REMOVING
    throw new HyperslabError('UnsupportedError', text, { file: this.#address.describe(near) })
  }

  /**
   * Whether completing an upload in parts looks at the condition: Ceph 16 does not.
   * @param object written over, should it be so, with what it has
   */
  ofParts(object: CopiedPart, condition: 'ifAbsent' | 'ifMatch'): Promise<boolean> {
    const write = (options: WriteOptions): Promise<boolean> => holds(this.#writer.putParts(object.key, [object], options))
    if (condition === 'ifAbsent')
      return this.#address.amazon
        ? Promise.resolve(true)
        : this.#once('parts if absent', async () => !(await write({ ifAbsent: true })))
    return this.#once('parts if they match', async () => {
      const spelling = (await this.#honoured(object.key)).put!
      if (await write({ ifMatch: spelling(NO_TAG) })) return false
      const { etag } = await this.#writer.putParts(object.key, [object])
      return write({ ifMatch: spelling(etag) })
    })
  }

  #honoured(near: string): Promise<Honoured> {
    return this.#once('match', () => this.#tryMatch(near))
  }

  async #tryAbsent(near: string): Promise<boolean> {
    return this.#withTemporary(near, async (key) => !(await holds(this.#writer.put(key, NOTHING, { ifAbsent: true }))))
  }

  async #tryMatch(near: string): Promise<Honoured> {
    return this.#withTemporary(near, async (key, first) => {
      let etag = first
      let put: Spelling | undefined
      for (const [i, spelling] of SPELLINGS.entries()) {
        const bytes = Uint8Array.of(i)
        if (!(await holds(this.#writer.put(key, bytes, { ifMatch: spelling(etag) })))) continue
        // It was replaced, so that version is none that could be replaced.
        const again = await holds(this.#writer.put(key, bytes, { ifMatch: spelling(etag) }))
        if (!again) put = spelling
        break
      }
      etag = (await this.#writer.put(key, Uint8Array.of(7))).etag
      for (const spelling of SPELLINGS) {
        if (await holds(this.#writer.delete(key, { ifMatch: spelling(NO_TAG) }))) return { put, remove: undefined }
        if (await holds(this.#writer.delete(key, { ifMatch: spelling(etag) }))) return { put, remove: spelling }
      }
      return { put, remove: undefined }
    })
  }

  async #withTemporary<T>(near: string, work: (key: string, etag: string) => Promise<T>): Promise<T> {
    const key = temporary(near)
    try {
      return await work(key, (await this.#writer.put(key, NOTHING)).etag)
    } finally {
      await this.#writer.delete(key)
    }
  }

  /** A failure to ask is no answer. */
  #once<T>(what: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#asked.get(what) as Promise<T> | undefined
    if (known !== undefined) return known
    const asked = ask().catch((error: unknown) => {
      this.#asked.delete(what)
      throw error
    })
    this.#asked.set(what, asked)
    return asked
  }
}

const NOTHING = new Uint8Array(0)

/** Of no object: these are 128 bits of a hash. */
const NO_TAG = '"00000000000000000000000000000000"'

/** The name of an object that nobody takes for anything. */
export const temporary = (near: string): string => `${near}.${randomName()}.tmp`

/**
 * Whether a write was carried out; refused were those on a condition that does not hold, or that the server
 * does not know.
 */
async function holds(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (isHyperslabError(error, 'ConflictError')) return false
    if (isHyperslabError(error, 'StoreError') && ['NotImplemented', 501].includes(error.details.actual as string)) return false
    throw error
  }
}
