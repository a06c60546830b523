import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { randomName } from '../conditions.ts'
import type { ConditionalWrites } from '../store.ts'
import type { S3Address } from './address.ts'
import type { CopiedPart, S3Writer, WriteOptions } from './writer.ts'

/** Form of a tag that a server accepts in `If-Match`. */
type Spelling = (etag: string) => string

/**
 * Forms to try: the standard one, and one without quotes. Ceph 16 compares the quotes, too, when it stores
 * objects, so the standard form never matches there.
 */
const SPELLINGS: readonly Spelling[] = [(etag) => etag, (etag) => etag.replace(/^"|"$/g, '')]

/** Accepted form of each condition; `undefined` if the server ignores the condition or always refuses it. */
interface Honoured {
  readonly put: Spelling | undefined
  readonly remove: Spelling | undefined
}

const NO_REPLACING = 'the server does not honour If-Match when it stores objects: writers would overwrite each other'
const NO_REMOVING = 'the server does not honour If-Match when it deletes objects'

/**
 * Tests which conditions a server honours. A server that ignores a condition lets one writer overwrite the
 * object of another. So each server is tested once, with temporary objects. One test is whether it creates
 * objects only if they do not exist (`If-None-Match: *`), which Amazon is known to do. The other is whether
 * it replaces and deletes only the version in `If-Match`.
 */
export class S3Conditions {
  readonly #writer: S3Writer
  readonly #address: S3Address
  readonly #asked = new Map<string, Promise<unknown>>()

  constructor(writer: S3Writer, address: S3Address) {
    this.#writer = writer
    this.#address = address
  }

  /** @throws UnsupportedError if the server overwrites whole objects regardless of the condition */
  async checkPut(near: string): Promise<void> {
    if (this.#address.amazon) return
    if (await this.#once('absent', () => this.#tryAbsent(near))) return
    const text = 'the server ignores If-None-Match: writers would overwrite each other; only overwriting is possible there'
    throw new HyperslabError('UnsupportedError', text, { file: this.#address.describe(near) })
  }

  /** @throws UnsupportedError if completing a multipart upload overwrites an existing object */
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
   * Returns the value of `If-Match` for replacing or removing a version.
   * @throws UnsupportedError if the server does not honour it
   */
  async matching(etag: string, doing: keyof Honoured, near: string): Promise<string> {
    const spelling = (await this.#honoured(near))[doing]
    if (spelling !== undefined) return spelling(etag)
    const text = doing === 'put' ? NO_REPLACING : NO_REMOVING
    throw new HyperslabError('UnsupportedError', text, { file: this.#address.describe(near) })
  }

  /**
   * Whether completing a multipart upload honours the condition. Ceph 16 does not.
   * @param object existing object for the test, which may be overwritten with its own bytes
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
        // The version is replaced now, so a second replacement must fail.
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

  /** Runs a test once, and again after a failure. */
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

/** Tag that no object has, because tags are hashes of 128 bits. */
const NO_TAG = '"00000000000000000000000000000000"'

/** Returns a unique name for a temporary object. */
export const temporary = (near: string): string => `${near}.${randomName()}.tmp`

/**
 * Whether a write was carried out. It was refused if its condition does not hold, or the server does not
 * support it.
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
