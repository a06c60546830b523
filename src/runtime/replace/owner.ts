import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { raceAbort, type Signal } from '../../core/signal.ts'
import { randomName } from '../../store/conditions.ts'
import { type FileSystem, fileSystem } from '../../store/fs/file-system.ts'
import { isDead, thisProcess } from '../../store/fs/lock.ts'
import { readWhole, type Store } from '../../store/store.ts'

/** Time in ms after which an owner that did not renew its claim has lost it. */
const LEASE_MS = 30_000
/** Interval of renewals in ms. */
const RENEWAL_MS = LEASE_MS / 3
/** Wait in ms before the next look at the claim of another machine. */
const LOOK_MS = 1000
const MOST_BYTES = 64 * 1024

/** Claims that this process holds now. */
const held = new Set<string>()
/** Distinguishes this thread, and this copy of the package, from others in the process. */
const instance = randomName()

/** Content of the object that claims a place. */
interface Claim {
  readonly token: string
  /** Id of the write in progress, if another process may resume it. */
  readonly id?: string
  /** Whether the owner has released it. */
  readonly released?: boolean
  readonly instance?: string
  readonly pid?: number
  readonly machine?: string
  /** Time of the last renewal, in ms since 1970. */
  readonly time: number
}

/** Exclusive right to replace a store. It is claimed by a conditional write, and renewed while it is held. */
export class Owner {
  readonly token: string
  /** Id of the write that an earlier owner began and did not complete. */
  readonly before: string | undefined
  readonly #store: Store
  readonly #key: string
  readonly #id: string | undefined
  #etag: string
  #renewed: number
  #lost: unknown
  #renewing: Promise<void> = Promise.resolve()
  #timer: unknown

  private constructor(place: { store: Store; key: string; id: string | undefined }, claim: Claim, etag: string, before?: string) {
    this.#store = place.store
    this.#key = place.key
    this.#id = place.id
    this.token = claim.token
    this.before = before
    this.#etag = etag
    this.#renewed = claim.time
    held.add(claim.token)
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), RENEWAL_MS)
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /**
   * Claims a place. Takes it over from a dead owner: its process has ended, or it has not renewed its claim
   * for 30 seconds.
   * @throws ConflictError if another owner holds it
   */
  static async take(store: Store, key: string, id: string | undefined, signal: Signal | undefined): Promise<Owner> {
    await store.makeFolder?.(key)
    for (let tries = 0; ; tries++) {
      const found = await readWhole(store, key, { maxBytes: MOST_BYTES, signal })
      const other = found && claimIn(found.bytes)
      if (found !== undefined && (await isAlive(store, key, other, found.etag, signal))) throw taken(store.describe(key))
      const claim = newClaim(randomName(), id)
      const condition = found === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch: found.etag }
      try {
        const etag = await publish(store, key, claim, condition)
        return new Owner({ store, key, id }, claim, etag, other?.id)
      } catch (error) {
        if (!isHyperslabError(error, 'ConflictError')) throw error
        if (tries > 0) throw taken(store.describe(key), error)
      }
    }
  }

  /**
   * Checks that the claim is still held.
   * @param isNow whether to renew the claim in any case, before a critical step
   * @throws ConflictError if another process has taken the place over
   */
  async check(isNow = false): Promise<void> {
    if (isNow || Date.now() - this.#renewed > RENEWAL_MS) await this.#renew()
    if (this.#lost !== undefined) throw taken(this.#store.describe(this.#key), this.#lost)
  }

  /**
   * Releases the place.
   * @param isKept whether another owner may resume the write
   */
  async release(isKept: boolean): Promise<void> {
    clearInterval(this.#timer as never)
    await this.#renewing.catch(() => undefined)
    try {
      if (this.#lost !== undefined) return
      if (isKept) {
        const claim = { ...newClaim(this.token, this.#id), released: true }
        await publish(this.#store, this.#key, claim, { ifAbsent: false, ifMatch: this.#etag })
      } else await this.#store.delete!(this.#key, await this.#mine())
    } finally {
      held.delete(this.token)
    }
  }

  async #mine(): Promise<{ readonly ifMatch?: string }> {
    const can = await this.#store.conditionalWrites!(this.#key)
    return can.remove ? { ifMatch: this.#etag } : {}
  }

  #renew(): Promise<void> {
    this.#renewing = this.#renewing.then(async () => {
      if (this.#lost !== undefined) return
      const claim = newClaim(this.token, this.#id)
      try {
        this.#etag = await publish(this.#store, this.#key, claim, { ifAbsent: false, ifMatch: this.#etag })
        this.#renewed = claim.time
      } catch (error) {
        if (isHyperslabError(error, 'ConflictError') || Date.now() - this.#renewed > LEASE_MS / 2) this.#lost = error
      }
    })
    return this.#renewing
  }
}

/** Whether a claim is held, as far as this process can know. */
async function isAlive(
  store: Store,
  key: string,
  claim: Claim | undefined,
  etag: string,
  signal: Signal | undefined,
): Promise<boolean> {
  if (claim?.released === true) return false
  const fs = platform()
  if (claim !== undefined && fs !== undefined) {
    const own = thisProcess(fs)
    if (claim.machine === own.machine && own.machine !== '') {
      if (claim.pid === own.pid && claim.instance === instance) return held.has(claim.token)
      return !isDead(fs, claim) && Date.now() - claim.time <= LEASE_MS
    }
  }
  if (claim?.instance === instance) return held.has(claim.token)
  // Clocks of two machines may differ, so the claim has to stay unchanged for the whole lease.
  for (const end = Date.now() + LEASE_MS; Date.now() < end; ) {
    await raceAbort(new Promise<void>((resolve) => void setTimeout(resolve, LOOK_MS)), signal)
    const now = await store.stat(key, { signal })
    if (now === undefined) return false
    if (now.etag !== etag) return true
  }
  return false
}

function claimIn(bytes: Uint8Array): Claim | undefined {
  try {
    const claim: unknown = parseJson(bytes, 'the claim', { maxBytes: MOST_BYTES, exact: false })
    return typeof claim === 'object' && claim !== null && typeof (claim as Claim).token === 'string'
      ? (claim as Claim)
      : undefined
  } catch {
    // The text was truncated when a machine failed.
    return undefined
  }
}

function newClaim(token: string, id: string | undefined): Claim {
  const fs = platform()
  return { token, instance, time: Date.now(), ...(id !== undefined && { id }), ...(fs && thisProcess(fs)) }
}

function platform(): FileSystem | undefined {
  try {
    return fileSystem()
  } catch {
    return undefined
  }
}

async function publish(
  store: Store,
  key: string,
  claim: Claim,
  condition: { readonly ifAbsent: boolean; readonly ifMatch?: string },
): Promise<string> {
  const stage = await store.stage!(key)
  try {
    return (await stage.publish(key, new TextEncoder().encode(JSON.stringify(claim)), condition)).etag
  } finally {
    await stage.discard()
  }
}

/** Whether an object contains this claim. */
export async function hasToken(store: Store, key: string, token: string, signal: Signal | undefined): Promise<boolean> {
  const found = await readWhole(store, key, { maxBytes: MOST_BYTES, signal })
  return found !== undefined && claimIn(found.bytes)?.token === token
}

function taken(file: string, cause?: unknown): HyperslabError {
  const text = 'another process is replacing what is at this place; wait until it has ended, then run the command once more'
  return new HyperslabError('ConflictError', text, { file, ...(cause !== undefined && { cause }) })
}

declare function setTimeout(callback: () => void, ms: number): unknown
declare function setInterval(callback: () => void, ms: number): unknown
declare function clearInterval(timer: unknown): void
