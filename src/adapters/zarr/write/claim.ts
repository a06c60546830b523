import { HyperslabError, isHyperslabError } from '../../../core/errors.ts'
import { parseJson } from '../../../core/json.ts'
import { Lock } from '../../../core/limiter.ts'
import { pause } from '../../../core/pace.ts'
import { newController, type Signal } from '../../../core/signal.ts'
import { randomName } from '../../../store/conditions.ts'
import { isObject, type JsonObject } from '../document.ts'
import { encodeDocument } from './document.ts'
import { CLAIM_LEASE_MS } from './lease.ts'
import type { ObjectWriter } from './object-writer.ts'

/** Name of the claim in the folder of its array. Readers ignore it, and copies omit it. */
export const CLAIM_NAME = '.hyperslab-append'

/** Maximum size in bytes. A claim has some 80 bytes; a larger object is not a claim. */
const MOST_BYTES = 4096
/** Longest wait, in ms, between two reads of the claim of another process. */
const LONGEST_WAIT_MS = 250

/** Content of a claim. */
interface Holder {
  /** Random token; null after the holder has ended, on a store that cannot delete on condition. */
  readonly holder?: unknown
  /** Set if the holder has failed, so that its requests may still be under way. */
  readonly failed?: unknown
}

/**
 * Exclusive right of one process to change the shape of an array. The claim is an object that is created only
 * if none exists, and rewritten while its holder lives. A process that sees it unchanged for {@link
 * CLAIM_LEASE_MS}, by its own clock, takes it over, on condition that it still has that version.
 *
 * A holder that lost its claim may not know it. Each change of an object therefore has three steps: read the
 * object, check the claim, write on condition that the object still has the version that was read. After a
 * takeover the condition fails, because the new holder rewrites the metadata first and stores every object of
 * its own rows.
 */
export class Claim {
  readonly #objects: ObjectWriter
  readonly #key: string
  readonly #token: string
  readonly #ended = newController()
  /** Serializes renewals, checks and the release. */
  readonly #lock = new Lock()
  #etag: string
  #beat = 0
  #look: Promise<void> | undefined
  /** Whether requests of an earlier holder may still be under way. */
  readonly isTakenOver: boolean

  private constructor(objects: ObjectWriter, key: string, token: string, etag: string, isTakenOver: boolean) {
    this.#objects = objects
    this.#key = key
    this.#token = token
    this.#etag = etag
    this.isTakenOver = isTakenOver
    void this.#renew()
  }

  /**
   * Waits until the claim is free, or until its holder has not renewed it for the length of the lease, and
   * takes it.
   * @throws UnsupportedError if the store cannot replace objects on condition; the reason of the signal
   */
  static async take(objects: ObjectWriter, key: string, signal: Signal | undefined): Promise<Claim> {
    const { replace, remove, reason } = await objects.can(key)
    if (!replace) {
      const why = reason ?? 'its store has no conditional writes'
      const text = `the shape of the array cannot be changed safely, because another writer could do so unnoticed: ${why}`
      throw new HyperslabError('UnsupportedError', text)
    }
    const token = randomName()
    let isTakenOver = false
    let seen: string | undefined
    let unchangedMs = 0
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted()
      // If the store removes claims, usually no claim exists.
      const found = tries === 0 && remove ? undefined : await objects.read(key, { maxBytes: MOST_BYTES, signal })
      const { holder, failed } = found === undefined ? { holder: null } : parsed(found.bytes)
      // An earlier request had succeeded, but its answer was lost.
      if (holder === token) return new Claim(objects, key, token, found!.etag, isTakenOver)
      if (found?.etag !== seen) unchangedMs = 0
      seen = found?.etag
      if (holder === null || failed === true || unchangedMs > CLAIM_LEASE_MS) {
        isTakenOver = holder !== null
        try {
          const condition = { ifAbsent: found === undefined, ifMatch: found?.etag }
          const { etag } = await objects.publish(key, encodeDocument({ holder: token, beat: 0 }), condition)
          return new Claim(objects, key, token, etag, isTakenOver)
        } catch (error) {
          if (!isHyperslabError(error, 'ConflictError')) throw error
        }
      }
      const wait = Math.min(2 ** tries, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
      await pause(wait, signal)
      unchangedMs += wait
    }
  }

  /**
   * Checks whether this process still holds the claim. The check begins after the call, and is shared by all
   * calls that arrive before it begins.
   * @throws ConflictError if another process has taken the claim
   */
  holds(): Promise<void> {
    this.#look ??= this.#lock.run(() => {
      this.#look = undefined
      return this.#find()
    })
    return this.#look
  }

  /**
   * Releases the claim. If that fails, the next process waits for the end of the lease.
   * @param isDone false after an error, when requests of this holder may still be under way
   */
  release(isDone: boolean): Promise<void> {
    this.#ended.abort()
    return this.#lock.run(async () => {
      try {
        const { remove } = await this.#objects.can(this.#key)
        if (isDone && remove) await this.#objects.removeVersion(this.#key, this.#etag)
        else await this.#write(isDone ? { holder: null } : { holder: this.#token, failed: true })
      } catch {
        // The claim ends with its lease.
      }
    })
  }

  async #renew(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      await pause(CLAIM_LEASE_MS / 4, signal).catch(() => undefined)
      await this.#lock.run(async () => {
        if (signal.aborted) return
        try {
          await this.#find()
          await this.#write({ holder: this.#token, beat: ++this.#beat })
        } catch {
          // The next check finds a lost claim, and the next renewal repeats a failed request.
        }
      })
    }
  }

  async #find(): Promise<void> {
    const found = await this.#objects.read(this.#key, { maxBytes: MOST_BYTES })
    if (found === undefined || parsed(found.bytes).holder !== this.#token) {
      const text = `another writer has taken over the array after ${CLAIM_LEASE_MS} ms without a sign of life of this one; nothing was added: do it again` // biome-ignore format: one line
      throw new HyperslabError('ConflictError', text)
    }
    this.#etag = found.etag
  }

  async #write(content: JsonObject): Promise<void> {
    const condition = { ifAbsent: false, ifMatch: this.#etag }
    this.#etag = (await this.#objects.publish(this.#key, encodeDocument(content), condition)).etag
  }
}

/** Parses a claim. A text that is not a claim counts as one whose holder never renews it. */
function parsed(bytes: Uint8Array): Holder {
  try {
    const value = parseJson(bytes, CLAIM_NAME)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Length of a mark in bytes. */
const MARK_BYTES = 49

/**
 * Returns white space for the end of a document, different on each call. Some stores derive the version of an
 * object from its bytes, so no two versions may have the same bytes.
 */
export function newMark(): string {
  const bits = [...randomName().slice(0, 12)].map((digit) => Number.parseInt(digit, 16).toString(2).padStart(4, '0')).join('')
  return `\n${bits.replaceAll('0', ' ').replaceAll('1', '\t')}`
}

/** Whether a document ends with a mark. */
export const isMarked = (bytes: Uint8Array): boolean =>
  bytes.length > MARK_BYTES && bytes.subarray(-MARK_BYTES).every((byte) => byte === 32 || byte === 9 || byte === 10)
